"""The head of a span is its word whose own head lies outside."""

import pytest

from spanloom.annotation.syntactic_heads import spans_headed_by
from spanloom.document import Layer, Span
from spanloom.formats import conllu

ROWS = (
    *("the DET 3 det", "old ADJ 3 amod", "mayor NOUN 6 nsubj", "of ADP 5 case"),
    *("Paris PROPN 3 nmod", "met VERB 0 root", "the DET 8 det", "Ada PROPN 9 compound"),
    "fans NOUN 6 obj",
)


def document(mentions):
    """A sentence with spans of these words (first and last of each fragment) in a layer."""
    lines = (
        "\t".join((str(number), form, "_", tag, "_", "_", head, label, "_", "_"))
        for number, (form, tag, head, label) in enumerate((row.split() for row in ROWS), 1)
    )
    (parsed,) = conllu.loads("\n".join(lines) + "\n\n")
    bounds = [word.fragments[0] for word in parsed["words"].spans]
    spans = tuple(
        Span(name, "x", tuple((bounds[first][0], bounds[last][1]) for first, last in fragments))
        for name, fragments in mentions.items()
    )
    return parsed.with_layer(Layer("named", spans))


@pytest.mark.parametrize(
    ("fragments", "is_name"),
    [
        ([(4, 4)], True),  # Paris
        ([(0, 4)], False),  # the old mayor of Paris: a description
        ([(0, 8)], False),  # the sentence, whose root is its own head
        ([(6, 7)], True),  # no subtree: the and Ada have their heads outside
        ([(0, 0), (4, 4)], True),  # the … Paris
        ([(1, 2), (4, 4)], False),  # mayor … Paris: the head is in the other fragment
        ([(5, 5)], False),
    ],
)
def test_a_name_has_a_head_that_is_a_proper_noun(fragments, is_name):
    named = document({"T101": fragments})
    assert spans_headed_by(named, "named", ("PROPN",)) == (frozenset({"T101"} if is_name else ()))


def test_half_a_word_is_none_and_other_tags_may_be_asked_for():
    named = document({"T101": [(2, 2)], "T102": [(0, 4)], "T103": [(4, 4)]})
    half = Span("T104", "x", ((named["words"].spans[2].start, named["words"].spans[2].end - 1),))
    named = named.with_layer(Layer("named", (*named["named"].spans, half)))
    assert spans_headed_by(named, "named", ("NOUN", "VERB")) == {"T101", "T102"}
    assert spans_headed_by(named, "named", ()) == frozenset()
