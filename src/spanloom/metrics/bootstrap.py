"""How sure a score is: resampling documents with replacement (Efron and Tibshirani 1993, ch. 13).

And how sure a difference is, also by exchanging two systems' documents (``permutation``).
Documents, not items, are drawn, because items of one document are not independent. All results are
a function of the tallies and the seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanloom.errors import DataError
from spanloom.metrics.tally import Scores, Tally

CELLS = 4_000_000  # draws held in memory at once, so that 100,000 documents fit as well


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval that holds the score with the given probability."""

    low: float
    high: float
    level: float = 0.95


def interval(
    tally: Tally, *, seed: int = 0, resamples: int = 1000, level: float = 0.95
) -> Interval:
    """Return the percentile interval of a figure.

    Without documents it is 0..0. Raises ``DataError`` where ``resamples`` < 1 or ``level`` is not
    between 0 and 1.
    """
    if not 0 < level < 1:
        raise DataError(f"bootstrap: level must be between 0 and 1, got {level}")
    (scores,) = _draw([tally], seed, resamples)
    tail = (1 - level) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    return Interval(float(low), float(high), level)


def paired(first: Tally, second: Tally, *, seed: int = 0, resamples: int = 10_000) -> float:
    """Return the two-sided p-value of the difference of two systems on the same documents.

    The share of resamples whose difference lies at least as far from the observed one as that lies
    from zero (Berg-Kirkpatrick et al. 2012, section 2), with the observed one counted in, so that
    p is never 0. Raises ``DataError`` where the two differ in their figure or in length, or are
    empty.
    """
    _check("paired bootstrap", first, second)
    observed = first.value - second.value
    a, b = _draw([first, second], seed, resamples)
    far = np.abs(a - b - observed) >= abs(observed) - 1e-12
    return float((far.sum() + 1) / (resamples + 1))


def permutation(first: Tally, second: Tally, *, seed: int = 0, resamples: int = 10_000) -> float:
    """Return the two-sided p-value of the difference of two systems, by approximate randomisation.

    If the systems were alike, each document's numbers could as well be the other's (Noreen 1989;
    Yeh 2000): the share of exchanges whose difference is at least as large as the observed one.
    Where there are no more than ``resamples`` exchanges, all are tried and p is exact; else so many
    are drawn, the observed one is counted in, and p is never 0. Raises ``DataError`` as ``paired``.
    """
    _check("permutation", first, second)
    if resamples < 1:
        raise DataError(f"permutation: expected at least 1 resample, got {resamples}")
    of, one, two = first.figure.of, first.rows, second.rows
    change = two - one
    change = change[change.any(axis=1)]
    size = len(change)
    exact = size < resamples.bit_length() and 2**size <= resamples
    total = 2**size if exact else resamples
    observed = abs(first.value - second.value) - 1e-12
    generator = np.random.default_rng(seed)
    block = max(1, CELLS // max(1, size))
    far = 0
    for start in range(0, total, block):
        draws = min(block, total - start)
        swapped = _every(start, draws, size) if exact else generator.integers(2, size=(draws, size))
        moved = swapped @ change
        far += int((np.abs(of(one.sum(0) + moved) - of(two.sum(0) - moved)) >= observed).sum())
    return far / total if exact else (far + 1) / (total + 1)


def _every(start: int, count: int, size: int) -> NDArray[np.int64]:
    """Return ``count`` of all choices among ``size`` documents, a row of 0 and 1 each."""
    numbers = np.arange(start, start + count, dtype=np.int64)
    return (numbers[:, None] >> np.arange(size, dtype=np.int64)) & 1


def _check(name: str, first: Tally, second: Tally) -> None:
    if first.figure is not second.figure:
        raise DataError(
            f"{name}: expected one figure, got {first.figure.name} and {second.figure.name}"
        )
    if len(first.rows) != len(second.rows) or not len(first.rows):
        raise DataError(
            f"{name}: expected numbers of the same documents, got {len(first.rows)} and "
            f"{len(second.rows)}"
        )


def _draw(systems: list[Tally], seed: int, resamples: int) -> list[Scores]:
    """The figure of every resample for each system; the same documents are drawn for all."""
    if resamples < 1:
        raise DataError(f"bootstrap: expected at least 1 resample, got {resamples}")
    size = len(systems[0].rows)
    if not size:
        return [np.zeros(resamples) for _ in systems]
    generator = np.random.default_rng(seed)
    block = max(1, CELLS // size)
    parts: list[list[Scores]] = [[] for _ in systems]
    for start in range(0, resamples, block):
        draws = min(block, resamples - start)
        times = generator.multinomial(size, np.full(size, 1 / size), size=draws)
        for part, each in zip(parts, systems, strict=True):
            part.append(each.figure.of(times @ each.rows))
    return [np.concatenate(part) for part in parts]
