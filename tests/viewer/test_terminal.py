"""Drawings for a terminal: what is seen, that it fits, and that nothing of the text is lost."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Document, Equivalence, Layer, Query, Relation, Span
from spanloom.errors import LayerError
from spanloom.viewer.interlinear import Mark, lay_out, wrap
from spanloom.viewer.terminal import default_layers, draw
from spanloom.viewer.text_width import visible

TEXT = "Ada met Bob in Rome. She left."
SENTENCES = Layer("sentences", (Span("S1", "s", ((0, 20),)), Span("S2", "s", ((21, 30),))))
NER = Layer(
    "ner",
    (
        Span("T1", "person", ((0, 3),)),
        Span("T2", "person", ((8, 11),)),
        Span("T3", "place", ((15, 19),)),
    ),
)
SRL = Layer(
    "srl",
    (
        Span("A1", "argument", ((0, 3),)),
        Span("P1", "predicate", ((4, 7),)),
        Span("A2", "argument", ((8, 11),)),
        Span("A3", "argument", ((21, 24),)),
        Span("P2", "predicate", ((25, 29),)),
    ),
    (
        Relation("R1", "ARG1", "P1", "A2"),
        Relation("R2", "ARG0", "P1", "A1"),
        Relation("R3", "ARG0", "P2", "A3"),
    ),
)
COREFERENCE = Layer(
    "coreference",
    (Span("M1", "person", ((0, 3),)), Span("M2", "person", ((21, 24),))),
    (Relation("C1", "coref", "M2", "M1"),),
)
TREE = Layer(
    "tree",
    (
        Span("N1", "S", ((0, 20),)),
        Span("N2", "NP", ((0, 3),)),
        Span("N3", "VP", ((4, 19),)),
        Span("N4", "S", ((21, 30),)),
        Span("N5", "NP", ((21, 24),)),
    ),
)
DOCUMENT = Document(TEXT, (SENTENCES, NER, SRL, COREFERENCE, TREE))
DRAWN = """\
ner          ╭person╮     ╭person╮    ╭place╮
             Ada      met Bob      in Rome   .
srl          met: ARG0 Ada · ARG1 Bob
             She left.
