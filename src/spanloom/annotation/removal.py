"""Remove annotations from a layer, and what refers to them."""

from collections.abc import Set
from dataclasses import replace

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


def without_annotations(layer: Layer, ids: Set[str]) -> Layer:
    """Return the layer without these ids and without annotations that refer to removed ones.

    An equivalence loses removed members, and is removed if fewer than two are left; an event loses
    removed arguments, and is removed with its trigger.
    """
    removed = set(ids)
    while dependents := {a.id for a in layer.annotations() if _depends_on(a, removed)} - removed:
        removed |= dependents
    return Layer(
        layer.name,
        tuple(span for span in layer.spans if span.id not in removed),
        tuple(relation for relation in layer.relations if relation.id not in removed),
        tuple(
            _without_arguments(event, removed) for event in layer.events if event.id not in removed
        ),
        tuple(attribute for attribute in layer.attributes if attribute.id not in removed),
        tuple(entry for entry in layer.normalizations if entry.id not in removed),
        tuple(note for note in layer.notes if note.id not in removed),
        tuple(
            _without_members(equivalence, removed)
            for equivalence in layer.equivalences
            if equivalence.id not in removed
        ),
    )


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
