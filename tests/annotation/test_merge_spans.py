"""Spans on the same characters as one, against a hand-made layer."""

from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation.unary_chains import expand_unary, merge_spans
from spanloom.document import Attribute, Document, Layer, Relation, Span

SPANS = (
    Span("T1", "be.01", ((4, 6),)),
    Span("T2", "argument", ((0, 3),)),
    Span("T3", "argument", ((4, 6),)),
    Span("T4", "see.01", ((7, 9),)),
    Span("T5", "argument", ((4, 6),)),
)
LAYER = Layer(
    "srl",
    SPANS,
    (
        Relation("R1", "ARG0", "T1", "T2"),
        Relation("R2", "ARG1", "T4", "T3"),
        Relation("R3", "ARG1", "T4", "T5"),
    ),
    attributes=(Attribute("A1", "sure", "T3", "no"), Attribute("A2", "sure", "T5", "yes")),
)


def _name(label):
    return "argument" if label == "argument" else "predicate"


def test_labels_are_joined_and_ends_moved():
    merged = merge_spans(LAYER, _name)
    assert [(span.id, span.label) for span in merged.spans] == [
        ("T1", "argument predicate"),
        ("T2", "argument"),
        ("T4", "predicate"),
    ]
    assert [(relation.label, relation.head, relation.tail) for relation in merged.relations] == [
        ("ARG0", "T1", "T2"),
        ("ARG1", "T4", "T1"),
    ]
    assert [(attribute.target, attribute.value) for attribute in merged.attributes] == [
        ("T1", "no")
    ]
    assert expand_unary("argument predicate") == ["argument", "predicate"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.sampled_from("ab")), max_size=8))
def test_no_two_spans_share_their_characters_and_nothing_else_changes(drawn):
    spans = tuple(Span(f"T{n}", label, ((a, a + b),)) for n, (a, b, label) in enumerate(drawn, 1))
    merged = merge_spans(Layer("x", spans), str)
    bounds = [span.fragments for span in merged.spans]
    assert len(set(bounds)) == len(bounds)
    labelled = {
        (span.fragments, label) for span in merged.spans for label in expand_unary(span.label)
    }
    assert labelled == {(span.fragments, span.label) for span in spans}


def test_a_layer_of_which_none_share_stays():
    layer = Layer("x", SPANS[:2], LAYER.relations[:1])
    text = "Ada is in"
    before, after = (Document(text, (merged,)) for merged in (layer, merge_spans(layer, str)))
    assert comparable(before) == comparable(after)
