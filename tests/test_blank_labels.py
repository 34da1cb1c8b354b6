"""At the Document's door: a blank label is refused, whatever has it, and a name as layers."""

import pytest

from spanloom.document import Attribute, Document, Event, Layer, Relation, Span
from spanloom.errors import DocumentError

T1 = Span("T1", "A", ((0, 1),))


@pytest.mark.parametrize("label", ["", " ", "\t\n"])
@pytest.mark.parametrize(
    "layer_of",
    [
        lambda label: Layer("main", (Span("X1", label, ((0, 1),)),)),
        lambda label: Layer("main", (T1,), (Relation("X1", label, "T1", "T1"),)),
        lambda label: Layer("main", (T1,), events=(Event("X1", label, "T1"),)),
        lambda label: Layer("main", (T1,), attributes=(Attribute("X1", label, "T1"),)),
    ],
)
def test_a_blank_label_is_refused(layer_of, label):
    with pytest.raises(DocumentError, match="d: annotation 'X1' needs a label, got"):
        Document("a", (layer_of(label),), "d")
    assert Document("a", (layer_of("a b"),), "d").has_layer("main")


def test_a_name_in_the_place_of_layers_is_refused():
    with pytest.raises(TypeError, match=r"expected layers, got 'd'; Document\(text, name=…\)"):
        Document("a", "d")
