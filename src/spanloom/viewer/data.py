"""Convert documents to the JSON that the drawing script reads (``draw/draw.js``).

::

    {"title": "…", "sides": ["gold", "predicted"],
     "layers": [{"name": "main", "shape": "spans", "analysis": "names", "color": 3, "about": "…",
                 "labels": {"person": "a person"}, …}],
     "analyses": [{"key": "names", "title": "Names", "about": "…"}],
     "documents": [{"name": "…", "text": "…", "lines": [[0, 12]], "notes": ["…"], "equal": 3,
       "sides": [{"spans": [{"id": "T1", "layer": 0, "label": "A", "fragments": [[0, 3]],
                             "color": 4, "cluster": 2, "parent": 0, "bare": true, …}],
                  "links": [{"id": "R1", "layer": 0, "label": "r", "source": 0, "target": 1, …}],
                  "loose": ["…"]}]}],
     "differences": [{"document": 0, "kind": "label", "what": "spans", "items": [4, null]}],
     "agreement": [{"layer": 0, "what": "spans", "labels": [["A", 3, 4, 2, 1]],
                    "confusions": [["A", "B", 1]]}]}

Numbers behind a label in ``agreement`` are those of gold, predicted and equal items, and of those
with other bounds or another end; null in ``confusions`` stands for nothing there. Offsets are code
points. Spans and links are identified by their indices in ``spans`` and ``links``, also in
differences. A drawing without comparison has one side without a name. ``labels`` of a layer are
the labels that are explained. A layer with ``aside`` is hidden until the reader asks for it, as is
one with a ``doubt``, which says why. Empty and default values are left out.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from spanloom.annotation.connected_spans import connected_spans
from spanloom.document import SENTENCES, Document, Fragment
from spanloom.viewer.agreement import Agreement, agreements, kind_of
from spanloom.viewer.analyses import ANALYSES, analyses_of, repeated_layers
from spanloom.viewer.compare import (
    Comparison,
    Item,
    compare,
    lone_layers,
    pair_documents,
    shared_layers,
)
from spanloom.viewer.explanations import explain, explain_layer
from spanloom.viewer.marks import Arc, DrawnDocument, SpanBox, drawn_layers, picture
from spanloom.viewer.palette import SIZE, number
from spanloom.viewer.shapes import CLUSTERS, CONSTITUENTS, DEPENDENCY, nesting, shapes_of

Json = dict[str, Any]


def drawing(
    documents: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
    doubts: Mapping[str, str] = MappingProxyType({}),
) -> Json:
    """Return documents as JSON, with one drawing each.

    ``layers`` names the layers to draw; None draws all but words and sentences, and hides those
    that repeat another one. ``doubts`` says by layer why it is hidden until the reader asks for it.
    Raises ``LayerError`` for a layer that a document does not have.
    """
    all_documents = tuple(documents)
    pictures = [picture(document, layers) for document in all_documents]
    doubted = doubts if layers is None else {}
    builder = _PageBuilder(all_documents, pictures, doubted, all_asked=layers is not None)
    document_items = []
    for document, drawn in zip(all_documents, pictures, strict=True):
        drawn_names = {layer.name for layer in drawn_layers(document, layers)}
        drawn_names.add(SENTENCES)  # as lines
        not_drawn = [layer.name for layer in document.layers if layer.name not in drawn_names]
        notes = [f"layers not drawn: {', '.join(not_drawn)}"] if not_drawn else []
        document_items.append(_document_json(document, [builder.side(document, drawn)], notes))
    return builder.to_json(title, [""], document_items)


def comparison(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> Json:
    """Return gold and predicted documents as JSON, with their differences.

    Documents are paired by name; layers that only one side has are listed and not compared. Raises
    ``DataError`` if a document has no counterpart or a name occurs twice, ``DocumentError`` if two
    texts differ, ``LayerError`` for a layer in ``layers`` that a document does not have.
    """
    pairs = pair_documents(tuple(gold), tuple(predicted))
    pictures: list[DrawnDocument] = []
    for pair in pairs:
        names = shared_layers(*pair) if layers is None else layers
        pictures += [picture(side, names) for side in pair]
    sides_in_order = [side for pair in pairs for side in pair]
    builder = _PageBuilder(sides_in_order, pictures, {}, all_asked=layers is not None)
    document_items, differences = [], []
    all_compared = []
    for index, (gold_document, predicted_document) in enumerate(pairs):
        drawn_pair = pictures[2 * index], pictures[2 * index + 1]
        compared = compare(*drawn_pair)
        all_compared.append((*drawn_pair, compared.differences))
        sides = [
            builder.side(gold_document, compared.gold),
            builder.side(predicted_document, compared.predicted),
        ]
        lone = lone_layers(gold_document, predicted_document)
        notes = [f"layers on one side only: {', '.join(lone)}"] if lone else []
        document_items.append(
            _document_json(gold_document, sides, notes) | {"equal": compared.equal}
        )
        differences += [
            {"document": index, **difference}
            for difference in _difference_json(compared, *drawn_pair)
        ]
    agreement = [
        {"layer": builder.layers[layer], "what": what, **_agreement_json(counts)}
        for (layer, what), counts in agreements(all_compared, builder.shapes).items()
    ]
    page = builder.to_json(title, ["gold", "predicted"], document_items)
    return page | {"differences": differences, "agreement": agreement}


class _PageBuilder:
    """What all documents of a page share: layers, their shapes, and colors of labels.

    If layers were requested by name, none is hidden.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        pictures: Iterable[DrawnDocument],
        doubts: Mapping[str, str],
        *,
        all_asked: bool,
    ) -> None:
        pictures = tuple(pictures)
        boxes = [box for drawn in pictures for box in drawn.marks]
        layer_names = {layer.name: None for document in documents for layer in document.layers}
        arc_layers = {arc.layer for drawn in pictures for arc in drawn.links}
        used_layers = {box.layer for box in boxes} | arc_layers
        self.layers = {
            name: index
            for index, name in enumerate(name for name in layer_names if name in used_layers)
        }
        self.shapes = shapes_of(documents)
        self.analyses = analyses_of(tuple(self.layers), self.shapes, documents)
        self.doubts = doubts
        sure = {name: key for name, key in self.analyses.items() if name not in doubts}
        self.hidden = frozenset() if all_asked else repeated_layers(sure, self.shapes, documents)
        self.labels: dict[str, set[str]] = {name: set() for name in self.layers}
        for drawn in pictures:
            for item in drawn.items:
                self.labels[item.layer].add(item.label)
        labels = {(box.layer, box.label) for box in boxes}
        self.single_label = {
            name for name in used_layers if sum(layer == name for layer, _ in labels) == 1
        }

    def to_json(self, title: str, sides: list[str], document_items: list[Json]) -> Json:
        """Return the JSON of the page, without differences."""
        used = {analysis.key for analysis in self.analyses.values()}
        return {
            "title": title,
            "sides": sides,
            "layers": [self._layer_json(name) for name in self.layers],
            "analyses": [asdict(analysis) for analysis in ANALYSES if analysis.key in used],
            "documents": document_items,
            "differences": [],
        }

    def _layer_json(self, name: str) -> Json:
        """Return the JSON of a layer."""
        analysis = self.analyses[name]
        labels = {label: explain(analysis.key, label) for label in sorted(self.labels[name])}
        return {
            "name": name,
            "shape": self.shapes[name],
            "analysis": analysis.key,
            "color": number(name),
            "about": explain_layer(name, analysis.about),
            "labels": _without_none(**labels),
            **_without_none(aside=name in self.hidden or None, doubt=self.doubts.get(name)),
        }

    def side(self, document: Document, drawn: DrawnDocument) -> Json:
        """Return one drawing of a document."""
        box_index = {box.id: index for index, box in enumerate(drawn.marks)}
        clusters, parents = self._cluster_numbers(document), self._parents(document)
        spans = [
            self._span_json(box, clusters.get(box.id), box_index.get(parents.get(box.id, "")))
            for box in drawn.marks
        ]
        links = [self._arc_json(arc, box_index) for arc in drawn.links]
        return {"spans": spans, "links": links, "loose": list(drawn.loose)}

    def _cluster_numbers(self, document: Document) -> dict[str, int]:
        """Return the cluster number of each clustered mention, from 1, by mention id."""
        cluster_numbers: dict[str, int] = {}
        for layer in document.layers:
            if self.shapes.get(layer.name) == CLUSTERS:
                first = max(cluster_numbers.values(), default=0) + 1
                for number, group in enumerate(connected_spans(layer), first):
                    cluster_numbers |= dict.fromkeys(group, number)
        return cluster_numbers

    def _parents(self, document: Document) -> dict[str, str]:
        """Return the parent id of each constituent, "" for the outermost ones."""
        parents: dict[str, str] = {}
        for layer in document.layers:
            if self.shapes.get(layer.name) == CONSTITUENTS:
                parent_indices = nesting(layer.spans) or []
                for span, parent_index in zip(layer.spans, parent_indices, strict=True):
                    parents[span.id] = "" if parent_index is None else layer.spans[parent_index].id
        return parents

    def _span_json(self, box: SpanBox, cluster: int | None, parent: int | None) -> Json:
        """Return the JSON of a box."""
        bare = self.shapes[box.layer] == DEPENDENCY and box.layer in self.single_label
        caption = box.caption
        if cluster is not None:
            caption = str(cluster) if box.layer in self.single_label else f"{caption} {cluster}"
        color = number(box.label) if cluster is None else (cluster - 1) % SIZE
        return {
            **self._common_json(box, caption),
            "fragments": [list(fragment) for fragment in box.fragments],
            "color": color,
            **_without_none(cluster=cluster, parent=parent, bare=bare or None),
        }

    def _arc_json(self, arc: Arc, box_index: Mapping[str, int]) -> Json:
        """Return the JSON of an arc."""
        return {
            **self._common_json(arc, arc.caption),
            "source": box_index[arc.source],
            "target": box_index[arc.target],
            **_without_none(undirected=not arc.directed or None),
        }

    def _common_json(self, item: Item, caption: str) -> Json:
        """Return the values that boxes and arcs have in common."""
        score = item.score if item.score is not None and math.isfinite(item.score) else None
        return {
            "id": item.id,
            "layer": self.layers[item.layer],
            "label": item.label,
            **_without_none(
                caption=caption if caption != item.label else None,
                score=score,
                about=list(item.about) or None,
                state=item.state or None,
            ),
        }


