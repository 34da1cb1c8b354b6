"""Spans and relations between documents and batches: what span tasks of all kinds share."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from spanloom.annotation.attributes import Values
from spanloom.annotation_columns import RelationColumns, SpanColumns, narrow
from spanloom.annotation_ids import IdRange
from spanloom.data.instances import Instance
from spanloom.document import Fragment, Layer, Relation, Span
from spanloom.tasks._base import NewId
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets
from spanloom.tokenization import Bounds, bounds_array


@dataclass(frozen=True, slots=True)
class SpanGold:
    """A document's gold annotation over its words: ``(start, end, label)`` and ``(i, j, label)``.

    Spans are sorted by start. Labels index the vocabulary, counted from 1; label 0 is a span whose
    label is unknown. What words or vocabulary cannot express is left out, so it counts as missed.
    Attribute values are those of each span and of each pair (``annotation.attributes.rows``), None
    if the task has no attributes. ``annotated_labels`` tells of "none" and each label whether it
    was annotated; None if all were.
    """

    spans: tuple[tuple[int, int, int], ...] = ()
    pairs: tuple[tuple[int, int, int], ...] = ()
    attribute_values: tuple[tuple[int, ...], ...] | None = None
    pair_attribute_values: tuple[tuple[int, ...], ...] | None = None
    annotated_labels: tuple[bool, ...] | None = None

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
        pair_rows = [
            row
            for row, (i, j, _) in enumerate(document_gold.pairs)
            if i in index_of and j in index_of
        ]
        pairs += [
            (index_of[i], index_of[j], label)
            for i, j, label in (document_gold.pairs[row] for row in pair_rows)
        ]
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
        value_ids, probs = predicted.attribute_values.tolist(), predicted.value_probs.tolist()
        names = list(values)
        for row, column in predicted.attribute_values.nonzero().tolist():
            name, value_id = names[column], value_ids[row][column] - 1
            attribute = int(self.index[row]), name, values[name][value_id], probs[row][column]
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


def fragments_of_long_sentences(
    predictions: Sequence[tuple[Instance, Any]],
) -> list[list[Fragment]]:
    """Return the character bounds of the parts of each sentence that was read in parts.

    The instances are those of one document, in text order.
    """
    if not any(instance.sentence_splits for instance, _ in predictions):
        return []
    sentences: list[list[Fragment]] = []
    for instance, _ in predictions:
        for first, end in instance.sentences:
            if first not in instance.sentence_splits:
                sentences.append([])
            sentences[-1].append((instance.words[first][0], instance.words[end - 1][1]))
    return [parts for parts in sentences if len(parts) > 1]


@dataclass(frozen=True, slots=True)
class DocumentPrediction:
    """The predictions of a document, with character offsets.

    Relations have the ids "0", "1", … until ``number_relations``. Attributes have the id of their
    span or relation, name, value and probability.
    """

    spans: SpanColumns
    relations: RelationColumns
    attributes: list[tuple[str, str, str, float]]


def to_characters(
    predictions: Sequence[tuple[Instance, InstancePrediction]], new_id: NewId
) -> DocumentPrediction:
    """Return spans sorted by bounds and label, and relations sorted by their spans."""
    parts = [prediction for _, prediction in predictions]
    labels = parts[0].labels if parts else Labels(())
    rows = _concatenate(SPAN_ROW, [part.spans for part in parts])
    starts, ends = _character_bounds(predictions, rows)
    ranks = _ranks(labels.spans)[rows["label"] - 1]
    order = np.lexsort((ranks, ends, starts))
    spans = SpanColumns(
        new_id.take("T", len(order)),
        tuple(labels.spans),
        narrow(rows["label"][order] - 1, len(labels.spans)),
        starts[order],
        ends[order],
        rows["score"][order],
    )
    index = _inverse(order)
    contents = (starts, ends, ranks, rows["score"])
    relations, relation_index = _sort_relations(parts, index, contents, spans.ids)
    attributes = [
        *_attributes(parts, "attributes", "spans", spans.ids, index),
        *_attributes(parts, "relation_attributes", "relations", relations.ids, relation_index),
    ]
    return DocumentPrediction(spans, relations, attributes)


def _sort_relations(
    parts: Sequence[InstancePrediction],
    span_index: np.ndarray,
    contents: Sequence[np.ndarray],
    span_ids: IdRange,
) -> tuple[RelationColumns, np.ndarray]:
    """Return relations sorted by the contents of head and tail, and the new index of each.

    ``span_index`` is the index in the document of each predicted span.
    """
    labels = parts[0].labels.relations if parts else ()
    rows = _concatenate(RELATION_ROW, [part.relations for part in parts])
    sizes = [len(part.relations) for part in parts]
    shift = np.repeat(_offsets([len(part.spans) for part in parts]), sizes)
    heads, tails = rows["head"] + shift, rows["tail"] + shift
    order = np.arange(0)
    if len(rows):
        ranks = _dense_ranks(contents)
        order = np.lexsort((ranks[tails], ranks[heads]))
    relations = RelationColumns(
        IdRange("", 0, len(order)),
        tuple(labels),
        narrow(rows["label"][order] - 1, len(labels)),
        span_index[heads[order]],
        span_index[tails[order]],
        span_ids,
        rows["score"][order],
    )
    return relations, _inverse(order)


def _attributes(
    parts: Sequence[InstancePrediction],
    kind: Literal["attributes", "relation_attributes"],
    owners: Literal["spans", "relations"],
    ids: IdRange,
    index: np.ndarray,
) -> Iterator[tuple[str, str, str, float]]:
    """Yield the attributes of spans or of relations with the ids of their owners."""
    first = 0
    for part in parts:
        for row, name, value, prob in getattr(part, kind):
            yield ids[int(index[first + row])], name, value, prob
        first += len(getattr(part, owners))


def _character_bounds(
    predictions: Sequence[tuple[Instance, InstancePrediction]], rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first character and the end of each span."""
    words = [bounds_array(instance.words) for instance, _ in predictions]
    sizes = [len(prediction.spans) for _, prediction in predictions]
    shift = np.repeat(_offsets([len(bounds) for bounds in words]), sizes)
    bounds = np.concatenate(words) if words else np.empty((0, 2), np.int32)
    return bounds[rows["start"] + shift, 0], bounds[rows["end"] + (shift - 1), 1]


