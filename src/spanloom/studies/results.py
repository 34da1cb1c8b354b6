"""The results of a study: scores by condition, compared with the same task learnt alone."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import Any, TypeVar

from spanloom.config.options import did_you_mean
from spanloom.errors import DataError
from spanloom.metrics.bootstrap import Interval
from spanloom.studies.baseline import baseline_and_control, cells_of_gains, name_of_baseline
from spanloom.studies.comparison import MeanScore, holm, is_higher
from spanloom.studies.row import Row, Split, own_name
from spanloom.studies.row_counts import (
    are_of_same_documents,
    difference_of,
    difference_of_gains,
    interval_of_mean,
)
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell, StudyPlan

SIGNIFICANT = 0.05

_Tested = TypeVar("_Tested", "Comparison", "GainDifference")

PlannedSeeds = dict[tuple[object, ...], set[int]]  # by condition, task and variant's group


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition beside its baseline.

    ``gain`` is the difference of means over all seeds of each side. ``p`` is of the paired
    bootstrap over documents, and of Student's t over seeds if there are several, Holm-corrected
    over all comparisons of the study, or over all controls; ``interval`` is the 95 % interval of
    this gain by itself. Both are None where there are fewer than ten documents or no counts.
    ``direction`` is "higher", "lower" or "" by means and deviations (Changpinyo et al. 2018,
    section 3.2); with one seed always "", and None until all seeds that the study plans for both
    sides have rows: some of them may well differ where all do not. ``against`` is the condition of
    the baseline. ``updates_to_equal`` are the task's own updates until dev was as good as the
    baseline ever was, the mean over seeds; None where that is not known, or never was.
    ``num_seeds`` is that of the side that has fewer.
    """

    against: str
    baseline: MeanScore
    gain: float
    p: float | None
    direction: str | None
    updates_to_equal: float | None = None
    num_seeds: int = 1
    interval: Interval | None = None

    @property
    def relative_gain(self) -> float | None:
        """The gain as a fraction of the baseline's mean; None where that is 0."""
        return self.gain / self.baseline.mean if self.baseline.mean else None

    @property
    def arrow(self) -> str:
        """An arrow up or down where the difference is significant, else nothing."""
        if self.p is None or self.p >= SIGNIFICANT or not self.gain:
            return ""
        return "↑" if self.gain > 0 else "↓"


@dataclass(frozen=True, slots=True)
class GainDifference:
    """How much more a condition with a label gains over its baseline than the same without one.

    ``own`` and ``other`` are the two gains. ``p`` and ``interval`` are as those of a comparison,
    corrected over all differences of gains.
    """

    own: float
    other: float
    p: float | None = None
    interval: Interval | None = None

    @property
    def difference(self) -> float:
        """The gain with the label minus that without."""
        return self.own - self.other


@dataclass(frozen=True, slots=True)
class Result:
    """A task under a condition: scores of all seeds, and the comparison with its baseline.

    ``interval`` is that of the mean, over documents, and over seeds if there are several; None
    where there are fewer than ten documents or no counts. ``metrics`` are the means of all metrics
    of the task, of which ``metric`` is reported.
    ``own_mean`` is the mean with the task's own best weights, where others are scored.
    ``control`` compares a task that went on alone, after a run of several, with the same task alone
    twice, which had as many updates, if the study has that. A study may name what to compare with.
    ``gain_difference`` compares the gain of a condition with a label with that of the same without.
    """

    design: str
    condition: str
    task: str
    sharing: str
    trunk: str
    partners: tuple[str, ...]
    examples: int | str | None
    metric: str
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    scores: MeanScore
    cpu_minutes: float
    metrics: Mapping[str, float]
    own_mean: float | None = None
    best_updates: float | None = None
    comparison: Comparison | None = None
    control: Comparison | None = None
    gain_difference: GainDifference | None = None
    label: str = ""
    new_head: bool = False
    interval: Interval | None = None

    @property
    def group(self) -> tuple[str, str]:
        """Sharing mode and trunk."""
        return self.sharing, self.trunk


