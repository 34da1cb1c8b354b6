"""Words with columns: schemes and presets, every sequence of few tags, real corpora, mutations."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from damaged_texts import reads_or_tells
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spanloom.annotation.comparable import comparable
from spanloom.annotation.tag_schemes import SCHEMES
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.columns import KIND, ColumnOptions, dumps, loads

MARK = "-DOCSTART- -X- -X- O\n\n"


def read(text, **said):
    return list(loads(text, options=ColumnOptions(**said)))


def write(found, **said):
    return dumps(found, options=ColumnOptions(**said))


def spans(document, layer):
    return [(document.text_of(each), each.label) for each in document[layer].spans]


def values(document, layer):
    about = {each.id: document.text_of(each) for each in document[layer].spans}
    return [(about[each.target], each.label, each.value) for each in document[layer].attributes]


def test_a_sentence_is_a_document():
    first, second = read("Ada\tB-person\nmet\tO\nNew\tB-place\nYork\tI-place\n\nYes\tO\n\n")
    assert (first.name, first.text, first.meta) == ("s00001", "Ada met New York", ())
    assert [first.text_of(each) for each in first["words"].spans] == ["Ada", "met", "New", "York"]
    assert spans(first, "entities") == [("Ada", "person"), ("New York", "place")]
    assert (second.name, second.text, second["entities"]) == ("s00002", "Yes", Layer("entities"))


def test_marks_begin_documents():
    text = (
        f"{MARK}EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nHi UH O O\n\n{MARK}Bob NNP I-NP I-PER\n\n"
    )
    first, second = read(text, preset="conll2003")
    assert first.text == "EU rejects\nHi"
    assert len(first["sentences"].spans) == 2
    assert spans(first, "xpos") == [("EU", "NNP"), ("rejects", "VBZ"), ("Hi", "UH")]
    assert spans(first, "chunks") == [("EU", "NP"), ("rejects", "VP")]
    assert spans(second, "entities") == [("Bob", "PER")]
    assert first.meta == second.meta == (("start", MARK),)
    assert write([first, second], preset="conll2003") == text


@pytest.mark.parametrize(
    "text",
    [
        "a\tO\n\n-DOCSTART-\tO\n\nb\tO\n\n",
        "\n\na\tO\n\n",
        "\n-DOCSTART-\tO\n\na\tO\n-DOCSTART-\tO\nb\tO\n",
        "-DOCSTART-\tO\n\n-DOCSTART-\tO\n\n",
        "a\tO",
        "a\tO\n",
        "a\tO\n\n\n \n\t\t\nb\tO\n",
        "a b\tO\nc\u00a0d\tO\n\n",
        "\tO\na\tO\n \tO\n\tO\nb\tO\n\n\tO\n\n\tO\n\nc\tO\n\n",
        "\tO\n\na\tO\n",
        "a O\nb I-X\n\n",
        "-DOCSTARTED-\tO\n\n",
        "a\rb\tO\n\u2028\x85a\tB-\u2028\n\n",
    ],
)
def test_every_line_comes_back(text):
    found = read(text)
    assert write(found) == text
    assert read(write(found)) == found
    for each in found:
        unmarked = each.meta == (("start", ""),)  # alone it does not stand before a mark
        assert KIND.count_lost(each, ColumnOptions()) == (
            {"values of the document": 1} if unmarked else {}
        )


def test_lines_without_words_make_no_words():
    (tweet,) = read("a\tO\n \tO\nb\tB-x\n\n\tO\n\n")
    assert tweet.text == "a b"
    assert values(tweet, "sentences") == [
        ("a b", "row", "1  \tO"),
        ("a b", "after", "\n\n\tO\n\n"),
    ]


def test_columns_that_are_only_kept():
    said = {"columns": ["_", "word", "_", "ner"], "schemes": {"ner": "BILOU"}}
    text = "1 Ada ada U-PER\n2 met _ O\n3 New new B-LOC\n4 York york L-LOC\n\n"
    (found,) = read(text, **said)
    assert values(found, "words")[:3] == [
        ("Ada", "column1", "1"),
        ("Ada", "column3", "ada"),
        ("met", "column1", "2"),
    ]
    assert spans(found, "ner") == [("Ada", "PER"), ("New York", "LOC")]
    assert found.meta == (("separator", "space"),)
    assert write([found], **said) == text
    assert write([found], separator="tab", **said) == text.replace(" ", "\t")


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOBES", "BILOU", "none"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_sequence_of_tags_comes_back(scheme, size):
    tags = SCHEMES[scheme].tags(["P", "Q"])
    said = {"schemes": {"entities": scheme}}
    text = "".join(
        "".join(f"w\t{tag}\n" for tag in sequence) + "\n" for sequence in product(tags, repeat=size)
    )
    found = read(text, **said)
    assert write(found, **said) == text
    for document, sequence in zip(found, product(tags, repeat=size), strict=True):
        kept = {each.target: each.value for each in document["words"].attributes}
        placed = [(a.fragments[0], a.label) for a in document["entities"].spans]
        rows = [((2 * a, 2 * b - 1), c) for a, b, c in SCHEMES[scheme].decode(sequence)]
        assert placed == rows
        well = SCHEMES[scheme].encode(SCHEMES[scheme].decode(sequence), size)
        wrong = [tag for tag, right in zip(sequence, well, strict=True) if tag != right]
        assert list(kept.values()) == wrong


def test_tags_of_the_file_give_way_to_other_spans():
    (found,) = read("New\tI-x\nYork\tI-x\n\n")
    other = found.with_layer(Layer("entities", (Span("T9", "y", ((4, 8),)),)))
    assert write([other]) == "New\tO\nYork\tB-y\n\n"


def test_what_has_no_place_is_counted():
    text = "a b c\nd"
    placed = (
        *(Span("T1", "x", ((0, 3),)), Span("T2", "y", ((2, 5),)), Span("T3", "z", ((4, 7),))),
        *(
            Span("T4", "z", ((0, 1), (4, 5))),
            Span("T5", "z\tz", ((4, 5),)),
            Span("T6", "w", ((4, 5),)),
        ),
    )
    layers = Layer("entities", placed), Layer("other", (Span("T7", "v", ((0, 1),)),))
    document = Document(text, layers, "a/b", (("k", "v"),))
    assert write([document]) == "-DOCSTART-\tO\n\na\tB-x\nb\tI-x\nc\tB-w\n\nd\tO\n\n"
    assert KIND.count_lost(document, ColumnOptions()) == {
        "names": 1,
        "values of the document": 1,
        "spans of layer entities": 4,
        "spans of layer other": 1,
    }


def test_what_would_part_cells_is_written_otherwise():
    text = "-DOCSTART- a\nb c"
    words = tuple(
        Span(f"T{at}", "word", (each,)) for at, each in enumerate([(0, 10), (10, 11), (11, 16)])
    )
    document = Document(text, (Layer("words", words),))
    (again,) = read(write([document], separator="space"))
    assert again.text == "__________ _ a_b_c"
    assert KIND.count_lost(document, ColumnOptions())["texts"] == 1


def test_what_stood_behind_a_sentence_still_parts_it():
    first, second = read("a\tO\n\t\n\nb\tO\n")
    assert write([second, first]) == "b\tO\n\na\tO\n\t\n\n"
    late = read("-DOCSTART-\tO\n\na\tO\n\n-DOCSTART-\tO\n-DOCSTART-\tO\n\nb\tO")
    assert len(read(write(late[::-1]))) == 3
    shuffled = write([read("a\tO\n\n")[0], late[2], late[0]])
    assert [each.text for each in read(shuffled)] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\tO\nb\n", 2, r"expected 2 columns \(word, entities\), got 1: 'b'"),
        ("\n\na\tb\tO\n", 3, "got 3"),
        (
            "-DOCSTART-\tO\n\na\tO\n\n\nb\tPER\n",
            6,
            r"O or B-LABEL, I-LABEL in column 2 \(entities\)",
        ),
        ("a\tB-\n", 1, "got 'B-'"),
        ("a\tS-x\n", 1, "got 'S-x'"),
        ("a\t\n", 1, "got ''"),
        ("a O\n -DOCSTART- O\n", 2, "expected -DOCSTART- where a line begins"),
    ],
)
def test_errors_say_where_and_what(text, line, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        list(loads(text, path="x.conll"))
    assert (caught.value.path, caught.value.line) == ("x.conll", line)


@pytest.mark.parametrize(
    "said",
    [
        {"columns": ["xpos"]},
        {"columns": ["word", "word"]},
        {"columns": ["word", "a", "a"]},
        {"columns": ["word", "sentences"]},
        {"columns": ["word", "ner"], "schemes": {"entities": "IOB2"}},
        {"preset": "conll"},
        {"schemes": {"entities": "XYZ"}},
        {"separator": ","},
    ],
)
def test_options_that_contradict_each_other_are_refused(said):
    with pytest.raises(ValidationError):
        ColumnOptions(**said)


FORMS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=4)


@st.composite
def sentences(draw):
    """A document of one sentence, with spans without overlap."""
    forms = draw(st.lists(FORMS.filter(lambda each: each != "-DOCSTART-"), min_size=1, max_size=6))
    text, bounds = " ".join(forms), []
    for form in forms:
        start = bounds[-1][1] + 1 if bounds else 0
        bounds.append((start, start + len(form)))
    made, place = [], 0
    while place < len(forms):
        end = draw(st.integers(place, min(len(forms), place + 3)))
        if end > place:
            made.append((bounds[place][0], bounds[end - 1][1]))
        place = max(end, place + 1)
    words = tuple(Span(f"W{at}", "word", (each,)) for at, each in enumerate(bounds))
    found = tuple(Span(f"T{at}", draw(FORMS), (each,)) for at, each in enumerate(made))
    whole = Layer("sentences", (Span("S", "sentence", ((0, len(text)),)),))
    return Document(text, (Layer("words", words), whole, Layer("entities", found)), "s00001")


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOBES", "BILOU"])
@pytest.mark.parametrize("separator", ["tab", "space"])
@given(drawn=st.lists(sentences(), min_size=1, max_size=3))
def test_drawn_sentences_come_back(scheme, separator, drawn):
    said = {"schemes": {"entities": scheme}, "separator": separator}
    again = read(write(drawn, **said), **said)
    assert [comparable(each)[0] for each in again] == [comparable(each)[0] for each in drawn]
    assert [comparable(each)[3] for each in again] == [comparable(each)[3] for each in drawn]
    assert not KIND.count_lost(drawn[0], ColumnOptions(**said))


@given(drawn=st.lists(documents(lines=False, scores=True), max_size=3))
def test_any_document_can_be_written_and_read(drawn):
    for preset in ("wnut17", "conll2003"):
        again = read(write(drawn, preset=preset), preset=preset)
        assert write(again, preset=preset) == write(drawn, preset=preset)
        assert read(write(again, preset=preset), preset=preset) == again
    for each in drawn:
        KIND.count_lost(each, ColumnOptions())


def test_the_sample():
    found = list(loads(KIND.example))
    assert dumps(found) == KIND.example
    assert KIND.sniff(KIND.example, "x.conll")
    assert not any(KIND.count_lost(each, ColumnOptions()) for each in found)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "Once upon a time.\nThe end\n",
        '{"name": "a", "text": "O"}\n',
        "#doc 1\n0\tAda\tO\t['N']\t[0]\n",
        "# sent_id = 1\n1\tAda\tAda\tPROPN\tNNP\t_\t0\troot\t_\t_\n",
        "good film\t1\nbad film\t0\n",
        "a b####a=O b=T-POS\n",
        "word\tN\nword\tV\nword\tO\nword\tN\nword\tN\n",
    ],
)
def test_other_files_do_not_look_like_columns(head):
    assert not KIND.sniff(head, "x.txt")


@pytest.mark.parametrize(
    ("head", "preset"),
    [
        ("Ada\tB-PER\nsang\tO\n" * 9 + "Bob\tBPER\n", {}),
        ("Ada\tB-PER\nsang\tO\n" * 9 + "Bob\nBo\tO\n", {}),
        ("Ada\tI-PER\nsang\tO\nAda\tI-PER\n" * 9 + "Bob\tPER\n", {"preset": "wikigold"}),
        ("Ada\tPerson\nsang\tO\n" * 9, {"preset": "semcor-traits"}),
        ("Ada NNP B-PER\n" * 9 + "Bob B-PER\n", {"preset": "conll2000"}),
    ],
)
def test_most_rows_tell_the_preset(head, preset):
    assert KIND.sniff_options(head) == preset


@pytest.mark.parametrize("preset", ["wnut17", "conll2003", "semcor-traits"])
def test_damaged_samples_are_read_or_refused(preset):
    said = ColumnOptions(preset=preset)
    reads_or_tells(KIND, 200, options=said)
    reads_or_tells(
        replace(KIND, example=f"{MARK}EU NNP I-NP I-ORG\nfl VB I-VP B-X\n\n"), 200, 2, said
    )


@pytest.mark.parametrize(
    ("preset", "name"),
    [
        pytest.param("conll2000", "conll2000/test.txt", marks=pytest.mark.slow),
        pytest.param("conll2000", "conll2000/train.txt", marks=pytest.mark.slow),
        ("wnut17", "wnut17/emerging.dev.conll"),
        ("wnut17", "wnut17/emerging.test.annotated"),
        pytest.param("wnut17", "wnut17/wnut17train.conll", marks=pytest.mark.slow),
        *(pytest.param("btc", f"btc/{each}.conll", marks=pytest.mark.slow) for each in "abefgh"),
        ("wikigold", "wikigold/wikigold.conll.txt"),
        *(
            pytest.param(
                "semcor-traits",
                f"semcor-traits/semcor_semantictraits_{each}.conll",
                marks=pytest.mark.slow,
            )
            for each in ("dev", "test", "train")
        ),
    ],
)
def test_real_files(preset, name, data):
    folder, file = name.split("/")
    with (data(folder) / file).open(encoding="utf-8", newline="") as stream:
        text = stream.read()
    found = read(text, preset=preset)
    assert write(found, preset=preset) == text
    assert KIND.sniff(text[:65_536], file)
    layer = list(ColumnOptions(preset=preset).table("").layers)[-1]
    tags = [line.rstrip("\n").replace(" ", "\t").split("\t")[-1] for line in text.split("\n")]
    assert Counter(span.label for each in found for span in each[layer].spans) == _counted(tags)
    for each in found:
        assert not {"entities", "chunks"} & {a.label for a in each["words"].attributes}


def _counted(tags):
    """Spans by label: a tag is a new one unless it is I- after the same label."""
    found = Counter()
    for before, tag in zip(["", *tags], tags, strict=False):
        if tag not in ("", "O") and not (tag[:2] == "I-" and before[2:] == tag[2:]):
            found[tag[2:] if tag[1:2] == "-" else tag] += 1
    return found
