"""Spans and relations held as columns: consecutive ids, label indices, offsets, scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from spanloom.annotation_ids import IdRange
from spanloom.columns import AnnotationColumns, Item
from spanloom.document import Layer, Relation, Span
from spanloom.errors import DocumentError

SCORE_DECIMALS = 4  # of predictions
_MIN_ROWS = 64  # fewer annotations are a tuple: their objects cost less than their columns


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpanColumns(AnnotationColumns[Span]):
    """Spans of one fragment each. ``label_ids`` index ``labels``; NaN is no score."""

    ids: IdRange
    labels: tuple[str, ...]
    label_ids: Int[np.ndarray, " span"]
    starts: Int[np.ndarray, " span"]
    ends: Int[np.ndarray, " span"]
    scores: Float[np.ndarray, " span"] | None = None

    def __post_init__(self) -> None:
        """Refuse backward or negative spans, as ``Span`` does."""
        _check_lengths(self.ids, self.label_ids, self.starts, self.ends, self.scores)
        wrong = np.flatnonzero((self.starts < 0) | (self.starts > self.ends))
        if len(wrong):
            row = int(wrong[0])
            bounds = f"{self.starts[row]}..{self.ends[row]}"
            raise DocumentError(f"span {self.ids[row]!r} needs 0 <= start <= end, got {bounds}")

    @property
    def used_labels(self) -> Sequence[str]:
        """The labels that spans have, each once."""
        return _select_used(self.labels, self.label_ids)

    @property
    def max_end(self) -> int:
        """The end of the span that ends last."""
        return int(self.ends.max(initial=0))

    @property
    def score_array(self) -> Float[np.ndarray, " span"]:
        """The scores, NaN for spans without one."""
        no_scores = np.full(len(self), np.nan, np.float32)
        return no_scores if self.scores is None else self.scores

    def referred_ids(self) -> IdRange | None:
        """Spans refer to nothing."""
        return None

    def examples(self, spans: AnnotationColumns[Any] | None = None) -> Sequence[Span]:
        """Return the first span of each label."""
        return _select(self, np.unique(self.label_ids, return_index=True)[1])

    def rows(self, start: int, end: int) -> Iterator[tuple[str, str, int, int, float | None]]:
        """Yield id, label, first and last offset and score of the spans ``[start, end)``."""
        return _rows(self, self.starts, self.ends, start, end)

    def items(self, start: int, end: int) -> Iterator[Span]:
        """Yield the spans ``[start, end)``."""
        for span_id, label, first, last, score in self.rows(start, end):
            yield Span(span_id, label, ((first, last),), score)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RelationColumns(AnnotationColumns[Relation]):
    """Relations between spans of one ``SpanColumns``; ``heads`` and ``tails`` index ``end_ids``."""

    ids: IdRange
    labels: tuple[str, ...]
    label_ids: Int[np.ndarray, " relation"]
    heads: Int[np.ndarray, " relation"]
    tails: Int[np.ndarray, " relation"]
    end_ids: IdRange
    scores: Float[np.ndarray, " relation"] | None = None

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        _check_lengths(self.ids, self.label_ids, self.heads, self.tails, self.scores)

    @property
    def used_labels(self) -> Sequence[str]:
        """The labels that relations have, each once."""
        return _select_used(self.labels, self.label_ids)

    @property
    def max_end(self) -> int:
        """Relations have no offsets."""
        return 0

    def referred_ids(self) -> IdRange | None:
        """Return the ids among which those of heads and tails are."""
        return self.end_ids

    def examples(self, spans: AnnotationColumns[Any] | None = None) -> Sequence[Relation]:
        """Return the first relation of each label and, if ``spans`` has its ends, their labels."""
        columns = [self.label_ids]
        if isinstance(spans, SpanColumns):
            shift = self.end_ids.first - spans.ids.first
            columns += [spans.label_ids[ends + shift] for ends in (self.heads, self.tails)]
        return _select(self, np.unique(np.stack(columns), axis=1, return_index=True)[1])

    def rows(self, start: int, end: int) -> Iterator[tuple[str, str, str, str, float | None]]:
        """Yield id, label, ids of head and tail and score of the relations ``[start, end)``."""
        prefix, first = self.end_ids.prefix, self.end_ids.first
        for relation_id, label, head, tail, score in _rows(
            self, self.heads, self.tails, start, end
        ):
            yield relation_id, label, f"{prefix}{first + head}", f"{prefix}{first + tail}", score

    def items(self, start: int, end: int) -> Iterator[Relation]:
        """Yield the relations ``[start, end)``."""
        for relation_id, label, head, tail, score in self.rows(start, end):
            yield Relation(relation_id, label, head, tail, score=score)


def _select(columns: AnnotationColumns[Item], rows: Int[np.ndarray, " row"]) -> Sequence[Item]:
    return [columns[row] for row in sorted(rows.tolist())]


def settle(layer: Layer, name: str) -> Layer:
    """Return a layer under that name, short columns of it as tuples."""
    spans = tuple(layer.spans) if len(layer.spans) < _MIN_ROWS else layer.spans
    few_relations = len(layer.relations) < _MIN_ROWS
    relations = tuple(layer.relations) if few_relations else layer.relations
    return replace(layer, name=name, spans=spans, relations=relations)


def narrow(indices: Int[np.ndarray, " row"], num_labels: int) -> Int[np.ndarray, " row"]:
    """Return label indices in the smallest integers that hold them."""
    return indices.astype(np.min_scalar_type(max(num_labels - 1, 0)))


def _check_lengths(ids: IdRange, *columns: np.ndarray | None) -> None:
    for column in columns:
        if column is not None and len(column) != ids.count:
            raise DocumentError(f"expected {ids.count} rows in each column, got {len(column)}")


def _select_used(labels: Sequence[str], label_ids: Int[np.ndarray, " row"]) -> Sequence[str]:
    counts = np.bincount(label_ids, minlength=len(labels))
    return [label for label, count in zip(labels, counts.tolist(), strict=True) if count]


def _rows(
    columns: SpanColumns | RelationColumns,
    a: Int[np.ndarray, " row"],
    b: Int[np.ndarray, " row"],
    start: int,
    end: int,
) -> Iterator[tuple[str, str, int, int, float | None]]:
    """Yield id, label, the numbers in ``a`` and ``b``, and score (None for NaN) of some rows.

    Scores have four decimals: those behind them depend on what else is in a batch.
    """
    prefix, first = columns.ids.prefix, columns.ids.first
    ids = [f"{prefix}{number}" for number in range(first + start, first + end)]
    labels = map(columns.labels.__getitem__, columns.label_ids[start:end].tolist())
    scores: Iterator[float | None] = repeat(None)
    if columns.scores is not None:
        values = columns.scores[start:end].astype(np.float64).round(SCORE_DECIMALS).tolist()
        scores = (score if score == score else None for score in values)
    return zip(ids, labels, a[start:end].tolist(), b[start:end].tolist(), scores, strict=False)
