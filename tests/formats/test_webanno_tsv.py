"""WebAnno TSV 3, the export of WebAnno and INCEpTION."""

from dataclasses import replace

import pytest
from door_checks import reads_or_refuses, same_again
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats._document_builder import with_words
from spanloom.formats._utf16 import UnitOffsets
from spanloom.formats.webanno_tsv import KIND, dumps, loads
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
HEAD = "#FORMAT=WebAnno TSV 3.3\n"
DEPENDENCIES = (
    HEAD
    + "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue|coarseValue\n"
    + "#T_RL=de.tudarmstadt.ukp.dkpro.core.api.syntax.type.dependency.Dependency|DependencyType|"
    + "flavor|BT_de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS\n"
    + "\n\n#Text=Ada slept\n"
    + "1-1\t0-3\tAda\tNNP\tPROPN\tnsubj\tbasic\t1-2\t\n"
    + "1-2\t4-9\tslept\tVBD\tVERB\troot\tbasic\t1-2\t\n"
)


def texts(document, layer):
    return [(document.text_of(span), span.label) for span in document[layer].spans]


SLOTS = (
    HEAD
    + "#T_SP=webanno.custom.Filler|\n"
    + "#T_SP=webanno.custom.Frame|ROLE_webanno.custom.Frame:links_Link|uima.tcas.Annotation\n"
    + "\n\n#Text=Ada bought and sold it now\n"
    + "1-1\t0-3\tAda\t*\t_\t_\t\n"
    + "1-2\t4-10\tbought\t_\tbuyer;buyee\t1-1;1-5[1]\t\n"
    + "1-3\t11-14\tand\t_\t_\t_\t\n"
    + "1-4\t15-19\tsold\t_\tsellee[2]|_[3]\t1-5[1][2]|*[3]\t\n"
    + "1-5\t20-22\tit\t*[1]\t_\t_\t\n"
    + "1-6\t23-26\tnow\t_\t_\t*\t\n"
)


def test_slots_are_attributes_of_the_annotations_that_have_them():
    """The number behind the target of a slot is not that of the annotation with the slot."""
    (document,) = loads(SLOTS)
    assert texts(document, "Filler") == [("Ada", "Filler"), ("it", "Filler")]
    frames = document["Frame"]
    assert texts(document, "Frame") == [
        *(("bought", "Frame"), ("sold", "Frame"), ("sold", "Frame"), ("now", "Frame"))
    ]
    values = {span.id: [] for span in frames.spans}
    for attribute in frames.attributes:
        values[attribute.target].append(attribute.value)
    assert [*values.values()] == [["buyer;buyee", "1-1;1-5[1]"], ["sellee", "1-5[1]"], [], []]
    (again,) = loads(dumps([document]))
    assert texts(again, "Frame") == texts(document, "Frame")
    assert not again["Frame"].attributes  # slots are not written


def test_spans_without_a_width_are_read():
    lines = "1-1\t0-4\tword\t_\t\n1-1.1\t4-4\t\t*\t\n1-2\t4-5\t.\t_\t\n"
    (document,) = loads(HEAD + "#T_SP=webanno.custom.Empty|\n\n\n#Text=word.\n" + lines)
    assert [span.fragments for span in document["Empty"].spans] == [((4, 4),)]


def test_spans_of_several_words_of_parts_and_on_the_same_words():
    (document,) = loads(KIND.example)
    assert document.text == "Ada Lovelace met Bob \N{GRINNING FACE} .\nDid she ?"
    assert texts(document, "NamedEntity") == [
        ("Ada Lovelace", "PER"),
        ("Ada", "writer_x"),
        ("Bob", "PER"),
    ]
    assert texts(document, "Odd") == [("met", "Odd"), ("Di", "Odd")]
    (attribute,) = document["NamedEntity"].attributes
    bob = document["NamedEntity"].spans[2]
    assert (attribute.label, attribute.value, attribute.target) == ("identifier", "Q1", bob.id) or (
        attribute.label == "since"
    )


def test_relations_lead_from_the_source_and_chains_back():
    (document,) = loads(KIND.example)
    layer = document["NamedEntity"]
    ada, writer, bob = layer.spans
    assert [(one.label, one.head, one.tail) for one in layer.relations] == [
        ("1843", ada.id, bob.id),
        ("Knows", writer.id, bob.id),
    ]
    chain = document["CoreferenceLink"]
    (link,) = chain.relations
    assert (link.label, link.head, link.tail) == ("coref", chain.spans[1].id, chain.spans[0].id)
    (tree,) = loads(DEPENDENCIES)
    ada, slept = tree["POS"].spans
    assert [(one.label, one.head, one.tail) for one in tree["POS"].relations] == [
        ("nsubj", slept.id, ada.id),
        ("root", slept.id, slept.id),
    ]
    assert same_again(KIND, DEPENDENCIES)


