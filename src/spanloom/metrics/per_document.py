"""Counts per document behind a metric, so that documents can be resampled.

Each document has one row of numbers; the metric of several documents is a function of the sum of
their rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanloom.errors import DataError
from spanloom.metrics.coreference import Coreference, PartialCounts
from spanloom.metrics.counts import Counts

Table = NDArray[np.float64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric of ``cells`` sums; ``of`` maps "... cell" to "...", 0.0 where it is undefined."""

    name: str
    cells: int
    of: Callable[[Table], Scores]


def _f1(sums: Table) -> Scores:
    """Return F1 from hits, predicted and gold."""
    sizes = sums[..., 1] + sums[..., 2]
    return np.where(sizes > 0, 2.0 * sums[..., 0] / np.maximum(sizes, 1), 0.0)


def _conll(sums: Table) -> Scores:
    """Return the mean of three F1, each from numerator and denominator of recall and precision."""
    cells = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, 4), -1, 0)
    recall_num, recall_den, precision_num, precision_den = cells
    recall = np.divide(recall_num, recall_den, out=np.zeros_like(recall_den), where=recall_den > 0)
    precision = np.divide(
        precision_num, precision_den, out=np.zeros_like(precision_den), where=precision_den > 0
    )
    denominator = recall + precision
    f1 = np.divide(
        2 * recall * precision, denominator, out=np.zeros_like(denominator), where=denominator > 0
    )
    averages: Scores = f1.mean(axis=-1)
    return averages


F1 = MetricSpec("f1", 3, _f1)
CONLL = MetricSpec("conll_f1", 12, _conll)
METRICS: Mapping[str, MetricSpec] = {metric.name: metric for metric in (F1, CONLL)}


@dataclass(frozen=True, slots=True, eq=False)
class DocumentCounts:
    """Rows of numbers per document, shape (document, cell), and the metric of their sums."""

    spec: MetricSpec
    rows: Table

    def __post_init__(self) -> None:
        """Check that each row has as many numbers as the metric needs."""
        if self.rows.ndim != 2 or self.rows.shape[1] != self.spec.cells:
            raise DataError(
                f"counts per document: {self.spec.name} needs {self.spec.cells} numbers each, "
                f"got a table of shape {self.rows.shape}"
            )

    @property
    def value(self) -> float:
        """The metric over all documents."""
        return float(self.spec.of(self.rows.sum(0)))

    def dumps(self) -> str:
        """Return the metric's name, then the documents' rows separated by ``;``."""
        lines = (" ".join(f"{number:.12g}" for number in row) for row in self.rows)
        return f"{self.spec.name}: " + "; ".join(lines)


def loads(text: str) -> DocumentCounts:
    """Read what ``dumps`` wrote; raises ``DataError``."""
    name, _, values = text.partition(": ")
    if name not in METRICS:
        raise DataError(
            f"counts per document: expected one of {', '.join(METRICS)}, got {name!r:.40}"
        )
    spec = METRICS[name]
    try:
        rows = [[float(number) for number in line.split()] for line in values.split(";") if values]
        table = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else spec.cells)
    except ValueError as error:
        raise DataError(
            f"counts per document: expected lines of numbers, got {values!r:.40}"
        ) from error
    return DocumentCounts(spec, table)


def counts_per_document(documents: Sequence[Counts]) -> DocumentCounts:
    """Return the rows behind micro F1."""
    rows = [(counts.hits, counts.predicted, counts.gold) for counts in documents]
    return DocumentCounts(F1, np.array(rows, dtype=np.float64).reshape(-1, F1.cells))


def scores_per_document(scores: Sequence[float]) -> DocumentCounts:
    """Return the rows behind a mean: each score as the hits of one predicted and one gold item."""
    rows = [(score, 1.0, 1.0) for score in scores]
    return DocumentCounts(F1, np.array(rows, dtype=np.float64).reshape(-1, F1.cells))


def clusters_per_document(documents: Sequence[Coreference]) -> DocumentCounts:
    """Return the rows behind the CoNLL average."""
    rows = [
        [number for counts in (doc.muc, doc.b_cubed, doc.ceaf_e) for number in _numbers(counts)]
        for doc in documents
    ]
    return DocumentCounts(CONLL, np.array(rows, dtype=np.float64).reshape(-1, CONLL.cells))


def _numbers(counts: PartialCounts) -> tuple[float, ...]:
    """Return numerator and denominator of recall, then of precision."""
    return counts.recall_num, counts.recall_den, counts.precision_num, counts.precision_den
