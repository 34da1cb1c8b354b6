"""What resampled documents say of a metric where a system was trained with several seeds.

A mean over runs varies with documents, normally with the bootstrap's variance, and with seeds. Few
runs tell their variance badly, so that part has Student's t, of the variance that all systems have
in common; p and interval are those of the sum of both. Resampled runs would do for an interval, not
for a small p: three runs have few resamples, and none far out.

What one run scores by luck on these documents is in the variance over runs, and in the bootstrap's
variance of their mean, too, so it is taken from the latter (the interaction of a two-way layout
with random effects).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

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
    if same_documents or len(runs) == 1:
        return _contrast((runs,), (1,), 0, resamples).interval
    return _of_independent([run.value for run in runs]).interval


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
    stack = np.stack([run.rows for run in chain.from_iterable(systems)])
    num_documents = stack.shape[1]

    def draw_scores(num_draws: int) -> Scores:
        documents = _draw(rng, num_documents, num_draws)
        return metric(np.einsum("nd,rdc->nrc", documents, stack, optimize=True))

    layout = _Layout(tuple(map(len, systems)), tuple(signs))
    scores = metric(stack.sum(1))
    drawn = _draw_all(draw_scores, resamples, CELLS // num_documents)
    observed, differences = float(layout.contrast(scores)), layout.contrast(drawn)
    if not layout.freedom:
        return _of_percentiles(observed, differences)
    luck = float(layout.deviations(drawn).var(0).sum())  # of each run on these documents
    of_documents = float(differences.var(ddof=1)) - layout.of_means(luck)
    of_seeds = layout.of_means(float((layout.deviations(scores) ** 2).sum()))
    error = _Error(math.sqrt(max(0.0, of_documents)), math.sqrt(of_seeds), layout.freedom)
    return error.difference(observed)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How many runs each system has, and the sign of its mean in what is contrasted.

    Scores are of shape (..., run), the runs of the first system first.
    """

    num_runs: tuple[int, ...]
    signs: tuple[int, ...]

    @property
    def freedom(self) -> int:
        """How many degrees of freedom the variance over runs has."""
        return sum(self.num_runs) - len(self.num_runs)

    def contrast(self, scores: Scores) -> Scores:
        """Return the sum of the systems' means, each with its sign, of shape (...)."""
        weights = np.repeat(np.divide(self.signs, self.num_runs), self.num_runs)
        contrasted: Scores = scores @ weights
        return contrasted

    def deviations(self, scores: Scores) -> Scores:
        """Return how far each run is from the mean of its system, of shape (..., run)."""
        ends = np.cumsum(self.num_runs)[:-1]
        parts = np.split(scores, ends, axis=-1)
        return np.concatenate([part - part.mean(-1, keepdims=True) for part in parts], axis=-1)

    def of_means(self, squares: float) -> float:
        """Return the variance of the contrast where deviations have this sum of squares."""
        return squares / self.freedom * sum(1 / count for count in self.num_runs)


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
    if len(first) == 1:
        return _contrast((first, second), (1, -1), seed, resamples)
    return _of_independent(
        [run.value - other.value for run, other in zip(first, second, strict=True)]
    )


def _of_independent(values: Sequence[float]) -> Difference:
    """Return what is known of the mean of independent values, at least two, by Student's t."""
    deviation = float(np.std(values, ddof=1)) / math.sqrt(len(values))  # of seeds and documents
    return _Error(0.0, deviation, len(values) - 1).difference(float(np.mean(values)))


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


def _draw(rng: np.random.Generator, size: int, num_draws: int) -> Table:
    """Return how often each of ``size`` items is drawn, shape (draw, item)."""
    return rng.multinomial(size, np.full(size, 1 / size), num_draws).astype(np.float64)
