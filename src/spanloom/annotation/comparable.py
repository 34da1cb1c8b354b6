"""The content of a document, whatever the ids and the order of its annotations."""

from collections.abc import Callable
from typing import Any

from spanloom.annotation.reference_graph import references, resolve
from spanloom.document import (
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Normalization,
    Note,
    Relation,
    Span,
)

_Refer = Callable[[str], Any]  # the content that an id stands for


def comparable(document: Document) -> tuple[Any, ...]:
    """Return a document's content without ids, order and source, for comparison.

    References are replaced by the content they refer to: spans by themselves, other annotations by
    a digest. Queries keep their ids: an answer names its query by value.
    """
    annotation_of = document.annotations()
    graph = {id: references(annotation) for id, annotation in annotation_of.items()}

    def describe(id: str, digest_of: Callable[[str], str]) -> tuple[Any, ...]:
        def refer(target: str) -> tuple[Any, ...]:
            annotation = annotation_of.get(target)
            if isinstance(annotation, Span):
                return _content(annotation, refer)
            return ("?", target) if annotation is None else ("#", digest_of(target))

        return _content(annotation_of[id], refer)

    contents = resolve(graph, describe)
    layers = sorted(
        (layer.name, tuple(sorted(repr(contents[a.id]) for a in layer.annotations())))
        for layer in document.layers
    )
    queries = tuple(sorted((query.id, query.prompt) for query in document.queries))
    return (document.text, document.name, tuple(sorted(document.meta)), tuple(layers), queries)


def _content(annotation: Annotation, refer: _Refer) -> tuple[Any, ...]:
    """Return the kind of an annotation, its label, and what it refers to."""
    label = annotation.label
    match annotation:
        case Relation():
            ends = refer(annotation.head), refer(annotation.tail)
            return ("relation", label, annotation.roles, *ends)
        case Event():
            arguments = sorted((arg.role, refer(arg.target)) for arg in annotation.arguments)
            return ("event", label, refer(annotation.trigger), tuple(arguments))
        case Attribute():
            return ("attribute", label, annotation.value, refer(annotation.target))
        case Normalization():
            entry = label, annotation.resource, annotation.key, annotation.text
            return ("normalization", *entry, refer(annotation.target))
        case Note():
            return ("note", label, annotation.text, refer(annotation.target))
        case Equivalence():
            return ("equivalence", label, tuple(sorted(map(refer, annotation.members))))
    assert isinstance(annotation, Span), "all other kinds are above"
    return ("span", label, tuple(sorted(annotation.fragments)))
