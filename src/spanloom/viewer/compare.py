"""Compare gold and predicted documents: missed, spurious and nearly equal items.

Boxes and arcs are compared by content (layer, label, fragments), never by id.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from spanloom.document import Document
from spanloom.errors import DataError, DocumentError
from spanloom.viewer.marks import Arc, DrawnDocument, SpanBox, drawn_layers

Item = SpanBox | Arc
T = TypeVar("T", SpanBox, Arc)


def pair_documents(
    gold: tuple[Document, ...], predicted: tuple[Document, ...]
) -> list[tuple[Document, Document]]:
    """Return the documents of both sides by name, in the order of the gold ones.

    Raises ``DataError`` if a document has no counterpart or a name occurs twice, ``DocumentError``
    if the two texts differ.
    """
    predicted_by_name = {document.name: document for document in predicted}
    for side, documents in (("gold", gold), ("predicted", predicted)):
        repeated = [
            name for name, n in Counter(document.name for document in documents).items() if n > 1
        ]
        if repeated:
            raise DataError(
                f"{side}: expected one document of each name, got two of {repeated[0]!r}"
            )
    unpaired = sorted({document.name for document in gold} ^ set(predicted_by_name))
    if unpaired:
        side = "predicted" if unpaired[0] not in predicted_by_name else "gold"
        raise DataError(
            f"{side}: no document named {unpaired[0]!r} to stand beside the other side's"
        )
    for document in gold:
        if document.text != predicted_by_name[document.name].text:
            raise DocumentError(f"{document.name}: gold and predicted have different texts")
    return [(document, predicted_by_name[document.name]) for document in gold]


def shared_layers(gold: Document, predicted: Document) -> list[str]:
    """Return the names of the layers to draw that both documents have."""
    return [layer.name for layer in drawn_layers(gold, None) if predicted.has_layer(layer.name)]


def lone_layers(gold: Document, predicted: Document) -> list[str]:
    """Return the names of the layers to draw that only one of the documents has."""
    names = [
        {layer.name for layer in drawn_layers(document, None)} for document in (gold, predicted)
    ]
    return sorted(names[0] ^ names[1])


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    ``kind`` is ``missed`` (gold only), ``spurious`` (predicted only), ``label`` (same location,
    other label), ``attributes`` (same location and label, other caption), ``boundary`` (same label,
    overlapping extent) or ``attachment`` (an arc to the same location from another one; with the
    same label, unless its layer has at most one arc to each location, like a dependency tree).
    """

    kind: str
    gold: Item | None
    predicted: Item | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both drawings with the state of each item, the differences, and the number of equal items."""

    gold: DrawnDocument
    predicted: DrawnDocument
    differences: tuple[Difference, ...]
    equal: int


def compare(gold: DrawnDocument, predicted: DrawnDocument) -> Comparison:
    """Compare two drawings of one text; each item has at most one counterpart."""
    boxes = _compare_boxes(gold.marks, predicted.marks)
    arcs = _compare_arcs(gold, predicted)
    differences = tuple(difference for difference in (*boxes, *arcs) if difference.kind)
    equal = len(boxes) + len(arcs) - len(differences)
    gold_states = {id(difference.gold): difference.kind for difference in differences}
    predicted_states = {id(difference.predicted): difference.kind for difference in differences}
    return Comparison(
        _flag(gold, gold_states), _flag(predicted, predicted_states), differences, equal
    )


def _flag(drawn: DrawnDocument, states: Mapping[int, str]) -> DrawnDocument:
    """Return a drawing whose items have their states."""
    boxes = tuple(replace(box, state=states.get(id(box), "")) for box in drawn.marks)
    arcs = tuple(replace(arc, state=states.get(id(arc), "")) for arc in drawn.links)
    return replace(drawn, marks=boxes, links=arcs)


class _Matcher(Generic[T]):
    """Matches the items of both sides: unmatched items, in order, and the pairs so far."""

    def __init__(self, gold: Iterable[T], predicted: Iterable[T]) -> None:
        """Start with all items unmatched."""
        self.gold: dict[int, T] = {id(item): item for item in gold}
        self.predicted: dict[int, T] = {id(item): item for item in predicted}
        self.pairs: list[Difference] = []

    def match(self, kind: str, key: Callable[[T], Hashable]) -> None:
        """Pair items with equal keys, in their order."""
        unmatched: dict[Hashable, deque[T]] = defaultdict(deque)
        for item in self.predicted.values():
            unmatched[key(item)].append(item)
        for item in list(self.gold.values()):
            if candidates := unmatched.get(key(item)):
                self.pair(kind, item, candidates.popleft())

    def pair(self, kind: str, gold: T, predicted: T) -> None:
        """Add a pair and remove both items."""
        self.pairs.append(Difference(kind, gold, predicted))
        del self.gold[id(gold)], self.predicted[id(predicted)]

    def close(self) -> list[Difference]:
        """Return the pairs, and a difference for each item left without a counterpart."""
        differences = list(self.pairs)
        differences += [Difference("missed", item, None) for item in self.gold.values()]
        differences += [Difference("spurious", None, item) for item in self.predicted.values()]
        return differences


def _location(box: SpanBox) -> Hashable:
    """Return layer and sorted fragments of a box."""
    return box.layer, tuple(sorted(box.fragments))


def _compare_boxes(gold: Iterable[SpanBox], predicted: Iterable[SpanBox]) -> list[Difference]:
    """Compare boxes by location, label and caption, then without each, then by overlap."""
    matcher = _Matcher(gold, predicted)
    matcher.match("", lambda box: (box.label, box.caption, _location(box)))
    matcher.match("attributes", lambda box: (box.label, _location(box)))
    matcher.match("label", lambda box: _location(box))
    for box in list(matcher.gold.values()):
        overlaps = [
            (_overlap(box, candidate), candidate) for candidate in matcher.predicted.values()
        ]
        max_overlap, counterpart = max(overlaps, key=_overlap_size, default=(0, box))
        if max_overlap:
            matcher.pair("boundary", box, counterpart)
    return matcher.close()


def _overlap_size(overlap: tuple[int, SpanBox]) -> int:
    """Return the number of characters of an overlap."""
    return overlap[0]


def _overlap(gold: SpanBox, predicted: SpanBox) -> int:
    """Return the number of shared characters of two boxes, 0 for different labels."""
    if (gold.layer, gold.label) != (predicted.layer, predicted.label):
        return 0
    return sum(
        max(0, min(end, other_end) - max(start, other_start))
        for start, end in gold.fragments
        for other_start, other_end in predicted.fragments
    )


def _compare_arcs(gold: DrawnDocument, predicted: DrawnDocument) -> list[Difference]:
    """Compare arcs by the content of their ends; undirected arcs may be reversed."""
    ends_of = _arc_ends(gold) | _arc_ends(predicted)
    tree_layers = _tree_layers(gold, ends_of) & _tree_layers(predicted, ends_of)
    matcher = _Matcher(gold.links, predicted.links)
    matcher.match("", lambda arc: (arc.layer, arc.label, arc.caption, ends_of[id(arc)]))
    matcher.match("attributes", lambda arc: (arc.layer, arc.label, ends_of[id(arc)]))
    matcher.match("label", lambda arc: (arc.layer, ends_of[id(arc)]))
    matcher.match("attachment", lambda arc: _attachment_key(arc, ends_of[id(arc)], tree_layers))
    return matcher.close()


def _arc_ends(drawn: DrawnDocument) -> dict[int, tuple[str, str]]:
    """Return the content of the ends of each arc, by the arc's ``id()``."""
    content = {box.id: repr((box.label, _location(box))) for box in drawn.marks}
    ends_of = {}
    for arc in drawn.links:
        source, target = content[arc.source], content[arc.target]
        ends_of[id(arc)] = (source, target) if arc.directed or source < target else (target, source)
    return ends_of


def _attachment_key(arc: Arc, ends: tuple[str, str], tree_layers: Set[str]) -> Hashable:
    """Return what an arc keeps if its source changes; an undirected arc only matches itself."""
    if not arc.directed:
        return id(arc)
    return arc.layer, ends[1], None if arc.layer in tree_layers else arc.label


def _tree_layers(drawn: DrawnDocument, ends: Mapping[int, tuple[str, str]]) -> set[str]:
    """Return the layers with at most one arc to each location."""
    arcs_to = Counter((arc.layer, ends[id(arc)][1]) for arc in drawn.links)
    layers_with_several = {layer for (layer, _), count in arcs_to.items() if count > 1}
    return {arc.layer for arc in drawn.links} - layers_with_several
