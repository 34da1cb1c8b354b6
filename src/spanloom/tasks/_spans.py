"""Gold spans and relations collated for a batch, and predictions split by instance."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, combinations, pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from spanloom.annotation.attributes import Values
from spanloom.data.instances import Instance
from spanloom.document import Layer, Span
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets
from spanloom.tokenization import Bounds


@dataclass(frozen=True, slots=True)
class SpanGold:
    """A document's gold annotation over its words: ``(start, end, label)`` and ``(i, j, label)``.

    Spans are sorted by start, pairs by ``i``. Labels index the vocabulary, counted from 1; label 0
    is a span whose label is unknown. What words or vocabulary cannot express is left out, so it
    counts as missed. Attribute values are those of each span and of each pair
    (``annotation.attributes.rows``), None if the task has no attributes. ``annotated_labels`` tells
    of "none" and each label whether it was annotated; None if all were. ``clusters`` are those of
    each span: any two spans of a cluster are a pair of label 1, which ``pairs`` need not list.
    """

    spans: tuple[tuple[int, int, int], ...] = ()
    pairs: tuple[tuple[int, int, int], ...] = ()
    attribute_values: tuple[tuple[int, ...], ...] | None = None
    pair_attribute_values: tuple[tuple[int, ...], ...] | None = None
    annotated_labels: tuple[bool, ...] | None = None
    clusters: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        """Return the number of spans to learn from."""
        return len(self.spans)


def number_spans(*spans: tuple[str, int, int]) -> tuple[Span, ...]:
    """Return spans of one fragment with the ids T1, T2, …, given as label, start and end."""
    return tuple(
        Span(f"T{row}", label, ((start, end),)) for row, (label, start, end) in enumerate(spans, 1)
    )


SPAN_ROW = np.dtype(
    [("start", np.int32), ("end", np.int32), ("label", np.int32), ("score", np.float32)]
)
RELATION_ROW = np.dtype(
    [("head", np.int32), ("tail", np.int32), ("label", np.int32), ("score", np.float32)]
)
PredictedAttribute = tuple[int, str, str, float]  # row of a span or relation, name, value, prob.


@dataclass(frozen=True, slots=True)
class Labels:
    """Names of label indices counted from 1, and the values of attributes."""

    spans: Sequence[str]
    relations: Sequence[str] = ()
    attributes: Values = field(default_factory=dict)
    relation_attributes: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstancePrediction:
    """The predictions of one instance, 16 bytes per span and per relation.

    ``spans`` are rows of ``SPAN_ROW`` (bounds in the instance's words), ``relations`` rows of
    ``RELATION_ROW`` (indices of these spans); labels index ``labels``, counted from 1. Attributes
    have the index of their span or relation.
    """

    labels: Labels
    spans: np.ndarray
    relations: np.ndarray = field(default_factory=lambda: np.empty(0, RELATION_ROW))
    attributes: Sequence[PredictedAttribute] = ()
    relation_attributes: Sequence[PredictedAttribute] = ()


def within(rows: Sequence[Any], start: Any, stop: Any) -> Sequence[Any]:
    """Return the rows from ``start`` to ``stop``; rows ascend."""
    return rows[bisect_left(rows, start) : bisect_left(rows, stop)]


def word_bounds(layer: Layer, words: Sequence[Bounds]) -> dict[str, Bounds]:
    """Return the word bounds of spans of one fragment whose ends are word ends, by id."""
    first_word = {start: row for row, (start, _) in enumerate(words)}
    end_word = {end: row for row, (_, end) in enumerate(words, 1)}
    bounds = {}
    for span in layer.spans:
        if len(span.fragments) == 1:
            a, b = first_word.get(span.start), end_word.get(span.end)
            if a is not None and b is not None and a < b:
                bounds[span.id] = (a, b)
    return bounds


def collate_gold(instances: Sequence[Instance], gold: Mapping[int, SpanGold]) -> SpanTargets:
    """Collate the gold of a batch of instances; indices refer to the batch's flat word list.

    A span that leaves its instance is left out, with its relations.
    """
    bounds: list[tuple[int, int]] = []
    labels: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    values: list[tuple[int, ...]] = []
    pair_values: list[tuple[int, ...]] = []
    bases = accumulate((len(instance.tokens) for instance in instances), initial=0)
    for base, instance in zip(bases, instances, strict=False):
        document_gold = gold[instance.document]
        spans, end = document_gold.spans, instance.first_word + len(instance.tokens)
        first = bisect_left(spans, (instance.first_word,))
        last = bisect_left(spans, (end,))
        rows = [row for row in range(first, last) if spans[row][1] <= end]
        index_of = {row: len(bounds) + n for n, row in enumerate(rows)}
        shift = base - instance.first_word
        bounds += [(spans[row][0] + shift, spans[row][1] + shift) for row in rows]
        labels += [spans[row][2] for row in rows]
        all_pairs = document_gold.pairs
        heads_inside = range(bisect_left(all_pairs, (first,)), bisect_left(all_pairs, (last,)))
        pair_rows = [
            row
            for row in heads_inside
            if all_pairs[row][0] in index_of and all_pairs[row][1] in index_of
        ]
        pairs += [
            (index_of[i], index_of[j], label)
            for i, j, label in (all_pairs[row] for row in pair_rows)
        ]
        if document_gold.clusters:
            pairs += _cluster_pairs(document_gold.clusters, index_of)
        if document_gold.attribute_values:
            values += [document_gold.attribute_values[row] for row in rows]
        if document_gold.pair_attribute_values:
            pair_values += [document_gold.pair_attribute_values[row] for row in pair_rows]
    return SpanTargets(
        torch.tensor(bounds, dtype=torch.long).reshape(-1, 2),
        torch.tensor(labels, dtype=torch.long),
        torch.tensor(pairs, dtype=torch.long).reshape(-1, 3),
        torch.tensor(values) if values else None,
        torch.tensor(pair_values) if pair_values else None,
        _label_mask(instances, gold),
    )


def _cluster_pairs(
    clusters: Sequence[Sequence[int]], index_of: Mapping[int, int]
) -> list[tuple[int, int, int]]:
    """Return the pairs of an instance's spans that share a cluster, in order.

    ``index_of`` has the rows of these spans in order. In a whole document they would be as many as
    the square of its mentions.
    """
    members: dict[int, list[int]] = {}
    for row, index in index_of.items():
        for cluster in clusters[row]:
            members.setdefault(cluster, []).append(index)
    pairs = {pair for indices in members.values() for pair in combinations(indices, 2)}
    return [(*pair, 1) for pair in sorted(pairs)]


def _label_mask(
    instances: Sequence[Instance], gold: Mapping[int, SpanGold]
) -> Bool[Tensor, "word label"] | None:
    """Return which labels were annotated in the text of each word; None if all were."""
    masks = [gold[instance.document].annotated_labels for instance in instances]
    size = max((len(mask) for mask in masks if mask is not None), default=0)
    if not size:
        return None
    rows = torch.tensor([(True,) * size if mask is None else mask for mask in masks])
    sizes = torch.tensor([len(instance.tokens) for instance in instances])
    return rows.repeat_interleave(sizes, dim=0)


@dataclass(frozen=True, slots=True)
class _Grouping:
    """Items grouped by instance, in their order: group ``i`` is ``order[starts[i]:starts[i + 1]]``.

    ``index`` is the index of each item within its group.
    """

    owner: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    index: np.ndarray

    @classmethod
    def by(cls, owner: np.ndarray, count: int) -> "_Grouping":
        """Group items by the instance that owns each, ``count`` instances in all."""
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner, np.arange(count + 1), sorter=order)
        index = np.empty(len(order), dtype=np.int64)
        index[order] = np.arange(len(order))
        return cls(owner, order, starts, index - starts[owner])

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the rows of each group."""
        grouped, starts = rows[self.order], self.starts.tolist()
        return [grouped[start:end] for start, end in pairwise(starts)]

    def attributes(
        self, predicted: PredictedSpans | PredictedRelations, values: Values
    ) -> dict[int, list[PredictedAttribute]]:
        """Return the attributes that are present, by the group of the item that has them."""
        by_group: dict[int, list[PredictedAttribute]] = {}
        if predicted.attribute_values is None or predicted.value_probs is None:
            return by_group
        present = predicted.attribute_values.nonzero()
        value_ids = predicted.attribute_values[present[:, 0], present[:, 1]].tolist()
        probs = predicted.value_probs[present[:, 0], present[:, 1]].tolist()
        names = list(values)
        for (row, column), value_id, prob in zip(present.tolist(), value_ids, probs, strict=True):
            name = names[column]
            attribute = int(self.index[row]), name, values[name][value_id - 1], prob
            by_group.setdefault(int(self.owner[row]), []).append(attribute)
        return by_group


def split_by_instance(
    instances: Sequence[Instance],
    spans: PredictedSpans,
    relations: PredictedRelations,
    labels: Labels,
) -> Iterator[InstancePrediction]:
    """Yield the spans and relations of each instance, in the order given."""
    sizes = np.array([len(instance.tokens) for instance in instances], dtype=np.int64)
    ends = sizes.cumsum()
    bounds, pairs = _to_numpy(spans.bounds), _to_numpy(relations.pairs)
    by_start = _Grouping.by(np.searchsorted(ends, bounds[:, 0], side="right"), len(sizes))
    shift = (ends - sizes)[by_start.owner]
    span_columns = bounds[:, 0] - shift, bounds[:, 1] - shift
    span_rows = _rows(SPAN_ROW, *span_columns, spans.labels, spans.scores)
    by_head = _Grouping.by(by_start.owner[pairs[:, 0]], len(sizes))
    relation_rows = _rows(
        RELATION_ROW, *by_start.index[pairs].T, relations.labels, relations.scores
    )
    attributes = by_start.attributes(spans, labels.attributes)
    relation_attributes = by_head.attributes(relations, labels.relation_attributes)
    split = by_start.split(span_rows), by_head.split(relation_rows)
    for row, (instance_spans, instance_relations) in enumerate(zip(*split, strict=True)):
        instance_attributes = attributes.get(row, ()), relation_attributes.get(row, ())
        yield InstancePrediction(labels, instance_spans, instance_relations, *instance_attributes)


def _to_numpy(column: np.ndarray | Tensor) -> np.ndarray:
    if isinstance(column, np.ndarray):
        return column
    column = column.detach().cpu()
    return (column.float() if column.is_floating_point() else column).numpy()


def _rows(dtype: np.dtype, *columns: np.ndarray | Tensor) -> np.ndarray:
    """Return columns as structured rows."""
    rows = np.empty(len(columns[0]), dtype)
    for name, column in zip(dtype.names or (), columns, strict=True):
        rows[name] = _to_numpy(column)
    return rows
