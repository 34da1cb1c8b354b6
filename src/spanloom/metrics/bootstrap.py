"""Counts per document behind a metric, and what resampled documents say of it.

Each document has one row of numbers; the metric of several documents is a function of the sum of
their rows. Documents are drawn with replacement (Efron and Tibshirani 1993), or exchanged between
two systems.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanloom.errors import DataError
from spanloom.metrics.coreference import Coreference
from spanloom.metrics.counts import Counts, PartialCounts
from spanloom.quantity import quantity

FEW_DOCUMENTS = 10  # with fewer there is no interval and no test of significance

Table = NDArray[np.float64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric of ``cells`` sums; ``of`` maps "... cell" to "...", 0.0 where it is undefined.

    ``gold_cells`` depend on the gold of a document alone, whatever is predicted.
    """

    name: str
    cells: int
    of: Callable[[Table], Scores]
    gold_cells: tuple[int, ...]


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


def _pearson(sums: Table) -> Scores:
    """Return Pearson's correlation from n, x, y, x², y² and xy; one below 0 becomes 0."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = np.maximum(n * xx - x * x, 0.0) * np.maximum(n * yy - y * y, 0.0)
    root = np.sqrt(spread)
    correlation = np.divide(n * xy - x * y, root, out=np.zeros_like(root), where=root > 0)
    clipped: Scores = np.clip(correlation, 0.0, 1.0)
    return clipped


F1 = MetricSpec("f1", 3, _f1, (2,))
CONLL = MetricSpec("conll_f1", 12, _conll, (1, 5, 9))
PEARSON = MetricSpec("pearson", 6, _pearson, (0, 1, 3))
METRICS: Mapping[str, MetricSpec] = {metric.name: metric for metric in (F1, CONLL, PEARSON)}


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
    return means_per_document([[score] for score in scores])


def means_per_document(documents: Sequence[Sequence[float]]) -> DocumentCounts:
    """Return the rows behind a mean over the items of all documents."""
    rows = [(sum(scores), len(scores), len(scores)) for scores in documents]
    return DocumentCounts(F1, np.array(rows, dtype=np.float64).reshape(-1, F1.cells))


def numbers_per_document(pairs: Sequence[tuple[float, float]]) -> DocumentCounts:
    """Return the rows behind Pearson's correlation of gold and predicted numbers."""
    rows = [(1.0, x, y, x * x, y * y, x * y) for x, y in pairs]
    return DocumentCounts(PEARSON, np.array(rows, dtype=np.float64).reshape(-1, PEARSON.cells))


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


