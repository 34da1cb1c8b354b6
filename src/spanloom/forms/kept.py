"""A layer without some of its annotations, and without what refers to them."""

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


def without(layer: Layer, gone: Set[str]) -> Layer:
    """Return the layer without these ids; what refers to one that is gone is gone as well.

    An equivalence loses its members, and goes when fewer than two are left; an event loses its
    arguments, and goes with its trigger.
    """
    lost = set(gone)
    while more := {each.id for each in layer.annotations() if _falls(each, lost)} - lost:
        lost |= more
    return Layer(
        layer.name,
        tuple(each for each in layer.spans if each.id not in lost),
        tuple(each for each in layer.relations if each.id not in lost),
        tuple(_filled(each, lost) for each in layer.events if each.id not in lost),
        tuple(each for each in layer.attributes if each.id not in lost),
        tuple(each for each in layer.normalizations if each.id not in lost),
        tuple(each for each in layer.notes if each.id not in lost),
        tuple(_joined(each, lost) for each in layer.equivalences if each.id not in lost),
    )


def _falls(each: Annotation, lost: Set[str]) -> bool:
    """Whether an annotation cannot stand without these ids."""
    match each:
        case Relation():
            return each.head in lost or each.tail in lost
        case Event():
            return each.trigger in lost
        case Attribute() | Normalization() | Note():
            return each.target in lost
        case Equivalence():
            return len(_joined(each, lost).members) < 2
    return False


def _filled(event: Event, lost: Set[str]) -> Event:
    kept = tuple(each for each in event.arguments if each.target not in lost)
    return replace(event, arguments=kept)


def _joined(same: Equivalence, lost: Set[str]) -> Equivalence:
    return replace(same, members=tuple(each for each in same.members if each not in lost))
