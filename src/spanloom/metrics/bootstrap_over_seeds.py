"""What resampled documents say of a metric where a system was trained with several seeds.

A difference varies with documents, normally with the bootstrap's variance, and with seeds. Few runs
tell their variance badly, so that part has Student's t, of the variance that all systems have in
common; p and interval are those of the sum of both. Resampled runs would do for an interval, not
for a small p: three runs have few resamples, and none far out.

For the interval of one mean, runs are drawn with replacement beside documents. Their distance from
their mean is widened, for n runs by the root of n / (n - 1), and by the ratio of Student's quantile
to the normal one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from spanloom.errors import DataError
from spanloom.metrics.bootstrap import (
    CELLS,
    DocumentCounts,
    Interval,
    Scores,
    Table,
    check_comparable,
    percentile_interval,
)

Runs = Sequence[DocumentCounts]  # of one system, one for each seed

_NOTHING = 1e-12  # a deviation or difference below it is rounding
_FAR = 12.0  # standard deviations, beyond which nothing of a normal distribution is left


@dataclass(frozen=True, slots=True)
class Difference:
    """What is known of a difference of two systems: its two-sided p-value, its 95 % interval."""

    p: float
    interval: Interval


def interval_over_seeds(
    runs: Sequence[DocumentCounts], *, same_documents: bool, resamples: int = 1000
) -> Interval:
    """Return the 95 % percentile interval of the mean of a metric over runs.

    ``same_documents``: each run was scored on the same ones, which are drawn for all at once.
    Raises ``DataError`` where there is no run, or a run without documents.
    """
    if not runs or not all(len(run.rows) for run in runs):
        raise DataError("interval over seeds: expected runs with documents, got none")
    rng, widening = np.random.default_rng(0), _student_widening(len(runs) - 1)
    rows = [run.rows for run in runs]
    block_size = max(1, CELLS // sum(map(len, rows)))
    means: list[Scores] = []
    for start in range(0, resamples, block_size):
        num_draws = min(block_size, resamples - start)
        weights = _draw_runs(rng, len(runs), num_draws, widening)
        if same_documents:
            documents = [_draw(rng, len(rows[0]), num_draws)] * len(runs)
        else:
            documents = [_draw(rng, len(run), num_draws) for run in rows]
        means.append(_mean_over_runs(runs[0].spec.of, weights, documents, rows))
    return percentile_interval(np.concatenate(means))


def paired_over_seeds(
    first: Runs, second: Runs, *, seed: int = 0, resamples: int = 10_000
) -> Difference:
    """Return what is known of the difference of two systems, each trained several times.

    What is compared is the mean of the metric over runs, on documents that are drawn for both at
    once. Seeds are taken to vary alike in both, so one run may stand beside several. With one run
    each p is ``bootstrap.paired``, and the interval that of percentiles. Raises ``DataError`` as
    that does, and where a system has no run.
    """
    return _contrast((first, second), (1, -1), seed, resamples)


def gains_over_seeds(
    first: tuple[Runs, Runs], second: tuple[Runs, Runs], *, seed: int = 0, resamples: int = 10_000
) -> Difference:
    """Return what is known of the difference of two gains, each of one system over another.

    All four systems are drawn as the two of ``paired_over_seeds``. Raises ``DataError`` as that.
    """
    return _contrast((*first, *second), (1, -1, -1, 1), seed, resamples)


def _contrast(
    systems: Sequence[Runs], signs: Sequence[int], seed: int, resamples: int
) -> Difference:
    """Return what is known of the sum of the systems' means, each with its sign."""
    if not all(systems):
        raise DataError("paired bootstrap: expected at least one run of each system, got none")
    for run in chain.from_iterable(systems):
        check_comparable("paired bootstrap", systems[0][0], run)
    metric = systems[0][0].spec.of
    rng = np.random.default_rng(seed)
    stacks = [np.stack([run.rows for run in runs]) for runs in systems]
    scores = [metric(stack.sum(1)) for stack in stacks]  # each of shape (run)
    observed = float(_signed_sum(signs, [of.mean() for of in scores]))
    num_documents = stacks[0].shape[1]

    def draw_differences(num_draws: int) -> Scores:
        documents = _draw(rng, num_documents, num_draws)
        means = [
            metric(np.einsum("nd,rdc->nrc", documents, stack, optimize=True)).mean(1)
            for stack in stacks
        ]
        differences: Scores = _signed_sum(signs, means)
        return differences

    drawn = _draw_all(draw_differences, resamples, CELLS // num_documents)
    freedom = sum(len(of) - 1 for of in scores)
    if not freedom:
        return _of_percentiles(observed, drawn)
    pooled = sum(float(((of - of.mean()) ** 2).sum()) for of in scores) / freedom
    of_seeds = math.sqrt(pooled * sum(1 / len(of) for of in scores))
    return _Error(float(drawn.std(ddof=1)), of_seeds, freedom).difference(observed)


def _signed_sum(signs: Sequence[int], values: Sequence[Any]) -> Any:
    return sum(sign * value for sign, value in zip(signs, values, strict=True))


def paired_by_seed(
    first: Runs, second: Runs, *, seed: int = 0, resamples: int = 10_000
) -> Difference:
    """Return what ``paired_over_seeds`` does where each run was scored on other documents.

    So it is where each seed holds out another part of train. The runs of both systems are then in
    pairs, whose differences are tested by Student's paired t. Raises ``DataError`` as
    ``bootstrap.paired``, and where a run lacks its pair.
    """
    if len(first) != len(second) or not first:
        raise DataError(
            f"paired bootstrap: expected runs in pairs, got {len(first)} and {len(second)}"
        )
    for run, other in zip(first, second, strict=True):
        check_comparable("paired bootstrap", run, other)
    gains = [run.value - other.value for run, other in zip(first, second, strict=True)]
    if len(gains) == 1:
        return _contrast((first, second), (1, -1), seed, resamples)
    deviation = float(np.std(gains, ddof=1)) / math.sqrt(len(gains))  # of seeds and documents
    return _Error(0.0, deviation, len(gains) - 1).difference(float(np.mean(gains)))


def _mean_over_runs(
    metric: Callable[[Table], Scores],
    weights: Table,
    documents: Sequence[Table],
    runs: Sequence[Table],
) -> Scores:
    """Return the mean of a metric over weighted runs, shape (draw).

    ``weights`` has shape (draw, run); drawn ``documents`` have shape (draw, document) for each run,
    whose rows have shape (document, cell).
    """
    scores = [metric(drawn @ rows) for drawn, rows in zip(documents, runs, strict=True)]
    mean: Scores = (weights * np.stack(scores, axis=1)).mean(1)
    return mean


def _draw_all(draw: Callable[[int], Scores], resamples: int, block_size: int) -> Scores:
    """Return so many draws, ``block_size`` of them at once (at least 1)."""
    block_size = max(1, block_size)
    starts = range(0, resamples, block_size)
    return np.concatenate([draw(min(block_size, resamples - start)) for start in starts])


def _of_percentiles(observed: float, drawn: Scores) -> Difference:
    """Return what drawn differences tell of the observed one, which p counts in."""
    num_extreme = int((np.abs(drawn - observed) >= abs(observed) - 1e-12).sum())
    return Difference((num_extreme + 1) / (len(drawn) + 1), percentile_interval(drawn))


@dataclass(frozen=True, slots=True)
class _Error:
    """How far a difference may be off by chance: a normal part and one of Student's t.

    ``documents`` and ``seeds`` are standard deviations; ``freedom`` are the degrees of freedom that
    the second was estimated with.
    """

    documents: float
    seeds: float
    freedom: int

    def exceeds(self, distance: float) -> float:
        """Return the probability to be at least so far off, on either side."""
        from scipy.integrate import quad
        from scipy.special import ndtr, stdtr

        if self.seeds < _NOTHING:
            return float(2 * ndtr(-distance / self.documents))
        if self.documents < _NOTHING:
            return float(2 * stdtr(self.freedom, -distance / self.seeds))

        def density(z: float) -> float:
            normal = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            rest = (self.documents * z - distance) / self.seeds
            return normal * float(stdtr(self.freedom, rest))

        edge = min(distance / self.documents, _FAR)  # where seeds matter least, all falls here
        below, above = (
            quad(density, *ends, limit=200)[0] for ends in ((-_FAR, edge), (edge, _FAR))
        )
        return float(min(1.0, 2 * (below + above)))

    def difference(self, observed: float) -> Difference:
        """Return what this lets say of an observed difference."""
        from scipy.optimize import brentq
        from scipy.stats import norm, t

        if max(self.documents, self.seeds) < _NOTHING:
            return Difference(float(abs(observed) < _NOTHING), Interval(observed, observed))
        far = norm.ppf(0.999) * self.documents + t.ppf(0.999, self.freedom) * self.seeds
        half = float(brentq(lambda distance: self.exceeds(distance) - 0.05, 0, far))
        return Difference(self.exceeds(abs(observed)), Interval(observed - half, observed + half))


def on_same_documents(runs: Sequence[DocumentCounts]) -> bool:
    """Return whether gold has the same numbers in all runs, document by document."""
    golds = [run.rows[:, list(run.spec.gold_cells)] for run in runs]
    return all(np.array_equal(gold, golds[0]) for gold in golds)


def _student_widening(freedom: int) -> float:
    """Return Student's quantile over the normal one, for an interval of .95; 1 without freedom."""
    from scipy.stats import norm, t

    return float(t.ppf(0.975, freedom) / norm.ppf(0.975)) if freedom else 1.0


def _draw_runs(rng: np.random.Generator, size: int, num_draws: int, widening: float) -> Table:
    """Return the weights of ``size`` drawn runs, shape (draw, run); their distance from 1 is wide.

    Weights may be below 0; their sum is ``size``.
    """
    if size == 1:
        return np.ones((num_draws, 1))
    wide: Table = 1 + widening * (size / (size - 1)) ** 0.5 * (_draw(rng, size, num_draws) - 1)
    return wide


def _draw(rng: np.random.Generator, size: int, num_draws: int) -> Table:
    """Return how often each of ``size`` items is drawn, shape (draw, item)."""
    return rng.multinomial(size, np.full(size, 1 / size), num_draws).astype(np.float64)