def test_relations_between_words_that_have_no_annotation():
    text = DEPENDENCIES.replace("lexmorph.type.pos.POS\n\n", "segmentation.type.Token\n\n")
    (document,) = loads(text)
    assert texts(document, "Token") == [("Ada", "token"), ("slept", "token")]
    assert [one.label for one in document["Token"].relations] == ["nsubj", "root"]
    assert dumps([document]) == text


def test_several_types_of_relations_in_one_layer_are_told_apart():
    text = (
        DEPENDENCIES.replace(
            "\n\n\n",
            "\n#T_RL=webanno.custom.Other|BT_de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type"
            ".pos.POS\n\n\n",
        )
        .replace("\t1-2\t\n", "\t1-2\t_\t\n", 1)
        .replace("1-2\t\n", "1-2\t1-1\t\n")
    )
    (document,) = loads(text)
    assert sorted(one.label for one in document["POS"].relations) == ["Other", "nsubj", "root"]
    assert dumps([document]) == text


def test_several_documents_in_one_file():
    text = dumps([*loads(KIND.example), *loads(DEPENDENCIES)])
    first, second = loads(text)
    assert first.name != second.name
    assert comparable(replace(first, name="")) == comparable(
        replace(next(loads(KIND.example)), name="")
    )
    assert same_again(KIND, text)


def test_a_foreign_document_gets_types_of_its_own():
    spans = Span("T1", "PER", ((0, 3),)), Span("T2", "a|b_c", ((4, 6), (8, 11)))
    layer = Layer("ner", spans, (Relation("R1", "met", "T1", "T2"),))
    document = with_words(Document("Ada met Bob .", (layer,)), SPLIT)
    (back,) = loads(dumps([document]))
    assert texts(back, "ner") == [("Ada", "PER"), ("me Bob", "a|b_c")]
    assert [one.label for one in back["ner"].relations] == ["met"]
    lost = KIND.count_lost(document, KIND.options())
    assert dict(lost) == {}


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("1-1\t0-3", "1-1\t0-4", 7, "expected 'Ada' at 0-4, the text has 'Ada '"),
        ("\tPROPN\t", "\t", 7, "expected 5 columns after the word, got 4"),
        ("1-2\t\n1-2", "1-9\t\n1-2", 7, "expected an annotation .*POS at 1-9, found none"),
        ("1-2\t\n1-2", "x\t\n1-2", 7, "expected a word such as 1-2 or 1-2"),
        ("NNP\tPROPN", "NNP|NN\tPROPN", 7, "as many annotations in each column"),
        ("1-1\t0", "1_1\t0", 7, "expected SENTENCE-WORD, START-END and a word"),
        ("#Text=Ada slept\n", "", 6, "expected #Text= before the first word"),
        ("|BT_de", "|de", 3, "expected a last column BT_TYPE"),
        (HEAD, "x\n", 1, "expected #FORMAT=WebAnno TSV 3"),
    ],
)
def test_errors_say_where_and_what(old, new, line, problem):
    assert old in DEPENDENCIES
    with pytest.raises(FormatError, match=rf"in\.tsv:{line}: .*{problem}"):
        list(loads(DEPENDENCIES.replace(old, new, 1), path="in.tsv"))


def test_a_small_file_does_not_become_a_large_document():
    """Blanks between sentences are counted over the whole file."""
    lines = HEAD + "\n\n#Text=Ada\n1-1\t{0}-{1}\tAda\t\n\n"
    (document,) = loads(lines.format(500, 503))
    assert document.text == " " * 500 + "Ada"
    problem = "expected a sentence at an offset in 0..100120, got one at 900000"
    with pytest.raises(FormatError, match=rf"in\.tsv:10: {problem}"):
        list(loads(2 * lines.format(900_000, 900_003), path="in.tsv"))


@given(st.text("a\n\U0001f600"))
def test_offsets_count_utf16_units(text):
    ends = [len(text[:point].encode("utf-16-le")) // 2 for point in range(len(text) + 1)]
    offsets = UnitOffsets(text)
    for offset in range(-1, ends[-1] + 2):
        assert offsets.point(offset) == (ends.index(offset) if offset in ends else -1)


def test_damaged_samples():
    reads_or_refuses(KIND)


@given(st.lists(documents(), max_size=2))
def test_what_is_written_is_read_as_written(drawn):
    text = dumps(with_words(document, SPLIT) for document in drawn)
    assert dumps(loads(text)) == text