srl          left: ARG0 She
coreference  Ada = She
"""
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def test_three_layers_are_drawn_by_default():
    assert default_layers(DOCUMENT) == ["ner", "srl", "coreference"]
    assert draw(DOCUMENT) == DRAWN


def test_colors_change_nothing_else():
    colored = draw(DOCUMENT, colored=True)
    assert "\x1b[38;5;" in colored
    assert ESCAPE.sub("", colored) == DRAWN


def test_a_tree_is_drawn_with_the_words_between_constituents():
    assert draw(DOCUMENT, layers=["tree"]).splitlines() == [
        "      Ada met Bob in Rome.",
        "tree  S",
        "tree  ├─ NP Ada",
        "tree  ├─ VP met Bob in Rome",
        "tree  └─ .",
        "      She left.",
        "tree  S",
        "tree  ├─ NP She",
        "tree  └─ left.",
    ]


def words(text, label="word"):
    matches = re.finditer(r"\S+", text)
    return tuple(Span(f"W{row}", label, (match.span(),)) for row, match in enumerate(matches))


def test_dependents_stand_below_their_heads_each_once_even_in_a_cycle():
    spans = words("a b c d")
    ends = [("W1", "W1"), ("W1", "W0"), ("W2", "W3"), ("W3", "W2")]
    relations = tuple(Relation(f"R{row}", f"r{row}", *pair) for row, pair in enumerate(ends))
    lines = draw(Document("a b c d", (Layer("trees", spans, relations),))).splitlines()
    assert [line.removeprefix("trees").strip() for line in lines] == [
        *("a b c d", "r0 b", "└─ r1 a", "r3 c", "└─ r2 d"),
    ]


def test_labels_of_words_stand_below_them():
    text = "Ada met Bob ."
    tags = tuple(
        Span(span.id, label, span.fragments)
        for span, label in zip(words(text), ["PROPN", "VERB", "PROPN", "PUNCT"], strict=True)
    )
    assert draw(Document(text, (Layer("upos", tags),))).splitlines() == [
        "      Ada   met  Bob   .",
        "upos  PROPN VERB PROPN PUNCT",
    ]


def test_what_is_inside_is_nearer_to_the_text_and_pieces_follow():
    spans = (
        Span("T1", "Long", ((0, 11),)),
        Span("T2", "a", ((0, 3),)),
        Span("T3", "gap", ((4, 7), (12, 15))),
    )
    assert draw(Document("one two six ten", (Layer("x", spans),))).splitlines() == [
        "x  ╭───Long────╮",
        "x  ╭a╮ ╭gap╮     ╭…╮",
        "   one two   six ten",
    ]


def test_chains_of_equivalences_and_queries_are_listed():
    layer = Layer("x", NER.spans, equivalences=(Equivalence("*", "same", ("T1", "T2")),))
    drawn = draw(Document(TEXT, (layer,), queries=(Query("Q1", "Who?"),)))
    assert drawn.startswith("Q1  Who?\n")
    assert drawn.endswith("x  Ada = Bob\n")


def test_nothing_is_drawn_of_nothing():
    assert draw(Document(TEXT)) == ""
    assert draw(Document(TEXT, (Layer("ner"),))) == ""


@pytest.mark.parametrize("text", ["a  b ", "a\n\nb", "a\r\nb\n", "ab c\nd"])
def test_any_span_is_drawn_unless_it_holds_only_line_breaks(text):
    for start, end in ((a, b) for b in range(len(text) + 1) for a in range(b + 1)):
        layer = Layer("x", (Span("T1", "X", ((start, end),)),))
        drawn = draw(Document(text, (layer,)))
        assert ("X" in drawn) == bool(text[start:end].strip("\r\n"))
        draw(Document(text, (layer, Layer("sentences", words(text)))), layers=["x"])
        draw(Document(text, (Layer("x", (*layer.spans, *words(text))),)))  # labels are tags


def test_a_label_stands_above_the_first_fragment_that_is_shown():
    layer = Layer("x", (Span("T1", "X", ((1, 2), (3, 4))),))
    assert draw(Document("a\n\nb", (layer,))) == "   a\nx  ╭X╮\n   b\n"


def test_an_unknown_layer_is_an_error():
    with pytest.raises(LayerError, match="no layer 'spam'"):
        draw(DOCUMENT, layers=["spam"])


TEXTS = st.text(st.sampled_from("ab 漢é\t\u0301👩\u200d\u202e.-"), min_size=1, max_size=40)


@given(text=TEXTS, data=st.data(), width=st.integers(12, 30))
def test_lines_fit_and_keep_the_text(text, data, width):
    bounds = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)))
    pairs = data.draw(st.lists(bounds.filter(lambda pair: pair[0] < pair[1]), max_size=6))
    marks = [Mark(*pair, "L" * (1 + row)) for row, pair in enumerate(pairs)]
    lines = lay_out(text, [("x", marks)], [("y", marks[:1])])
    assert len({len(line.cells) for line in lines}) == 1
    rows = [[(line.name, signs(line)) for line in part] for part in wrap(lines, width)]
    assert all(len(line.cells) <= width for part in wrap(lines, width) for line in part)
    shown = "".join(row for part in rows for name, row in part if not name)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", visible(text))
    brackets = "".join(row for part in rows for name, row in part if name == "x")
    assert brackets.count("╭") == brackets.count("╮") == len(marks)
    assert all(mark.label in "".join(map(signs, lines)) for mark in marks)


def signs(line):
    return "".join(sign for sign, _ in line.cells)


@pytest.mark.slow
def test_time_grows_linearly_with_a_sentence():
    def seconds(num_words):
        text = "word " * num_words
        marks = [Mark(5 * row, 5 * row + 4, "name") for row in range(0, num_words, 2)]
        began = time.process_time()
        lay_out(text, [("x", marks)], [("y", marks)])
        return time.process_time() - began

    seconds(1000)
    assert seconds(80_000) < 3 * 4 * max(seconds(20_000), 0.02)
