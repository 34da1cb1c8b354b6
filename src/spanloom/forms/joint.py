"""Spans on the same characters as one, of several labels, with the relations of all of them.

A model gives each candidate one label. Where two spans share their characters, an argument that is
a predicate too, the label is both of theirs.
"""

from collections.abc import Callable
from dataclasses import replace

from spanloom.document import Fragment, Layer, Relation, Span
from spanloom.forms.chains import JOINT


def joint(layer: Layer, name: Callable[[str], str]) -> Layer:
    """Return spans, relations and attributes of the layer, spans on the same characters as one.

    ``name`` says what a label is called; of several the names stand in the order of the alphabet,
    each once. Of equal relations the first stays, of attributes of one span and name too; what is
    said of no span, and all else, is left out.
    """
    first: dict[tuple[Fragment, ...], Span] = {}
    labels: dict[str, set[str]] = {}
    home: dict[str, str] = {}
    for span in layer.spans:
        kept = first.setdefault(tuple(sorted(span.fragments)), span)
        labels.setdefault(kept.id, set()).add(name(span.label))
        home[span.id] = kept.id
    spans = (replace(each, label=JOINT.join(sorted(labels[each.id]))) for each in first.values())
    relations: dict[tuple[str, str, str], Relation] = {}
    for each in layer.relations:
        if each.head in home and each.tail in home:
            moved = replace(each, head=home[each.head], tail=home[each.tail])
            relations.setdefault((moved.label, moved.head, moved.tail), moved)
    said = {
        (home[each.target], each.label): replace(each, target=home[each.target])
        for each in reversed(layer.attributes)
        if each.target in home
    }
    attributes = tuple(reversed(said.values()))
    return Layer(layer.name, tuple(spans), tuple(relations.values()), attributes=attributes)
