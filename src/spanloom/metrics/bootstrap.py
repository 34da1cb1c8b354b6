"""Confidence intervals of scores by the bootstrap (Efron and Tibshirani 1993, ch. 13).

Also significance tests for differences, by the paired bootstrap and by approximate randomisation
(``permutation``). Documents, not items, are resampled, because items of one document are not
independent. All results are a function of the counts per document and the seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanloom.errors import DataError
from spanloom.metrics.per_document import DocumentCounts, Scores

CELLS = 4_000_000  # resampled documents held in memory at once; bounds memory for 100,000 documents


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval that contains the score with the given probability."""

    low: float
    high: float
    level: float = 0.95


def interval(
    tally: DocumentCounts, *, seed: int = 0, resamples: int = 1000, level: float = 0.95
) -> Interval:
    """Return the percentile interval of a metric.

    Without documents it is 0..0. Raises ``DataError`` where ``resamples`` < 1 or ``level`` is not
    between 0 and 1.
    """
    if not 0 < level < 1:
        raise DataError(f"bootstrap: level must be between 0 and 1, got {level}")
    (scores,) = _resample([tally], seed, resamples)
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
    _check_comparable("paired bootstrap", first, second)
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
    _check_comparable("permutation", first, second)
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


def _check_comparable(name: str, first: DocumentCounts, second: DocumentCounts) -> None:
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