def _without_none(**values: Any) -> Json:
    """Return the values that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def _document_json(document: Document, sides: list[Json], notes: list[str]) -> Json:
    """Return the JSON of one document."""
    queries = [f"{query.id}: {query.prompt}" for query in document.queries]
    return {
        "name": document.name,
        "text": document.text,
        "lines": [list(line) for line in _line_bounds(document)],
        "notes": [*queries, *notes],
        "sides": sides,
    }


def _line_bounds(document: Document) -> Iterator[Fragment]:
    """Yield the bounds of lines without their ends; given sentences start lines too.

    Blanks before a line's first sentence are part of its line.
    """
    text = document.text
    line_starts = {
        0,
        *(offset + 1 for offset, character in enumerate(text[:-1]) if character == "\n"),
    }
    sentences = document.layer_or_empty(SENTENCES).spans
    sentence_starts = {span.start for span in sentences if span.start < len(text)}
    starts: list[int] = []
    for offset in sorted(line_starts | sentence_starts):
        if offset in line_starts or text[starts[-1] : offset].strip():
            starts.append(offset)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if text[start:end].endswith("\n"):
            end -= 2 if text[start:end].endswith("\r\n") else 1
        yield start, end


def _difference_json(
    comparison_result: Comparison, gold: DrawnDocument, predicted: DrawnDocument
) -> Iterator[Json]:
    """Yield the JSON of each difference."""
    indices = _item_indices(gold), _item_indices(predicted)
    for difference in comparison_result.differences:
        sides = difference.gold, difference.predicted
        item_kind = next(kind_of(item) for item in sides if item is not None)
        items = [
            index_of.get(id(side_item)) for index_of, side_item in zip(indices, sides, strict=True)
        ]
        yield {"kind": difference.kind, "what": item_kind, "items": items}


def _agreement_json(counts: Agreement) -> Json:
    """Return the JSON of an agreement, labels and confusions sorted."""
    labels = [
        [
            label,
            counts.gold[label],
            counts.predicted[label],
            counts.equal[label],
            counts.moved[label],
        ]
        for label in sorted(counts.gold | counts.predicted)
    ]
    confusions = sorted(
        ([*pair, times] for pair, times in counts.confusions.items()),
        key=lambda row: [value or "" for value in row[:2]],
    )
    return {"labels": labels, "confusions": confusions}


def _item_indices(drawn: DrawnDocument) -> dict[int, int]:
    """Return the index of each box among the boxes, and of each arc among the arcs, by ``id()``."""
    return {
        id(item): index for items in (drawn.marks, drawn.links) for index, item in enumerate(items)
    }
