"""Predicted annotations beside those that a document has: nothing is changed, nothing doubled.

Two annotations are the same where they say the same apart from their ids, in the form in which brat
reads them again: a span is cut at line breaks, equivalences that share a member are one. Events may
refer to each other in circles, so sameness is found by refinement: all of a kind look alike at
first, and what refers to things that look different looks different itself, until nothing new is
told apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spanloom.annotation.reference_graph import references
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
from spanloom.formats.brat.ann_grammar import rename_ids
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
    """Return the document with the predicted annotations added, under new ids.

    A predicted annotation that the document already has is not added; references to it then refer
    to the existing one. An id that the prediction refers to but does not contain is the document's.
    Merging twice adds nothing, also if the document was written and read in between.

    ``plain`` is the layer of a model that has no other. It counts as the main layer: annotations of
    the main layer are not repeated, and new ones are added there, except in documents that have
    that layer and nothing in the main one. Raises ``DocumentError`` for another text or other
    queries.
    """
    _check(document, predicted)
    unit = Unit(document.source.offsets if document.source else "points", document.text)
    sides = {"old": document.layers, "new": tuple(_as_read(predicted, unit))}
    twin = {plain: MAIN} if plain else {}
    signatures = _signatures({**sides, "old": tuple(_as_read(document, unit))}, twin)
    id_of_signature = {signatures["old", id_]: id_ for id_ in reversed(document.annotations())}
    new_id = document.id_generator(_foreign_ids(predicted))
    ids = _merged_equivalences(sides, signatures, twin)
    main_layers = {plain: _layer_for_new(document, plain)} if plain else {}
    layer_choice = _LayerChoice(sides)
    added: dict[str, list[Annotation]] = {}
    for layer in sides["new"]:
        layer_of_new = main_layers.get(layer.name, layer.name)
        added.setdefault(layer_of_new, [])
        for annotation in layer.annotations():
            if annotation.id in ids:
                continue
            signature = signatures["new", annotation.id]
            if signature not in id_of_signature:
                id_of_signature[signature] = new_id(_LETTERS[type(annotation)])
                layer_name = layer_choice.enter(
                    annotation, id_of_signature[signature], layer_of_new, ids
                )
                added.setdefault(layer_name, []).append(annotation)
            ids[annotation.id] = id_of_signature[signature]
    for name, annotations in added.items():
        document = _with_annotations(
            document, name, [rename_ids(annotation, ids) for annotation in annotations]
        )
    return document


def _check(document: Document, predicted: Document) -> None:
    """Refuse a prediction for something else."""
    if document.text != predicted.text:
        raise DocumentError(f"{document.name}: expected a prediction for the same text")
    own_queries = set(document.queries)
    for query in predicted.queries:
        if query not in own_queries:
            problem = f"expected answers to its own queries, got {query.id!r} {query.prompt!r:.60}"
            raise DocumentError(f"{document.name}: {problem}")


def _as_read(document: Document, unit: Unit) -> Iterator[Layer]:
    """Yield the layers with the span fragments that they have after writing and reading."""
    for layer in document.layers:
        spans = (
            replace(span, fragments=unit.read_again(document.text, span.fragments))
            for span in layer.spans
        )
        yield replace(layer, spans=tuple(spans))


def _foreign_ids(predicted: Document) -> set[str]:
    """Return the ids that a prediction refers to but does not contain."""
    annotations = predicted.annotations()
    return {
        reference for annotation in annotations.values() for reference in references(annotation)
    } - annotations.keys()


def _layer_for_new(document: Document, plain: str) -> str:
    """Return the layer to which the annotations of a one-layer model are added."""
    filled = {layer.name for layer in document.layers if any(layer.annotations())}
    return plain if document.has_layer(plain) and MAIN not in filled else MAIN


class _LayerChoice:
    """Which layer every annotation is in: an event in its trigger's, an attribute in its target's.

    That is so in brat where a prediction has them in one layer, and what it refers to may be
    there, in another one.
    """

    def __init__(self, sides: _Sides) -> None:
        self._old, self._new = (
            {
                annotation.id: layer.name
                for layer in sides[side]
                for annotation in layer.annotations()
            }
            for side in ("old", "new")
        )

    def enter(self, annotation: Annotation, id_: str, home: str, ids: Mapping[str, str]) -> str:
        """Return the layer for a predicted annotation, which is to have that id."""
        layer = home
        if isinstance(annotation, Event | Attribute | Normalization | Note):
            above = references(annotation)[0]
            if self._new.get(above) == self._new[annotation.id]:
                layer = self._old.get(ids.get(above, ""), home)
        self._old[id_] = layer
        return layer


def _merged_equivalences(
    sides: _Sides, signatures: _Signatures, twin: Mapping[str, str]
) -> dict[str, str]:
    """Return the predicted equivalences that are part of existing ones, with the ids of those."""
    groups: dict[tuple[str, str, int], list[tuple[frozenset[int], str]]] = {}
    for layer in sides["old"]:
        for equivalence in layer.equivalences:
            members = frozenset(_members("old", equivalence, signatures))
            for signature in members:
                key = twin.get(layer.name, layer.name), equivalence.label, signature
                groups.setdefault(key, []).append((members, equivalence.id))
    merged: dict[str, str] = {}
    for layer in sides["new"]:
        for equivalence in layer.equivalences:
            members_wanted = _members("new", equivalence, signatures)
            key = (
                twin.get(layer.name, layer.name),
                equivalence.label,
                min(members_wanted, default=-1),
            )
            containing = [id_ for members, id_ in groups.get(key, ()) if members >= members_wanted]
            if containing:
                merged[equivalence.id] = containing[0]
    return merged


def _members(side: str, group: Equivalence, signatures: _Signatures) -> set[int]:
    """Return the signatures of an equivalence's members; -1 for a missing one."""
    return {
        signatures.get((side, member), signatures.get(("old", member), -1))
        for member in group.members
    }