def _concatenate(dtype: np.dtype, rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(rows) if rows else np.empty(0, dtype)


def _offsets(sizes: Sequence[int]) -> np.ndarray:
    """Return the index at which each part begins."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return ends - np.asarray(sizes, dtype=np.int64)


def _inverse(order: np.ndarray) -> np.ndarray:
    """Return the position of each index in an order."""
    positions = np.empty(len(order), dtype=np.int32)
    positions[order] = np.arange(len(order), dtype=np.int32)
    return positions


def _ranks(names: Sequence[str]) -> np.ndarray:
    """Return the alphabetical rank of each name."""
    rank_of = {name: rank for rank, name in enumerate(sorted(names))}
    return np.array([rank_of[name] for name in names], dtype=np.int32)


def _dense_ranks(keys: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rank of each row by several keys, the first deciding; equal rows share one."""
    order = np.lexsort(tuple(reversed(keys)))
    is_new = np.zeros(len(order), dtype=bool)
    for key in keys:
        is_new[1:] |= np.diff(key[order]) != 0
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.cumsum(is_new)
    return ranks


def number_relations(relations: Sequence[Relation], new_id: NewId) -> Sequence[Relation]:
    """Return the relations with new ids, in their order."""
    if isinstance(relations, RelationColumns):
        return replace(relations, ids=new_id.take("R", len(relations)))
    return tuple(replace(relation, id=new_id("R")) for relation in relations)


def spans_and_relations(
    predictions: Sequence[tuple[Instance, InstancePrediction]], new_id: NewId
) -> tuple[SpanColumns, Sequence[Relation]]:
    """Return what ``to_characters`` does, for tasks without attributes; relations have ids."""
    prediction = to_characters(predictions, new_id)
    return prediction.spans, number_relations(prediction.relations, new_id)


def expand_labels(
    spans: SpanColumns, extra: Sequence[Span], expand: Callable[[str], list[str]], new_id: NewId
) -> SpanColumns:
    """Return a span for each label that a span's label stands for, the outermost span first.

    ``extra`` are spans that come after the others with their bounds.
    """
    names = (*spans.labels, *(span.label for span in extra))
    added = [
        (row, span.start, span.end, np.nan) for row, span in enumerate(extra, len(spans.labels))
    ]
    label_ids, starts, ends, scores = (
        np.concatenate([column, np.array(values, dtype=column.dtype)])
        for column, values in zip(
            (spans.label_ids.astype(np.int32), spans.starts, spans.ends, spans.score_array),
            zip(*added, strict=True) if added else ((),) * 4,
            strict=True,
        )
    )
    order = np.lexsort((-ends, starts))
    expanded = [expand(name) for name in names]
    sizes = np.array([len(labels) for labels in expanded], dtype=np.int64)
    counts = sizes[label_ids[order]]
    rows = np.repeat(order, counts)
    nth = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
    labels = tuple(dict.fromkeys(chain.from_iterable(expanded)))
    flat = np.array([labels.index(label) for label in chain.from_iterable(expanded)], np.int64)
    expanded_ids = flat[(sizes.cumsum() - sizes)[label_ids[rows]] + nth]
    return SpanColumns(
        new_id.take("T", len(rows)),
        labels,
        narrow(expanded_ids, len(labels)),
        starts[rows],
        ends[rows],
        scores[rows],
    )
