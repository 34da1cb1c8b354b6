"""Which annotations an annotation refers to, and the same annotation with other ids."""

from collections.abc import Mapping
from dataclasses import replace

from spanloom.document import (
    Annotation,
    Argument,
    Attribute,
    Equivalence,
    Event,
    Normalization,
    Note,
    Relation,
    Span,
)


def references(annotation: Annotation) -> tuple[str, ...]:
    """Return the ids it refers to, in the order written."""
    match annotation:
        case Span():
            return ()
        case Relation():
            return annotation.head, annotation.tail
        case Event():
            return annotation.trigger, *(each.target for each in annotation.arguments)
        case Equivalence():
            return annotation.members
        case _:
            return (annotation.target,)


def needs(annotation: Annotation) -> tuple[str, ...]:
    """Return the ids that must exist; a note may be about anything."""
    return () if isinstance(annotation, Note) else references(annotation)


def renamed(annotation: Annotation, ids: Mapping[str, str]) -> Annotation:
    """Return the annotation with its own id and those it refers to replaced where ``ids`` says."""
    own = ids.get(annotation.id, annotation.id)
    match annotation:
        case Span():
            return replace(annotation, id=own)
        case Relation(head=head, tail=tail):
            return replace(annotation, id=own, head=ids.get(head, head), tail=ids.get(tail, tail))
        case Event(trigger=trigger):
            filled = tuple(
                Argument(a.role, ids.get(a.target, a.target)) for a in annotation.arguments
            )
            return replace(annotation, id=own, trigger=ids.get(trigger, trigger), arguments=filled)
        case Equivalence():
            members = tuple(ids.get(each, each) for each in annotation.members)
            return replace(annotation, id=own, members=members)
        case Attribute(target=target) | Normalization(target=target) | Note(target=target):
            return replace(annotation, id=own, target=ids.get(target, target))