def compare_conditions(study: Study, planned: StudyPlan, rows: Mapping[str, Row]) -> list[Result]:
    """Return the results of all cells that have rows, in the order of the study."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    seeds: PlannedSeeds = {}
    for cell in planned.cells:
        seeds.setdefault(_condition_of(cell), set()).add(_seed(cell))
        if study.spec.score in rows.get(cell.job.key, _NO_ROW).scores.get(cell.task, {}):
            groups.setdefault(_condition_of(cell), []).append(cell)
    compared = []
    for cells in groups.values():
        against = study.spec.against
        baseline, control = baseline_and_control(cells, groups.values(), against)
        for metric in _reported(study, cells, groups.values(), rows):
            result = _result(cells, rows, study.spec.score, metric)
            comparison = _compare(result, cells, baseline, rows, study, seeds)
            again = _compare(result, cells, control, rows, study, seeds)
            result = replace(result, comparison=comparison, control=again)
            if not against and (gains := cells_of_gains(cells, groups.values())) is not None:
                difference = _gain_difference(result, (cells, *gains), rows, study.spec.score)
                result = replace(result, gain_difference=difference)
            compared.append(result)
    return _correct_p_values(compared)


def _condition_of(cell: Cell) -> tuple[object, ...]:
    """Return what the cells of all seeds of a task under a condition have in common."""
    return cell.design, cell.condition, cell.task, cell.variant.group


def _reported(
    study: Study, cells: Sequence[Cell], groups: Iterable[Sequence[Cell]], rows: Mapping[str, Row]
) -> list[str]:
    """Return the metrics that are reported of a condition: those named, else the main one.

    Of those named it may lack some, where it has another kind of the task. Raises ``DataError`` for
    a metric that the task lacks under all conditions.
    """
    task, split = cells[0].task, study.spec.score
    own = _metrics(cells, rows, split)
    named = study.spec.metrics.get(task, tuple(own)[:1])
    if missing := [metric for metric in named if metric not in own]:
        conditions = (_metrics(others, rows, split) for others in groups if others[0].task == task)
        known = list(dict.fromkeys(chain.from_iterable(conditions)))
        for metric in missing:
            if metric not in known:
                hint = did_you_mean(metric, known)
                raise DataError(f"task {task!r} of a study: no metric {metric!r}{hint}")
    return [metric for metric in named if metric in own]


def _metrics(cells: Sequence[Cell], rows: Mapping[str, Row], split: Split) -> dict[str, float]:
    """Return the mean of each metric that all runs have, in the order of the first run."""
    runs = [rows[cell.job.key].scores[cell.task][split].metrics for cell in cells]
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: fmean(run[name] for run in runs) for name in names}


def names_of_scores(results: Iterable[Result]) -> dict[tuple[str, str], str]:
    """Return what a task's metric is called: the task, with the metric if it has several."""
    metrics: dict[str, dict[str, None]] = {}
    for result in results:
        metrics.setdefault(result.task, {})[result.metric] = None
    return {
        (task, metric): f"{task} {metric}" if len(own) > 1 else task
        for task, own in metrics.items()
        for metric in own
    }


def with_first_metrics(results: Iterable[Result]) -> list[Result]:
    """Return the results of the first metric that is reported of each task."""
    first: dict[str, str] = {}
    return [r for r in results if r.metric == first.setdefault(r.task, r.metric)]


def count_direction(comparisons: Iterable[Comparison], direction: str) -> str:
    """Return how many comparisons have a direction, nothing while all of them wait for seeds."""
    directions = [comparison.direction for comparison in comparisons]
    is_waiting = bool(directions) and all(known is None for known in directions)
    return "" if is_waiting else str(directions.count(direction))


def _source(cell: Cell) -> tuple[Any, str]:
    """Return corpus and layer of a cell's task: scores on different ones cannot be compared.

    A joined corpus is its parts.
    """
    recipe = cell.job.recipe
    task = recipe["tasks"][own_name(cell.task)]
    return recipe.get("corpora", {}).get(task["data"], task["data"]), task["layer"]


@dataclass(frozen=True, slots=True)
class _NoRow:
    """Stands for the row of a run that is not finished."""

    scores: Mapping[str, Mapping[Split, object]]


_NO_ROW = _NoRow({})


def _result(cells: Sequence[Cell], rows: Mapping[str, Row], split: Split, metric: str) -> Result:
    """Return the result of one condition, without a comparison."""
    first = cells[0]
    job_rows = [rows[cell.job.key] for cell in cells]
    values = tuple(_value(row, first.task, split, metric) for row in job_rows)
    minutes = sum((row.train_cpu_minutes or 0.0) + row.other_cpu_minutes for row in job_rows)
    return Result(
        design=first.design,
        condition=first.condition,
        task=first.task,
        sharing=first.variant.sharing,
        trunk=first.variant.trunk,
        partners=first.partners,
        examples=first.examples,
        metric=metric,
        seeds=tuple(cell.variant.seed for cell in cells),
        values=values,
        scores=MeanScore.of(values),
        cpu_minutes=minutes,
        metrics=_metrics(cells, rows, split),
        own_mean=_own_mean(job_rows, first.task, split, metric),
        best_updates=_mean_best_updates(job_rows, first.task),
        label=first.label,
        new_head=first.new_head,
        interval=interval_of_mean(job_rows, first.task, split, metric),
    )


def _value(row: Row, task: str, split: Split, metric: str) -> float:
    return row.scores[task][split].metrics[metric]


def _own_mean(job_rows: Sequence[Row], task: str, split: Split, metric: str) -> float | None:
    """Return the mean of the scores with a task's own best weights, None where a row has none."""
    own = [row.own_scores.get(task, {}).get(split) for row in job_rows]
    values = [score.metrics[metric] for score in own if score is not None]
    return fmean(values) if len(values) == len(job_rows) else None


