"""What a layer is, told from its shape; the samples of formats are told rightly too."""

import drawn_samples as drawn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom import formats
from spanloom.document import Argument, Document, Equivalence, Event, Layer, Relation, Span
from spanloom.viewer.shapes import nesting, shapes_of


@pytest.mark.parametrize(
    ("document", "shapes"),
    [
        (drawn.parsed(), {"dependency": "dependency", "constituency": "constituents"}),
        (drawn.coreference(), {"coreference": "clusters"}),
        (drawn.tuples(), {"srl": "tuples"}),
        (drawn.nested(), {"main": "spans"}),
        (drawn.discontinuous(), {"main": "spans"}),
        (drawn.many(), {"main": "spans"}),
        (Document("a", (Layer("main"),)), {}),
    ],
    ids=lambda given: given.name if isinstance(given, Document) else "",
)
def test_a_shape_is_told_from_spans_and_relations(document, shapes):
    assert shapes_of([document]) == shapes


@pytest.mark.parametrize(
    ("name", "layer", "shape"),
    [
        ("conllu", "dependency", "dependency"),
        ("conllu", "enhanced", "dependency"),
        ("conllu", "upos", "spans"),
        ("trees", "constituency", "constituents"),
        ("conll2005", "srl", "tuples"),
        ("oie", "openie", "tuples"),
        ("conll04", "entities", "spans"),
        ("dygie", "coreference", "clusters"),
        ("absa", "categories", "spans"),
    ],
)
def test_the_layers_of_formats_have_their_shapes(name, layer, shape):
    form = formats.load(name)
    found = shapes_of(form.loads(form.example, options=form.options()))
    assert found[layer] == shape


def test_equivalences_are_clusters_and_documents_that_differ_are_spans():
    two = (Span("T1", "m", ((0, 1),)), Span("T2", "m", ((2, 3),)))
    same = Layer("main", two, equivalences=(Equivalence("*1", "Equiv", ("T1", "T2")),))
    other = Layer("main", two, (Relation("R1", "r", "T1", "T2"),))
    assert shapes_of([Document("a b", (same,))]) == {"main": "clusters"}
    assert shapes_of([Document("a b", (same,)), Document("a b", (other,))]) == {"main": "spans"}


def test_mentions_of_a_cluster_are_mostly_alike():
    labels = ("person", "person", "object", "person")
    spans = tuple(Span(f"T{at}", label, ((at, at + 1),)) for at, label in enumerate(labels))
    pairs = (("T1", "T0"), ("T3", "T1"), ("T2", "T0"))
    links = tuple(Relation(f"R{at}", "coref", *pair) for at, pair in enumerate(pairs))
    shapes = {
        count: shapes_of([Document("abcd", (Layer("main", spans, links[-count:]),))])["main"]
        for count in (1, 2, 3)
    }
    assert shapes == {1: "spans", 2: "clusters", 3: "clusters"}


def test_an_event_makes_spans_of_any_layer():
    for document in (drawn.parsed(), drawn.coreference(), drawn.tuples()):
        layer = document.layers[0]
        span = layer.spans[0].id
        event = Event("E1", "word", span, (Argument("to", span),))
        mixed = Layer("mixed", layer.spans, layer.relations, (event,))
        assert shapes_of([Document(document.text, (mixed,))]) == {"mixed": "spans"}


_BOUNDS = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=6)


@given(_BOUNDS)
def test_nesting_finds_the_smallest_span_around_each(bounds):
    spans = tuple(Span(f"T{at}", "x", ((a, a + n),)) for at, (a, n) in enumerate(bounds))
    crossing = any(
        one.start < other.start < one.end < other.end for one in spans for other in spans
    )
    found = nesting(spans)
    assert (found is None) == crossing
    for at, parent in enumerate(found or ()):
        inner = spans[at]
        # The oracle: all spans around it, and those before it on the same words.
        around = [
            (span.end - span.start, -place)
            for place, span in enumerate(spans)
            if span.start <= inner.start
            and inner.end <= span.end
            and ((span.start, span.end) != (inner.start, inner.end) or place < at)
        ]
        assert parent == (-min(around)[1] if around else None)
