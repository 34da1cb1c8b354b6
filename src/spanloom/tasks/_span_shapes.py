"""Annotation that one label per span and spans without gaps cannot express, in a form they can.

A shape turns a layer into such a form before it is learnt, and predictions back before they are
written: spans with gaps into linked fragments, several labels on one span into one. Tasks are given
the shapes that their options ask for; those of one task follow each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from spanloom.annotation import attributes
from spanloom.annotation.events import EventScheme, collect, flatten, with_division
from spanloom.annotation.fragments import NEXT, join_fragments, split_fragments
from spanloom.annotation.label_sets import (
    LabelOwners,
    check_labels,
    count_owners,
    join_labels,
    label_set,
    split_labels,
)
from spanloom.document import Layer
from spanloom.tasks._base import NewId, TrainDocuments
from spanloom.tasks._span_parts import GoldSpans, prepare_layers
from spanloom.tasks._vocabulary import (
    LabeledSpanOptions,
    Vocabulary,
    infer_span_vocabulary,
)

_OWNERS = "head_labels", "tail_labels", "attribute_labels"  # keys of a stored vocabulary


class Shape(Protocol):
    """A form of annotation, and the way back."""

    def simplify(self, layer: Layer) -> Layer:
        """Return the layer, which has no events, as it is learnt."""

    def restore(self, layer: Layer, new_id: NewId) -> Layer:
        """Return the predicted layer as it is written."""


@dataclass(frozen=True, slots=True)
class Fragments:
    """Spans with gaps as linked fragments."""

    def simplify(self, layer: Layer) -> Layer:
        """Return the layer with a span per fragment."""
        return split_fragments(layer)

    def restore(self, layer: Layer, new_id: NewId) -> Layer:
        """Return the layer with linked fragments as one span."""
        return join_fragments(layer)


@dataclass(frozen=True, slots=True)
class LabelSets:
    """Several labels on one span as one label."""

    owners: LabelOwners

    def simplify(self, layer: Layer) -> Layer:
        """Return the layer with one span per set of characters."""
        return join_labels(layer)

    def restore(self, layer: Layer, new_id: NewId) -> Layer:
        """Return the layer with a span per label."""
        return split_labels(layer, self.owners, new_id)


@dataclass(frozen=True, slots=True)
class ShapedSpans(GoldSpans):
    """Spans and relations in the form of some shapes; events are relations of ``scheme`` first."""

    shapes: Sequence[Shape]
    scheme: EventScheme

    def prepare(self, layer: Layer) -> Layer:
        """Return the layer in the form that is learnt."""
        layer = flatten(layer, self.scheme)
        for shape in self.shapes:
            layer = shape.simplify(layer)
        return layer

    def label_parts(self, label: str) -> Sequence[str]:
        """Return the labels that a learnt label stands for."""
        return label_set(label)


def infer_shaped_vocabulary(
    options: LabeledSpanOptions,
    name: str,
    train: TrainDocuments,
    *,
    relations: bool,
    discontinuous: bool = False,
    several_events: bool = False,
) -> dict[str, Any]:
    """Collect the vocabulary of a layer, in the form of the shapes that the options ask for."""
    if not (options.multi_label or discontinuous or several_events):
        return infer_span_vocabulary(options, name, train, relations=relations).to_dict()
    if options.multi_label:
        check_labels((document for document, _ in train), name)
    layers = [document[name] for document, _ in train]
    scheme = collect(layers)
    if several_events:
        scheme = with_division(scheme, layers)
    flat = [flatten(layer, scheme) for layer in layers]
    owners = count_owners(flat if options.multi_label else ())
    gold = ShapedSpans(_shapes(options, owners, discontinuous=discontinuous), scheme)
    prepared = prepare_layers(train, name, gold.prepare)
    vocabulary = infer_span_vocabulary(options, name, prepared, relations=relations)
    scheme_of_attributes = attributes.collect(layers if options.attributes else ())
    if not relations:
        scheme_of_attributes = replace(scheme_of_attributes, relations={})
    plain = replace(vocabulary, events=scheme, attributes=scheme_of_attributes).to_dict()
    tables = zip(_OWNERS, (owners.head, owners.tail, owners.attribute), strict=True)
    return plain | {key: dict(table) for key, table in tables if options.multi_label}


def read_shapes(
    options: LabeledSpanOptions, vocabulary: Mapping[str, Any], *, discontinuous: bool = False
) -> tuple[Shape, ...]:
    """Return the shapes of a task, by its options and the stored vocabulary."""
    owners = LabelOwners(*(vocabulary.get(key, {}) for key in _OWNERS))
    return _shapes(options, owners, discontinuous=discontinuous)


def shaped_gold(shapes: Sequence[Shape], vocabulary: Vocabulary) -> GoldSpans:
    """Return the part that reads gold in the form of the shapes."""
    return ShapedSpans(shapes, vocabulary.events) if shapes else GoldSpans()


def written_relations(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the labels of relations without the links between fragments."""
    return tuple(label for label in vocabulary.relations if label != NEXT)


def _shapes(
    options: LabeledSpanOptions, owners: LabelOwners, *, discontinuous: bool
) -> tuple[Shape, ...]:
    fragments: tuple[Shape, ...] = (Fragments(),) if discontinuous else ()
    labels: tuple[Shape, ...] = (LabelSets(owners),) if options.multi_label else ()
    return labels + fragments  # spans with gaps have label sets as wholes
