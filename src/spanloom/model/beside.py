"""Predicted annotations beside those that a document has: nothing is changed, nothing doubled.

Two annotations are the same where they say the same apart from their ids. Events may refer to each
other in circles, so sameness is found by refinement: all of a kind look alike at first, and what
refers to things that look different looks different itself, until nothing new is told apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spanloom.document import (
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Relation,
    Span,
)
from spanloom.errors import DocumentError
from spanloom.formats.brat.ids import fresh_ids
from spanloom.formats.brat.layers import layer_from
from spanloom.formats.brat.references import references, renamed

_Item = tuple[str, str]  # whose it is ("old" or "new"), and its id
_Looks = dict[_Item, int]

_LETTERS: dict[type[Annotation], str] = {
    Span: "T",
    Relation: "R",
    Event: "E",
    Attribute: "A",
    Normalization: "N",
    Note: "#",
    Equivalence: "*",
}


def beside(document: Document, predicted: Document) -> Document:
    """Return the document with what was predicted added, under fresh ids, layer by layer.

    A predicted annotation that is there already is not added; what refers to it then refers to the
    one that is there. An id that the prediction refers to and does not hold is the document's.
    Doing so twice adds nothing. Raises ``DocumentError`` for another text or other queries.
    """
    if document.text != predicted.text:
        raise DocumentError(f"{document.name}: expected a prediction for the same text")
    asked = set(document.queries)
    for query in predicted.queries:
        if query not in asked:
            problem = f"expected answers to its own queries, got {query.id!r} {query.prompt!r:.60}"
            raise DocumentError(f"{document.name}: {problem}")
    looks = _looks({"old": document.layers, "new": predicted.layers})
    known = {looks["old", id_]: id_ for id_ in reversed(document.annotations())}
    fresh, ids = fresh_ids(document), dict[str, str]()
    added: dict[str, list[Annotation]] = {}
    for layer in predicted.layers:
        mine = added.setdefault(layer.name, [])
        for each in layer.annotations():
            look = looks["new", each.id]
            if look not in known:
                known[look] = fresh(_LETTERS[type(each)])
                mine.append(each)
            ids[each.id] = known[look]
    for name, annotations in added.items():
        document = _extended(document, name, [renamed(each, ids) for each in annotations])
    return document


def _extended(document: Document, name: str, more: list[Annotation]) -> Document:
    """The document with annotations put at the end of a layer, which is made if need be."""
    if not document.has(name):
        return document.with_layer(layer_from(name, more))
    if not more:
        return document
    whole = layer_from(name, (*document[name].annotations(), *more))
    layers = (whole if layer.name == name else layer for layer in document.layers)
    return replace(document, layers=tuple(layers))


def _looks(sides: Mapping[str, Iterable[Layer]]) -> _Looks:
    """Number the annotations of both sides so that those that say the same have one number."""
    placed = {
        (side, each.id): (layer.name, each)
        for side, layers in sides.items()
        for layer in layers
        for each in layer.annotations()
    }
    looks: _Looks = dict.fromkeys(placed, 0)
    while True:
        numbers: dict[object, int] = {}
        finer = {
            item: numbers.setdefault((layer, _says(item[0], each, looks)), len(numbers))
            for item, (layer, each) in placed.items()
        }
        if len(numbers) == len(set(looks.values())):
            return finer
        looks = finer


def _says(side: str, annotation: Annotation, looks: _Looks) -> object:
    """What an annotation says, with the looks of what it refers to in the place of ids."""
    ends = [
        looks.get((side, each), looks.get(("old", each), each)) for each in references(annotation)
    ]
    match annotation:
        case Span(label=label, fragments=fragments):
            return "span", label, tuple(sorted(fragments))
        case Event(label=label, arguments=arguments):
            filled = zip((each.role for each in arguments), map(repr, ends[1:]), strict=True)
            return "event", label, ends[0], tuple(sorted(filled))
        case Equivalence(label=label):
            return "equivalence", label, frozenset(ends)
        case _:
            blank = dict.fromkeys((annotation.id, *references(annotation)), "")
            return renamed(annotation, blank), tuple(ends)