CELLS = 4_000_000  # resampled documents held in memory at once; bounds memory for 100,000 documents


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval that contains the score with the given probability."""

    low: float
    high: float
    level: float = 0.95


def interval(
    document_counts: DocumentCounts, *, seed: int = 0, resamples: int = 1000, level: float = 0.95
) -> Interval:
    """Return the percentile interval of a metric.

    Without documents it is 0..0. Raises ``DataError`` where ``resamples`` < 1 or ``level`` is not
    between 0 and 1.
    """
    if not 0 < level < 1:
        raise DataError(f"bootstrap: level must be between 0 and 1, got {level}")
    (scores,) = _resample([document_counts], seed, resamples)
    return percentile_interval(scores, level)


def interval_text(bounds: Interval, num_documents: int) -> str:
    """Return an interval in points, in words; of too few documents none says anything."""
    if num_documents < FEW_DOCUMENTS:
        return f"{quantity(num_documents, 'document')}: too few for an interval"
    return f"95 % interval {100 * bounds.low:.2f} to {100 * bounds.high:.2f}"


def percentile_interval(scores: Scores, level: float = 0.95) -> Interval:
    """Return the interval that holds the middle of some scores, a share of ``level``."""
    tail = (1 - level) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    return Interval(float(low), float(high), level)


def paired(
    first: DocumentCounts, second: DocumentCounts, *, seed: int = 0, resamples: int = 10_000
) -> float:
    """Return the two-sided p-value of the difference of two systems on the same documents.

    It is the share of resamples whose difference is at least as far from the observed one as that
    is from zero (Berg-Kirkpatrick et al. 2012, section 2), with the observed one counted in, so
    that p is never 0. Raises ``DataError`` where the two differ in their metric or in length, or
    are empty.
    """
    check_comparable("paired bootstrap", first, second)
    observed = first.value - second.value
    first_scores, second_scores = _resample([first, second], seed, resamples)
    is_extreme = np.abs(first_scores - second_scores - observed) >= abs(observed) - 1e-12
    return float((is_extreme.sum() + 1) / (resamples + 1))


def permutation(
    first: DocumentCounts, second: DocumentCounts, *, seed: int = 0, resamples: int = 10_000
) -> float:
    """Return the two-sided p-value of the difference of two systems, by approximate randomisation.

    Under the null hypothesis each document's counts could be exchanged (Noreen 1989; Yeh 2000): p
    is the share of exchanges whose difference is at least as large as the observed one. If there
    are no more than ``resamples`` exchanges, all are tried and p is exact; else that many are
    drawn, the observed one is counted in, and p is never 0. Raises ``DataError`` as ``paired``.
    """
    check_comparable("permutation", first, second)
    if resamples < 1:
        raise DataError(f"permutation: expected at least 1 resample, got {resamples}")
    metric, first_rows, second_rows = first.spec.of, first.rows, second.rows
    change = second_rows - first_rows
    change = change[change.any(axis=1)]
    num_changed = len(change)
    is_exact = num_changed < resamples.bit_length() and 2**num_changed <= resamples
    total = 2**num_changed if is_exact else resamples
    observed = abs(first.value - second.value) - 1e-12
    rng = np.random.default_rng(seed)
    block_size = max(1, CELLS // max(1, num_changed))
    num_extreme = 0
    for start in range(0, total, block_size):
        num_draws = min(block_size, total - start)
        swapped = (
            _all_exchanges(start, num_draws, num_changed)
            if is_exact
            else rng.integers(2, size=(num_draws, num_changed))
        )
        moved = swapped @ change
        difference = metric(first_rows.sum(0) + moved) - metric(second_rows.sum(0) - moved)
        num_extreme += int((np.abs(difference) >= observed).sum())
    return num_extreme / total if is_exact else (num_extreme + 1) / (total + 1)


def _all_exchanges(start: int, count: int, size: int) -> NDArray[np.int64]:
    """Return ``count`` of all subsets of ``size`` documents, one row of 0 and 1 each."""
    numbers = np.arange(start, start + count, dtype=np.int64)
    return (numbers[:, None] >> np.arange(size, dtype=np.int64)) & 1


def check_comparable(name: str, first: DocumentCounts, second: DocumentCounts) -> None:
    """Raise ``DataError`` unless both have the same metric and number of documents, not 0."""
    if first.spec is not second.spec:
        raise DataError(
            f"{name}: expected one figure, got {first.spec.name} and {second.spec.name}"
        )
    if len(first.rows) != len(second.rows) or not len(first.rows):
        raise DataError(
            f"{name}: expected numbers of the same documents, got {len(first.rows)} and "
            f"{len(second.rows)}"
        )


def _resample(systems: list[DocumentCounts], seed: int, resamples: int) -> list[Scores]:
    """Return the metric of every resample for each system; all share the same resamples."""
    if resamples < 1:
        raise DataError(f"bootstrap: expected at least 1 resample, got {resamples}")
    size = len(systems[0].rows)
    if not size:
        return [np.zeros(resamples) for _ in systems]
    rng = np.random.default_rng(seed)
    block_size = max(1, CELLS // size)
    parts: list[list[Scores]] = [[] for _ in systems]
    for start in range(0, resamples, block_size):
        num_draws = min(block_size, resamples - start)
        weights = rng.multinomial(size, np.full(size, 1 / size), size=num_draws)
        for part, system in zip(parts, systems, strict=True):
            part.append(system.spec.of(weights @ system.rows))
    return [np.concatenate(part) for part in parts]
