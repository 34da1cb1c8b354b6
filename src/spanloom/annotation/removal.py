"""Remove annotations from a layer, and what refers to them."""

from collections.abc import Iterable, Sequence, Set
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
    removed = _with_dependents(layer, ids)
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


def _with_dependents(layer: Layer, ids: Set[str]) -> set[str]:
    """Return these ids and those of all that cannot exist without them, in linear time."""
    dependents: dict[str, list[Annotation]] = {}
    num_left: dict[str, int] = {}  # members of equivalences
    for annotation in layer.annotations():
        for target in _targets(annotation):
            dependents.setdefault(target, []).append(annotation)
        if isinstance(annotation, Equivalence):
            num_left[annotation.id] = len(annotation.members)
    removed = {*ids, *(id for id, num in num_left.items() if num < 2)}
    queue = list(removed)
    while queue:
        for annotation in dependents.get(queue.pop(), ()):
            if annotation.id in num_left:
                num_left[annotation.id] -= 1
            if annotation.id not in removed and num_left.get(annotation.id, 0) < 2:
                removed.add(annotation.id)
                queue.append(annotation.id)
    return removed


def _targets(annotation: Annotation) -> Sequence[str]:
    """Return the ids that an annotation cannot exist without; an equivalence can without one."""
    match annotation:
        case Relation():
            return annotation.head, annotation.tail
        case Event():
            return (annotation.trigger,)
        case Attribute() | Normalization() | Note():
            return (annotation.target,)
        case Equivalence():
            return annotation.members
    return ()


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
