"""Spans and relations held as columns: consecutive ids, label indices, offsets, scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from jaxtyping import Float, Int

from spanloom.annotation_ids import IdRange
from spanloom.columns import AnnotationColumns
from spanloom.document import Layer, Relation, Span
from spanloom.errors import DocumentError

_MIN_ROWS = 2048  # fewer annotations are a tuple: their objects cost less than their columns


@dataclass(frozen=True, slots=True, eq=False)
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

    def items(self, start: int, end: int) -> Iterator[Span]:
        """Yield the spans ``[start, end)``."""
        for span_id, label, first, last, score in _rows(self, self.starts, self.ends, start, end):
            yield Span(span_id, label, ((first, last),), score)


@dataclass(frozen=True, slots=True, eq=False)
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

    def items(self, start: int, end: int) -> Iterator[Relation]:
        """Yield the relations ``[start, end)``."""
        for relation_id, label, head, tail, score in _rows(
            self, self.heads, self.tails, start, end
        ):
            ends = self.end_ids[head], self.end_ids[tail]
            yield Relation(relation_id, label, *ends, score=score)


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
    """Yield id, label, the numbers in ``a`` and ``b``, and score (None for NaN) of some rows."""
    ids = map(columns.ids.__getitem__, range(start, end))
    labels = map(columns.labels.__getitem__, columns.label_ids[start:end].tolist())
    scores: Iterator[float | None] = repeat(None)
    if columns.scores is not None:
        values = columns.scores[start:end].tolist()
        scores = (score if score == score else None for score in values)
    return zip(ids, labels, a[start:end].tolist(), b[start:end].tolist(), scores, strict=False)