def _mean_best_updates(rows: Sequence[Row], task: str) -> float | None:
    """Return how many of a task's own updates led to its best score on dev, the mean over seeds.

    None where a row does not say.
    """
    counts = [row.best_updates[task] for row in rows if task in row.best_updates]
    return sum(counts) / len(counts) if len(counts) == len(rows) else None


def _compare(
    result: Result,
    cells: Sequence[Cell],
    baseline: Sequence[Cell] | None,
    rows: Mapping[str, Row],
    study: Study,
    planned: PlannedSeeds,
) -> Comparison | None:
    """Return a comparison over all seeds of each side, or, where each seed has other documents,
    over those that both have.

    None without such, on other data, where the baseline lacks the metric, and of the baseline's
    own runs, as those of an oracle without helpers: they would only count among the tests.
    """
    if baseline is None or _source(cells[0]) != _source(baseline[0]):
        return None
    split, task, metric = study.spec.score, result.task, result.metric
    own, others = ({_seed(cell): rows[cell.job.key] for cell in side} for side in (cells, baseline))
    keys, base_keys = ({(_seed(cell), cell.job.key) for cell in side} for side in (cells, baseline))
    is_same = keys <= base_keys
    if is_same or metric not in _metrics(baseline, rows, split):
        return None
    common = sorted(own.keys() & others.keys())
    pairs = [(own[seed], others[seed]) for seed in common]
    on_same = are_of_same_documents([*own.values(), *others.values()], task, split, metric)
    if on_same:
        runs, base_runs = list(own.values()), list(others.values())
    elif pairs:
        runs, base_runs = map(list, zip(*pairs, strict=True))
    else:
        return None
    scores, base = (
        MeanScore.of([_value(row, task, split, metric) for row in side])
        for side in (runs, base_runs)
    )
    difference = difference_of(runs, base_runs, task, split, metric, same_documents=on_same)
    both = planned[_condition_of(cells[0])] & planned[_condition_of(baseline[0])]
    return Comparison(
        against=name_of_baseline(cells[0], baseline[0]),
        baseline=base,
        gain=scores.mean - base.mean,
        p=None if difference is None else difference.p,
        direction=_direction(scores, base, study.spec.k) if both <= {*common} else None,
        updates_to_equal=_updates_to_equal(pairs, task),
        num_seeds=min(scores.count, base.count),
        interval=None if difference is None else difference.interval,
    )


def _gain_difference(
    result: Result, sides: Sequence[Sequence[Cell]], rows: Mapping[str, Row], split: Split
) -> GainDifference | None:
    """Compare the gain of the first of four sides over the second with that of the other two.

    None where the sides have other data, or one of them lacks the metric.
    """
    task, metric = result.task, result.metric
    if any(_source(cells[0]) != _source(sides[0][0]) for cells in sides):
        return None
    if any(metric not in _metrics(cells, rows, split) for cells in sides):
        return None
    a, b, c, d = ([rows[cell.job.key] for cell in cells] for cells in sides)
    means = [fmean(_value(row, task, split, metric) for row in side) for side in (a, b, c, d)]
    known = difference_of_gains((a, b), (c, d), task, split, metric)
    return GainDifference(
        own=means[0] - means[1],
        other=means[2] - means[3],
        p=None if known is None else known.p,
        interval=None if known is None else known.interval,
    )


def _direction(scores: MeanScore, base: MeanScore, k: float) -> str:
    """Return "higher", "lower" or "" by means and deviations; of one seed, which has none, ""."""
    if min(scores.count, base.count) < 2:
        return ""
    return "higher" if is_higher(scores, base, k) else "lower" if is_higher(base, scores, k) else ""


def _seed(cell: Cell) -> int:
    return cell.variant.seed


def _updates_to_equal(pairs: Iterable[tuple[Row, Row]], task: str) -> float | None:
    """Return after how many of its updates a task was first as good on dev as the baseline's best.

    The mean over pairs of a run and its baseline; None without one, where a row does not say, or a
    run was never as good.
    """
    updates = []
    for run, base in pairs:
        goal = max((score for _, score in base.dev_curves.get(task, ())), default=math.inf)
        reached = [count for count, score in run.dev_curves.get(task, ()) if score >= goal]
        if not reached:
            return None
        updates.append(reached[0])
    return fmean(updates) if updates else None


def _correct_p_values(results: Sequence[Result]) -> list[Result]:
    """Return the results with p-values corrected for their number, of each kind by itself."""
    comparisons = _corrected([result.comparison for result in results])
    controls = _corrected([result.control for result in results])
    differences = _corrected([result.gain_difference for result in results])
    return [
        replace(result, comparison=comparison, control=control, gain_difference=difference)
        for result, comparison, control, difference in zip(
            results, comparisons, controls, differences, strict=True
        )
    ]


def _corrected(tested: Sequence[_Tested | None]) -> list[_Tested | None]:
    corrected = iter(holm([t.p for t in tested if t is not None and t.p is not None]))
    return [
        replace(t, p=next(corrected)) if t is not None and t.p is not None else t for t in tested
    ]
