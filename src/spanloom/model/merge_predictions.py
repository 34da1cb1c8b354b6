"""Predicted annotations beside those that a document has: nothing is changed, nothing doubled.

Two annotations are the same where they say the same apart from their ids, in the form in which brat
reads them again: a span is cut at line breaks, equivalences that share a member are one. Events may
refer to each other in circles, so sameness is found by refinement: all of a kind look alike at
first, and what refers to things that look different looks different itself, until nothing new is
told apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spanloom.document import (
    MAIN,
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
from spanloom.formats.brat.ann_grammar import references, renamed
from spanloom.formats.brat.layers import layer_from
from spanloom.formats.brat.offsets import Unit

_Item = tuple[str, str]  # whose it is ("old" or "new"), and its id
_Signatures = dict[_Item, int]
_Sides = Mapping[str, tuple[Layer, ...]]

_LETTERS: dict[type[Annotation], str] = {
    Span: "T",
    Relation: "R",
    Event: "E",
    Attribute: "A",
    Normalization: "N",
    Note: "#",
    Equivalence: "*",
}


def merge_predictions(
    document: Document, predicted: Document, *, plain: str | None = None
) -> Document:
    """Return the document with what was predicted added, under fresh ids, layer by layer.

    A predicted annotation that is there already is not added; what refers to it then refers to the
    one that is there. An id that the prediction refers to and does not hold is the document's.
    Doing so twice adds nothing, also where the document was written and read in between.

    ``plain`` is the layer of a model that has no other. It counts as the main layer: what is said
    there is not said again, and what is new is put there, but in documents that have that layer and
    nothing in the main one. Raises ``DocumentError`` for another text or other queries.
    """
    _check(document, predicted)
    unit = Unit(document.source.offsets if document.source else "points", document.text)
    sides = {"old": document.layers, "new": tuple(_as_read(predicted, unit))}
    twin = {plain: MAIN} if plain else {}
    looks = _signatures({**sides, "old": tuple(_as_read(document, unit))}, twin)
    known = {looks["old", id_]: id_ for id_ in reversed(document.annotations())}
    fresh = document.id_generator(_outside(predicted))
    ids = _united(sides, looks, twin)
    homes = {plain: _home(document, plain)} if plain else {}
    rooms = _Rooms(sides)
    added: dict[str, list[Annotation]] = {}
    for layer in sides["new"]:
        home = homes.get(layer.name, layer.name)
        added.setdefault(home, [])
        for each in layer.annotations():
            if each.id in ids:
                continue
            look = looks["new", each.id]
            if look not in known:
                known[look] = fresh(_LETTERS[type(each)])
                room = rooms.enter(each, known[look], home, ids)
                added.setdefault(room, []).append(each)
            ids[each.id] = known[look]
    for name, annotations in added.items():
        document = _extended(document, name, [renamed(each, ids) for each in annotations])
    return document


def _check(document: Document, predicted: Document) -> None:
    """Refuse a prediction for something else."""
    if document.text != predicted.text:
        raise DocumentError(f"{document.name}: expected a prediction for the same text")
    asked = set(document.queries)
    for query in predicted.queries:
        if query not in asked:
            problem = f"expected answers to its own queries, got {query.id!r} {query.prompt!r:.60}"
            raise DocumentError(f"{document.name}: {problem}")


def _as_read(document: Document, unit: Unit) -> Iterator[Layer]:
    """The layers with the fragments that spans have when they were written and read."""
    for layer in document.layers:
        spans = (
            replace(span, fragments=unit.read_again(document.text, span.fragments))
            for span in layer.spans
        )
        yield replace(layer, spans=tuple(spans))


def _outside(predicted: Document) -> set[str]:
    """The ids that a prediction refers to and does not hold."""
    held = predicted.annotations()
    return {each for one in held.values() for each in references(one)} - held.keys()


def _home(document: Document, plain: str) -> str:
    """The layer for what a model of one layer adds."""
    filled = {layer.name for layer in document.layers if any(layer.annotations())}
    return plain if document.has_layer(plain) and MAIN not in filled else MAIN


class _Rooms:
    """Which layer every annotation is in: an event in its trigger's, an attribute in its target's.

    That is so in brat where a prediction has them in one layer, and what it refers to may be
    there, in another one.
    """

    def __init__(self, sides: _Sides) -> None:
        self._old, self._new = (
            {each.id: layer.name for layer in sides[side] for each in layer.annotations()}
            for side in ("old", "new")
        )

    def enter(self, each: Annotation, id_: str, home: str, ids: Mapping[str, str]) -> str:
        """Return the layer for a predicted annotation, which is to have that id."""
        room = home
        if isinstance(each, Event | Attribute | Normalization | Note):
            above = references(each)[0]
            if self._new.get(above) == self._new[each.id]:
                room = self._old.get(ids.get(above, ""), home)
        self._old[id_] = room
        return room


def _united(sides: _Sides, looks: _Signatures, twin: Mapping[str, str]) -> dict[str, str]:
    """Say which predicted equivalences are part of one that is there: reading would unite them."""
    groups: dict[tuple[str, str, int], list[tuple[frozenset[int], str]]] = {}
    for layer in sides["old"]:
        for each in layer.equivalences:
            members = frozenset(_members("old", each, looks))
            for look in members:
                key = twin.get(layer.name, layer.name), each.label, look
                groups.setdefault(key, []).append((members, each.id))
    found: dict[str, str] = {}
    for layer in sides["new"]:
        for each in layer.equivalences:
            wanted = _members("new", each, looks)
            key = twin.get(layer.name, layer.name), each.label, min(wanted, default=-1)
            around = [id_ for members, id_ in groups.get(key, ()) if members >= wanted]
            if around:
                found[each.id] = around[0]
    return found


def _members(side: str, group: Equivalence, looks: _Signatures) -> set[int]:
    """The looks of what is in an equivalence; of what is nowhere none that anything has."""
    return {looks.get((side, each), looks.get(("old", each), -1)) for each in group.members}


def _extended(document: Document, name: str, more: list[Annotation]) -> Document:
    """The document with annotations put at the end of a layer, which is made if need be."""
    if not document.has_layer(name):
        return document.with_layer(layer_from(name, more))
    if not more:
        return document
    whole = layer_from(name, (*document[name].annotations(), *more))
    layers = (whole if layer.name == name else layer for layer in document.layers)
    return replace(document, layers=tuple(layers))


def _signatures(sides: _Sides, twin: Mapping[str, str]) -> _Signatures:
    """Number the annotations of both sides so that those that say the same have one number.

    ``twin``: the layer that one of another name counts as.
    """
    placed = {
        (side, each.id): (twin.get(layer.name, layer.name), each)
        for side, layers in sides.items()
        for layer in layers
        for each in layer.annotations()
    }
    looks: _Signatures = dict.fromkeys(placed, 0)
    while True:
        numbers: dict[object, int] = {}
        finer = {
            item: numbers.setdefault((layer, _says(item[0], each, looks)), len(numbers))
            for item, (layer, each) in placed.items()
        }
        if len(numbers) == len(set(looks.values())):
            return finer
        looks = finer


def _says(side: str, annotation: Annotation, looks: _Signatures) -> object:
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
