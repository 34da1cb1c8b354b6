"""Correlation of a predictor with gain over pairs of tasks, with intervals by resampling tasks.

Pairs that share a task are not independent, so a resample draws tasks with replacement; a pair
counts as often as its source times as often as its target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

LEVEL, RESAMPLES = 0.95, 1000
_FEWEST = 3  # distinct pairs of a resample
_EPSILON = 1e-12

Values = NDArray[np.float64]
Measure = Callable[[Values, Values], float | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a target: the gain of the target, in points, and what may predict it.

    The predictor ``generic`` is the median gain of the source over all other targets.
    """

    source: str
    target: str
    gain: float
    predictors: dict[str, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A correlation, None where one side does not vary, and its 95 % interval.

    The ends are percentiles of resampled tasks; None where most resamples are too poor.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's and Spearman's correlation of a predictor with gain.

    ``scope`` is a target, all pairs as they are, or all pairs after the mean of each target was
    taken off both sides.
    """

    predictor: str
    scope: str
    num_pairs: int
    pearson: Estimate
    spearman: Estimate


def pearson(x: Values, y: Values) -> float | None:
    """Return Pearson's correlation; None where one side does not vary."""
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / scale, -1.0, 1.0)) if scale > _EPSILON else None


def spearman(x: Values, y: Values) -> float | None:
    """Return Spearman's correlation: Pearson's of ranks, equal values sharing theirs."""
    return pearson(rankdata(x), rankdata(y))


def correlation_of(name: str, scope: str, pairs: Sequence[Pair], *, centered: bool) -> Correlation:
    """Return the correlation of a predictor over some pairs, ``centered`` within targets or not."""
    table = _Table(
        np.array([pair.predictors[name] for pair in pairs], dtype=np.float64),
        np.array([pair.gain for pair in pairs], dtype=np.float64),
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        centered,
    )
    return Correlation(
        name, scope, len(pairs), _estimate(table, pearson), _estimate(table, spearman)
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Predictor and gain of pairs, and the tasks of each."""

    predictor: Values
    gain: Values
    sources: list[str]
    targets: list[str]
    centered: bool

    def measure(self, measure: Measure, counts: NDArray[np.int64]) -> float | None:
        """Return a correlation where each pair counts so often; None for too few pairs."""
        if np.count_nonzero(counts) < _FEWEST:
            return None
        x, y = np.repeat(self.predictor, counts), np.repeat(self.gain, counts)
        if self.centered:
            groups = np.repeat(np.unique(self.targets, return_inverse=True)[1], counts)
            x, y = _subtract_means(x, groups), _subtract_means(y, groups)
        return measure(x, y)

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how often each pair counts in a resample of tasks.

        Pairs of a single target resample its sources.
        """
        is_single = len(set(self.targets)) == 1
        names = sorted({*self.sources, *(() if is_single else self.targets)})
        drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)))
        count = dict(zip(names, drawn.tolist(), strict=True))
        of_target = [1] * len(self.targets) if is_single else [count[t] for t in self.targets]
        counts: NDArray[np.int64] = np.array([count[s] for s in self.sources]) * of_target
        return counts


def _estimate(table: _Table, measure: Measure) -> Estimate:
    value = table.measure(measure, np.ones(len(table.gain), dtype=np.int64))
    rng = np.random.default_rng(0)
    drawn = [table.measure(measure, table.draw(rng)) for _ in range(RESAMPLES)]
    values = [resampled for resampled in drawn if resampled is not None]
    if value is None or len(values) < RESAMPLES / 2:
        return Estimate(value, None, None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Estimate(value, float(low), float(high))


def _subtract_means(values: Values, groups: NDArray[np.int64]) -> Values:
    """Return values minus the mean of their group."""
    sizes = np.bincount(groups)
    means = np.bincount(groups, values) / np.maximum(sizes, 1)
    centered: Values = values - means[groups]
    return centered
