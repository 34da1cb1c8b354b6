import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.document import (
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Query,
    Relation,
    Span,
)
from spanloom.errors import LayerError
from spanloom.viewer.table import table
from spanloom.viewer.text_width import columns

TEXT = "add 5 ml lysis\tbuffer 漢字 now"
MAIN = Layer(
    "main",
    spans=(
        Span("T1", "Action", ((0, 3),), 0.5),
        Span("T2", "Reagent", ((9, 21),)),
        Span("T3", "Amount", ((4, 5), (6, 8))),
        Span("T4", "Han", ((22, 24),)),
    ),
    relations=(Relation("R1", "measure", "T3", "T2", score=0.25),),
    events=(Event("E1", "Action", "T1", (Argument("Theme", "T2"), Argument("Of", "E1"))),),
    attributes=(Attribute("A1", "Negated", "E1"), Attribute("A2", "Sure", "T4", "low")),
    normalizations=(Normalization("N1", "Reference", "T4", "Wiki", "7", "name"),),
    notes=(Note("#1", "AnnotatorNotes", "T9", "look\nhere"),),
    equivalences=(Equivalence("*1", "Equiv", ("T1", "T4")),),
)
DOCUMENT = Document(TEXT, (MAIN,))

EXPECTED = """\
id  label    start  end  score  text
T1  Action   0      3    0.500  add
T2  Reagent  9      21          lysis⇥buffer
T3  Amount   4;6    5;8         5 ml
T4  Han      22     24          漢字

id  label    score  text
R1  measure  0.250  5 ml → lysis⇥buffer

id  event   text
E1  Action  add → Theme: lysis⇥buffer; Of: add

id  attribute  value  about
A1  Negated           E1 add
A2  Sure       low    T4 漢字

id  normalization  resource  key  name  about
N1  Reference      Wiki      7    name  T4 漢字

id  note            about  text
#1  AnnotatorNotes  T9     look⏎here

id  equivalence  members
*1  Equiv        add = 漢字
"""


def test_everything_is_told_in_aligned_columns():
    assert table(DOCUMENT) == EXPECTED


def test_a_narrow_terminal_cuts_the_text_and_nothing_else():
    text = "word " * 40
    document = Document(text, (Layer("main", (Span("T1", "Long", ((0, 199),), 0.5),)),))
    lines = table(document, width=60).splitlines()
    assert columns(lines[1]) == 60
    assert "…" in lines[1]
    assert "0.500" in lines[1]
    assert "…" not in table(document)


def test_layers_are_named_where_there_are_several_and_words_left_out():
    layers = (
        Layer("words", (Span("w1", "word", ((0, 3),)),)),
        Layer("ner", (Span("T1", "X", ((0, 3),)),)),
        Layer("pos", (Span("p1", "VERB", ((0, 2),)),)),
    )
    document = Document("add", layers)
    assert table(document).splitlines() == [
        "id  layer  label  start  end  text",
        "T1  ner    X      0      3    add",
        "p1  pos    VERB   0      2    ad",
    ]
    assert "w1  word" in table(document, layers=["words"])
    with pytest.raises(LayerError, match="no layer 'srl'; layers there: words, ner, pos"):
        table(document, layers=["srl"])


def test_layers_of_the_same_words_stand_side_by_side():
    bounds = ((0, 3), (4, 7), (8, 11))

    def spans(letter, *labels):
        pairs = enumerate(zip(labels, bounds, strict=True))
        return tuple(Span(f"{letter}{row}", label, (fragment,)) for row, (label, fragment) in pairs)

    tree = [("nsubj", 1, 0), ("root", 1, 1), ("obj", 1, 2)]
    layers = (
        Layer("pos", spans("p", "PROPN", "VERB", "PROPN")),
        Layer(
            "tree",
            spans("d", "word", "word", "word"),
            tuple(Relation(f"R{t}", label, f"d{h}", f"d{t}") for label, h, t in tree),
        ),
        Layer("ner", spans("n", "person", "x", "person")[::2]),
    )
    assert table(Document("Ada met Bob", layers)).splitlines() == [
        "start  pos    tree         text",
        "0      PROPN  nsubj ← met  Ada",
        "4      VERB   root         met",
        "8      PROPN  obj ← met    Bob",
        "",
        "id  label   start  end  text",
        "n0  person  0      3    Ada",
        "n2  person  8      11   Bob",
    ]


def test_spans_side_by_side_keep_their_labels_where_relations_lead_to_some():
    bounds = ((0, 3), (8, 11), (16, 18))
    names = tuple(Span(f"n{at}", "person", (bound,)) for at, bound in enumerate(bounds))
    mentions = tuple(Span(f"m{at}", "person", (bound,)) for at, bound in enumerate(bounds))
    chain = (Relation("R1", "coref", "m0", "m2"),)
    layers = Layer("ner", names), Layer("coref", mentions, chain)
    assert table(Document("Ada met Bob and he", layers)).splitlines() == [
        "start  ner     coref                text",
        "0      person  person               Ada",
        "8      person  person               Bob",
        "16     person  person, coref ← Ada  he",
    ]


def test_a_document_without_annotation_has_an_empty_table():
    assert table(Document("text")) == ""


def test_queries_come_first_and_are_cut_like_any_text():
    asked = Document("Ada", queries=(Query("Q1", "Who\nis it?"), Query("Q2", "word " * 40)))
    lines = table(asked, width=60).splitlines()
    assert lines[:2] == ["id  query", "Q1  Who⏎is it?"]
    assert (columns(lines[2]), lines[2][-1]) == (60, "…")
    layer = Layer("main", (Span("T1", "X", ((0, 3),)),))
    assert table(asked.with_layer(layer)).splitlines()[3:] == [
        "",
        "id  label  start  end  text",
        "T1  X      0      3    Ada",
    ]


@settings(max_examples=50)
@given(st.text(max_size=60), st.integers(50, 90))
def test_no_line_is_wider_than_the_terminal_and_none_is_broken(text, width):
    document = Document(text, (Layer("main", (Span("T1", "Label", ((0, len(text)),)),)),))
    lines = table(document, width=width).removesuffix("\n").split("\n")
    assert len(lines) == 2
    assert all(columns(line) <= width for line in lines)
