"""What a terminal begins without: layers that crowd a page of many."""

import drawn_samples as drawn
import pytest

from spanloom.document import Document, Layer, Relation, Span
from spanloom.viewer.shapes import hidden_layers, shapes_of


def tags(name, share=1.0):
    """A layer with a span on this share of the words."""
    words = drawn.word_spans(drawn.SENTENCE, name)
    return Layer(name, tuple(words[: round(share * len(words))]))


def arcs(name, share=1.0):
    """A layer with two long spans and so many arcs a word between them."""
    count = round(share * len(drawn.SENTENCE.split()))
    ends = (Span(f"{name}1", "Long", ((0, 14),)), Span(f"{name}2", "Long", ((20, 40),)))
    links = (Relation(f"R{name}{at}", "r", ends[0].id, ends[1].id) for at in range(count))
    return Layer(name, ends, tuple(links))


def phrases(name):
    """A layer whose spans of several words cover the text."""
    text = drawn.SENTENCE
    cut = text.index(" the")
    return Layer(name, (Span(f"{name}1", "P", ((0, cut),)), Span(f"{name}2", "P", ((cut, 60),))))


def hidden(documents):
    names = list(dict.fromkeys(layer.name for document in documents for layer in document.layers))
    shapes = shapes_of(documents)
    drawn_names = [name for name in names if name in shapes]
    found = hidden_layers(drawn_names, shapes, documents)
    return [name for name in drawn_names if name in found]


def aside(*layers):
    return hidden([Document(drawn.SENTENCE, layers, "d")])


FEW = (tags("few", 0.5), phrases("phrases"), arcs("some", 0.5))


@pytest.mark.parametrize(
    "dense", [tags("upos"), tags("most", 0.9), arcs("links"), drawn.dependency()]
)
def test_a_layer_with_a_mark_or_an_arc_for_nearly_every_word_is_set_aside(dense):
    assert aside(dense, *FEW) == [dense.name]


def test_trees_are_set_aside():
    assert aside(drawn.constituents(), *FEW) == ["constituency"]


def test_spans_that_another_layer_links_are_set_aside():
    spans = phrases("p").spans
    again = Layer("again", tuple(Span(f"a{span.id}", span.label, span.fragments) for span in spans))
    linked = Layer("linked", spans, (Relation("R1", "r", "p1", "p2"),))
    assert aside(again, linked, arcs("some", 0.5), tags("few", 0.5)) == ["again"]
    assert aside(again, phrases("p"), arcs("some", 0.5), tags("few", 0.5)) == []


def test_few_layers_are_all_shown():
    assert aside(tags("upos"), drawn.dependency(), drawn.constituents()) == []
    assert aside(tags("half", 0.6), *FEW) == []


def test_few_layers_of_each_text_are_all_shown():
    texts = [Document(drawn.SENTENCE, layers, str(layers)) for layers in [(tags("upos"),), FEW]]
    assert hidden(texts) == []


def test_something_is_always_shown():
    many = [tags(f"t{number}") for number in range(5)]
    assert aside(*many) == ["t3", "t4"]
    assert aside(*many, phrases("p")) == ["t0", "t1", "t2", "t3", "t4"]


def test_documents_without_the_layer_do_not_count():
    full = Document(drawn.SENTENCE, (tags("upos"), *FEW), "full")
    others = [Document("no layer"), Document(drawn.SENTENCE * 9, (Layer("upos"),), "bare")]
    assert hidden([*others, full]) == ["upos"]
