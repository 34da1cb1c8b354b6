"""CoNLL-2012: every column of hand-made documents, drawn ones, damages."""

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.trees import flatten, parse
from spanloom.config.options import Options
from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.conll2012 import KIND, dumps, loads

ROW = "a\t0\t0\tx\tNN\t*\t-\t-\t-\t-\t*\t-"


def document(*rows):
    lines = "".join(f"{row}\n" for row in rows)
    return f"#begin document (a); part 0\n{lines}\n#end document\n"


def row(place=0, **cells):
    found = {"word": f"w{place}", "tag": "NN", "parse": "*", "lemma": "-", "frameset": "-"}
    found |= {
        "sense": "-",
        "speaker": "-",
        "named": "*",
        "arguments": "",
        "coreference": "-",
    } | cells
    values = [value for name, value in found.items() if name != "arguments" or value]
    return "\t".join(["a", "0", str(place), *values])


def spans(found, layer):
    return [(found.text_of(each), each.label) for each in found[layer].spans]


def attributes(found, layer):
    about = {each.id: found.text_of(each) for each in found[layer].spans}
    return [(about[each.target], each.label, each.value) for each in found[layer].attributes]


def test_every_column_has_a_place():
    first, second = loads(KIND.example)
    assert (first.name, first.meta) == ("nw/a/01", (("part", "000"), ("separator", "space")))
    assert first.text == "He wanted New York to look up !\nBob agreed"
    assert spans(first, "xpos")[:2] == [("He", "PRP"), ("wanted", "VBD")]
    assert spans(first, "entities") == [("New York", "GPE"), ("Bob", "PERSON")]
    heads = {each.id: each.label for each in first["srl"].spans}
    ends = {each.id: first.text_of(each) for each in first["srl"].spans}
    assert [(heads[e.head], e.label, ends[e.tail]) for e in first["srl"].relations] == [
        ("want.01", "ARG0", "He"),
        ("want.01", "ARG1", "New York to look up"),
        ("look.05", "ARG0", "He"),
        ("look.05", "C-V", "up"),
    ]
    mentions = {each.id: first.text_of(each) for each in first["coreference"].spans}
    links = first["coreference"].relations
    assert [(mentions[e.head], mentions[e.tail]) for e in links] == [("Bob", "He")]
    assert ("look", "frameset", "05") in attributes(first, "words")
    assert ("wanted", "sense", "2") in attributes(first, "words")
    assert [each[1:] for each in attributes(first, "sentences")] == [("speaker", "Ada")]
    assert [e for e in attributes(first, "words") if e[1] == "speaker"] == [
        ("Bob", "speaker", "Ada"),
        ("agreed", "speaker", "Bob"),
    ]
    assert (second.name, second.meta[:2]) == (
        "nw/a/01_part001",
        (("id", "nw/a/01"), ("part", "001")),
    )
    assert spans(second, "constituency") == [("It", "TOP"), ("It", "NP"), ("It", "NX")]


def test_constituents_are_those_of_the_tree():
    (first, _) = loads(KIND.example)
    tree = parse(
        "(TOP (S (NP (PRP He)) (VP (VBD wanted) (S (NP (NNP New) (NNP York))"
        " (VP (TO to) (VP (VB look) (PRT (RP up)))))) (. !)))"
    )
    made = flatten(tree)
    words = [span.fragments[0] for span in first["words"].spans]
    expected = [(words[a][0], words[b - 1][1], label) for a, b, label in made.brackets]
    found = [(each.start, each.end, each.label) for each in first["constituency"].spans]
    assert found[: len(expected)] == expected


def test_documents_of_both_separators_are_written_with_tabs():
    tabs, blanks = (
        next(loads(document(row(0, speaker="x y")))),
        next(loads(KIND.example)),
    )
    assert " " in dumps([blanks])
    for mixed in ([tabs, blanks], [blanks, tabs]):
        again = list(loads(dumps(mixed)))
        assert [each.layers for each in again] == [each.layers for each in mixed]
    assert "\t" not in dumps([blanks, blanks])