def _with_annotations(document: Document, name: str, more: list[Annotation]) -> Document:
    """Return the document with annotations appended to a layer, which is created if missing."""
    if not document.has_layer(name):
        return document.with_layer(layer_from(name, more))
    if not more:
        return document
    extended = layer_from(name, (*document[name].annotations(), *more))
    layers = (extended if layer.name == name else layer for layer in document.layers)
    return replace(document, layers=tuple(layers))


def _signatures(sides: _Sides, twin: Mapping[str, str]) -> _Signatures:
    """Number the annotations of both sides so that equal content has equal numbers.

    ``twin`` maps a layer's name to the layer that it counts as.
    """
    placed = {
        (side, annotation.id): (twin.get(layer.name, layer.name), annotation)
        for side, layers in sides.items()
        for layer in layers
        for annotation in layer.annotations()
    }
    signatures: _Signatures = dict.fromkeys(placed, 0)
    while True:
        numbers: dict[object, int] = {}
        finer = {
            item: numbers.setdefault(
                (layer, _content(item[0], annotation, signatures)), len(numbers)
            )
            for item, (layer, annotation) in placed.items()
        }
        if len(numbers) == len(set(signatures.values())):
            return finer
        signatures = finer


def _content(side: str, annotation: Annotation, signatures: _Signatures) -> object:
    """Return the content of an annotation, with signatures in the place of ids."""
    ends = [
        signatures.get((side, reference), signatures.get(("old", reference), reference))
        for reference in references(annotation)
    ]
    match annotation:
        case Span(label=label, fragments=fragments):
            return "span", label, tuple(sorted(fragments))
        case Event(label=label, arguments=arguments):
            filled = zip(
                (reference.role for reference in arguments), map(repr, ends[1:]), strict=True
            )
            return "event", label, ends[0], tuple(sorted(filled))
        case Equivalence(label=label):
            return "equivalence", label, frozenset(ends)
        case _:
            blank = dict.fromkeys((annotation.id, *references(annotation)), "")
            return rename_ids(annotation, blank), tuple(ends)
