"""Predictions of instances to annotation of documents: character offsets, ids, sorted order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from spanloom.annotation_columns import RelationColumns, SpanColumns, narrow
from spanloom.annotation_ids import IdRange
from spanloom.data.instances import Instance
from spanloom.document import Fragment, Relation, Span
from spanloom.tasks._base import NewId
from spanloom.tasks._spans import RELATION_ROW, SPAN_ROW, InstancePrediction, Labels
from spanloom.tokenization import bounds_array


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