@pytest.mark.parametrize(
    "rows",
    [
        [row(0, lemma="go", frameset="-", arguments="(V*)")],
        [row(0, lemma="go"), row(1, lemma="be", frameset="02")],
        [row(0, arguments="(V*)"), row(1, lemma="go", frameset="01", arguments="(A1*)")],
        [row(0, lemma="go", frameset="01", arguments="(A1*"), row(1, arguments="(V*))")],
        [row(n, lemma="go", frameset="01", arguments="(V*)") for n in range(2)],
        [row(0, lemma="go", arguments="(V*)\t(A0*)"), row(1, arguments="*\t(V*)")],
        [row(0, named="(A(B)"), row(1, named="*)"), row(2, named="(A(B))")],
        [row(0, tag="-", speaker="x y")],
        [row(7, coreference="(3)|(4)"), row(1)],
    ],
)
def test_unusual_rows_come_back(rows):
    text = document(*rows)
    found = list(loads(text))
    assert dumps(found) == text
    assert KIND.count_lost(found[0], Options()) == {}


def test_predicates_of_other_documents_are_found_by_their_v():
    made = [("go.01", 0, 1), ("run", 2, 3), ("argument", 4, 5), ("argument", 0, 3), ("A B", 4, 5)]
    layer = Layer(
        "srl",
        tuple(Span(f"T{n}", each[0], (each[1:],)) for n, each in enumerate(made)),
        (Relation("R1", "A1", "T0", "T2"), Relation("R2", "V", "T1", "T3")),
        attributes=(Attribute("A1", "row", "T0", "2"), Attribute("A2", "unmarked", "T1")),
    )
    (again,), (lost,) = written_and_read(KIND, [Document("a b c", (layer,), "x")])
    assert spans(again, "srl") == [("a", "go.01"), ("c", "argument"), ("b", "run")]
    assert attributes(again, "words") == [
        ("a", "lemma", "go"),
        ("a", "frameset", "01"),
        ("b", "lemma", "run"),
    ]
    assert lost == {
        "spans of layer srl": 2,
        "relations of layer srl": 1,
        "attributes of layer srl": 2,
    }


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("# begin document a\n# end document\n", 1, "got no part"),
        (document("a\t0\t0\tx\t-"), 2, "expected 12 columns or more (document, part, number"),
        (document(ROW, ROW + "\t-"), 3, "expected 12 columns as in the first row, got 13"),
        (document(ROW.replace("\tx\t", "\t \t")), 2, "expected a value without blanks in column 4"),
        (document(row(0, parse="(S*")), 2, "expected a ) for the span 'S'"),
        (document(row(0, parse="-")), 2, "expected (LABEL*, *, *) or (LABEL*)"),
        (document(row(0), row(1, named="*)")), 3, "expected a span to close"),
        (document(row(0, arguments="*")), 2, "expected as many framesets as columns"),
        (document(row(0, coreference="(0")), 2, "expected a ) for the mention '0'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.conll:{line}: ") as caught:
        list(loads(text, path="in.conll"))
    assert problem in caught.value.problem


NAMES = st.sampled_from(["A0", "V", "go.01", "argument", "NP", "a.b.2", "-", "x y", "*"])


@st.composite
def annotated(draw):
    """A document of few words with spans of all layers anywhere, and links between them."""
    text = "a b c\nd e"
    starts, ends = [0, 2, 4, 6, 8], [1, 3, 5, 7, 9]
    layers = []
    for name in ("constituency", "entities", "srl", "coreference", "xpos"):
        made = []
        for number in range(draw(st.integers(0, 6))):
            first = draw(st.integers(0, 4))
            last = draw(st.integers(first, 4))
            bounds = ((starts[first], ends[last]),)
            made.append(Span(f"{name}{number}", draw(NAMES), bounds))
        links = [
            Relation(f"{name}R{number}", draw(NAMES), head.id, tail.id)
            for number, (head, tail) in enumerate(zip(made, made[1:], strict=False))
            if draw(st.booleans()) and name in ("srl", "coreference")
        ]
        layers.append(Layer(name, tuple(made), tuple(links)))
    return Document(text, tuple(layers), "d", (("part", "0"),))


@given(annotated())
def test_what_was_written_once_comes_back(drawn):
    (once,) = loads(dumps([drawn]))
    assert list(loads(dumps([once]))) == [once]
    assert KIND.count_lost(once, Options()) == {}
    lost = KIND.count_lost(drawn, Options())
    for name in ("constituency", "entities", "coreference"):
        kept = len(once[name].spans) if once.has_layer(name) else 0
        assert kept >= len(drawn[name].spans) - lost.get(f"spans of layer {name}", 0)


@given(documents())
def test_any_document_is_written_and_reads_again(drawn):
    written_and_read(KIND, [drawn])


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    reads_or_tells(KIND, 300)


def test_files_of_coreference_alone_are_others():
    assert not KIND.sniff("#begin document (a); part 0\na\t0\t0\tx\t-\n", "a.conll")
    assert KIND.sniff(document(row()), "a.conll")
