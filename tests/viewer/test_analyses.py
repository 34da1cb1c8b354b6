"""Which tab a layer belongs to is told by what it holds, whatever it is called."""

from dataclasses import replace

import drawn_samples as drawn
import pytest

from spanloom.document import Document, Layer, Relation, Span
from spanloom.viewer.analyses import ANALYSES, analyses_of, repeated_layers
from spanloom.viewer.data import drawing
from spanloom.viewer.explanations import explain
from spanloom.viewer.shapes import shapes_of

TEXT = drawn.SENTENCE


def spans(name, *bounds):
    return Layer(name, tuple(Span(f"{name}{at}", "A", (pair,)) for at, pair in enumerate(bounds)))


def related(name):
    layer = spans(name, (0, 4), (15, 20))
    return replace(layer, relations=(Relation(f"R{name}", "r", f"{name}0", f"{name}1"),))


def sorted_in(*documents):
    names = list(dict.fromkeys(layer.name for document in documents for layer in document.layers))
    return analyses_of(names, shapes_of(documents), documents)


SAMPLES = {
    "names": Document(TEXT, (spans("x", (0, 4), (15, 20)),)),
    "relations": Document(TEXT, (related("x"),)),
    "roles": drawn.tuples(),
    "coreference": drawn.coreference(),
    "grammar": Document(TEXT, (drawn.dependency(),)),
    "tree": Document(TEXT, (drawn.constituents(),)),
    "classes": Document(TEXT, (spans("x", (0, len(TEXT))),)),
}


@pytest.mark.parametrize("key", SAMPLES)
def test_what_a_layer_holds_says_where_it_belongs(key):
    document = SAMPLES[key]
    renamed = replace(document, layers=tuple(replace(y, name="any") for y in document.layers))
    (analysis,) = sorted_in(renamed).values()
    assert analysis.key == key


def test_all_analyses_have_a_sample():
    assert set(SAMPLES) == {analysis.key for analysis in ANALYSES}


def test_tags_of_all_words_are_grammar():
    tags = Layer("any", tuple(drawn.word_spans(TEXT, "t")))
    assert sorted_in(Document(TEXT, (tags,)))["any"].key == "grammar"


def repeated(*layers):
    document = Document(TEXT, layers)
    return repeated_layers(sorted_in(document), shapes_of([document]), [document])


def test_a_layer_over_the_spans_of_an_earlier_one_of_its_kind_is_repeated():
    first, inside, apart = spans("a", (0, 4), (15, 20)), spans("b", (0, 9)), spans("c", (40, 44))
    assert repeated(first, inside, apart) == {"b"}
    assert repeated(inside, first) == {"a"}
    assert repeated(first, related("r")) == frozenset()  # relations say more


def test_a_layer_over_one_that_is_itself_repeated_is_not():
    first, second, third = (
        spans("a", (0, 9)),
        spans("b", (0, 9), (15, 20), (24, 27)),
        spans("c", (15, 20)),
    )
    assert repeated(first, second, third) == {"b"}


def test_repeated_layers_are_hidden_at_first_unless_they_are_asked_for():
    document = Document(TEXT, (spans("a", (0, 4)), spans("b", (0, 4))))
    hidden = [
        layer["name"] for layer in drawing([document], title="")["layers"] if "aside" in layer
    ]
    assert hidden == ["b"]
    assert not any("aside" in y for y in drawing([document], title="", layers=["a", "b"])["layers"])


@pytest.mark.parametrize(
    ("analysis", "label", "words"),
    [
        ("roles", "ARGM-TMP", "when"),
        ("roles", "R-ARGM-LOC", "where (refers back)"),
        ("roles", "when", None),
        ("names", "PER", "a person"),
        ("names", "Person", "a person"),
        ("grammar", "nsubj", "subject"),
        ("grammar", "nsubj:outer", "subject"),
        ("grammar", "NSUBJ", None),
        ("tree", "S VP", "clause, only a verb phrase"),
        ("tree", " HEADING NP", "heading, only a noun phrase"),
        ("tree", "", None),
        ("classes", "spam", None),
    ],
)
def test_labels_are_explained_by_their_analysis(analysis, label, words):
    assert explain(analysis, label) == words
