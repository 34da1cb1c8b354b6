"""Find the ids that an annotation refers to, and replace ids in annotations."""

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
    """Return the ids that an annotation refers to, in the order written."""
    match annotation:
        case Span():
            return ()
        case Relation():
            return annotation.head, annotation.tail
        case Event():
            return annotation.trigger, *(argument.target for argument in annotation.arguments)
        case Equivalence():
            return annotation.members
        case _:
            return (annotation.target,)


def needs(annotation: Annotation) -> tuple[str, ...]:
    """Return the ids that must exist; a note may refer to a missing annotation."""
    return () if isinstance(annotation, Note) else references(annotation)


def renamed(annotation: Annotation, ids: Mapping[str, str]) -> Annotation:
    """Return the annotation with its id and those it refers to replaced by ``ids``."""
    new_id = ids.get(annotation.id, annotation.id)
    match annotation:
        case Span():
            return replace(annotation, id=new_id)
        case Relation(head=head, tail=tail):
            return replace(
                annotation, id=new_id, head=ids.get(head, head), tail=ids.get(tail, tail)
            )
        case Event(trigger=trigger):
            arguments = tuple(
                Argument(argument.role, ids.get(argument.target, argument.target))
                for argument in annotation.arguments
            )
            return replace(
                annotation, id=new_id, trigger=ids.get(trigger, trigger), arguments=arguments
            )
        case Equivalence():
            members = tuple(ids.get(member, member) for member in annotation.members)
            return replace(annotation, id=new_id, members=members)
        case Attribute(target=target) | Normalization(target=target) | Note(target=target):
            return replace(annotation, id=new_id, target=ids.get(target, target))
