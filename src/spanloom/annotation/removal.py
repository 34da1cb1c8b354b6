"""Remove annotations from a layer, and what refers to them."""

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import TypeVar

from spanloom.document import (
    Annotation,
    Attribute,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Relation,
)

_A = TypeVar("_A", bound=Annotation)


def without_annotations(layer: Layer, ids: Set[str]) -> Layer:
    """Return the layer without these ids and without annotations that refer to removed ones.

    An equivalence loses removed members, and is removed if fewer than two are left; an event loses
    removed arguments, and is removed with its trigger.
    """
    removed = set(ids)
    while dependents := {a.id for a in layer.annotations() if _depends_on(a, removed)} - removed:
        removed |= dependents
    events = _keep(layer.events, removed)
    equivalences = _keep(layer.equivalences, removed)
    return Layer(
        layer.name,
        _keep(layer.spans, removed),
        _keep(layer.relations, removed),
        tuple(_without_arguments(event, removed) for event in events),
        _keep(layer.attributes, removed),
        _keep(layer.normalizations, removed),
        _keep(layer.notes, removed),
        tuple(_without_members(equivalence, removed) for equivalence in equivalences),
    )


def _keep(annotations: Iterable[_A], removed: Set[str]) -> tuple[_A, ...]:
    """Return the annotations without removed ones."""
    return tuple(annotation for annotation in annotations if annotation.id not in removed)


def _depends_on(annotation: Annotation, removed: Set[str]) -> bool:
    """Return whether an annotation cannot exist without these ids."""
    match annotation:
        case Relation():
            return annotation.head in removed or annotation.tail in removed
        case Event():
            return annotation.trigger in removed
        case Attribute() | Normalization() | Note():
            return annotation.target in removed
        case Equivalence():
            return len(_without_members(annotation, removed).members) < 2
    return False


def _without_arguments(event: Event, removed: Set[str]) -> Event:
    """Return the event without arguments that were removed."""
    arguments = tuple(arg for arg in event.arguments if arg.target not in removed)
    return replace(event, arguments=arguments)


def _without_members(equivalence: Equivalence, removed: Set[str]) -> Equivalence:
    """Return the equivalence without members that were removed."""
    return replace(
        equivalence,
        members=tuple(member for member in equivalence.members if member not in removed),
    )
