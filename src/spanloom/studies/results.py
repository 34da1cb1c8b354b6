"""The results of a study: scores by condition, compared with the same task learnt alone."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from spanloom.config.options import did_you_mean
from spanloom.errors import DataError
from spanloom.metrics.bootstrap import (
    DocumentCounts,
    loads,
    on_same_documents,
    paired_by_seed,
    paired_over_seeds,
)
from spanloom.studies.baseline import baseline_and_control, name_of_baseline
from spanloom.studies.comparison import Scores, holm, is_higher
from spanloom.studies.row import Row, Split, own_name
from spanloom.studies.spec import AGAIN, Study
from spanloom.studies.study_plan import Cell, StudyPlan

FEW_DOCUMENTS = 10  # with fewer there is no test of significance
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition beside its baseline, over the same seeds.

    ``gain`` is the difference of means. ``p`` is of the paired bootstrap over documents, and over
    seeds if there are several, Holm-corrected over all comparisons of the study; None where there
    are fewer than ten documents or no counts. ``direction`` is "higher", "lower" or "" by means and
    deviations (Changpinyo et al. 2018, section 3.2); with one seed always "". ``against`` is the
    condition of the baseline. ``updates_to_equal`` are the task's own updates until dev was as good
    as the baseline ever was, the mean over seeds; None where that is not known, or never was.
    """

    against: str
    baseline: Scores
    gain: float
    p: float | None
    direction: str
    updates_to_equal: float | None = None

    @property
    def arrow(self) -> str:
        """An arrow up or down where the difference is significant, else nothing."""
        if self.p is None or self.p >= SIGNIFICANT or not self.gain:
            return ""
        return "↑" if self.gain > 0 else "↓"


@dataclass(frozen=True, slots=True)
class Result:
    """A task under a condition: scores of all seeds, and the comparison with its baseline.

    ``metrics`` are the means of all metrics of the task, of which ``metric`` is reported.
    ``own_mean`` is the mean with the task's own best weights, where others are scored.
    ``control`` compares a task that went on alone, after a run of several, with the same task alone
    twice, which had as many updates, if the study has that. A study may name what to compare with.
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
    scores: Scores
    cpu_minutes: float
    metrics: Mapping[str, float]
    own_mean: float | None = None
    best_updates: float | None = None
    comparison: Comparison | None = None
    control: Comparison | None = None
    label: str = ""
    new_head: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """Sharing mode and trunk."""
        return self.sharing, self.trunk


def compare_conditions(study: Study, planned: StudyPlan, rows: Mapping[str, Row]) -> list[Result]:
    """Return the results of all cells that have rows, in the order of the study."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in planned.cells:
        if study.spec.score in rows.get(cell.job.key, _NO_ROW).scores.get(cell.task, {}):
            name = cell.design, cell.condition, cell.task, cell.variant.group
            groups.setdefault(name, []).append(cell)
    compared = []
    for cells in groups.values():
        against = study.spec.against
        baseline, control = baseline_and_control(cells, groups.values(), against)
        for metric in study.spec.metrics.get(cells[0].task, (None,)):
            result = _result(cells, rows, study.spec.score, metric)
            comparison = _compare(result, cells, baseline, rows, study)
            again = _compare(result, cells, control, rows, study)
            compared.append(replace(result, comparison=comparison, control=again))
    return _correct_p_values(compared)


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


def _source(cell: Cell) -> tuple[str, str]:
    """Return corpus and layer of a cell's task: scores on different ones cannot be compared."""
    task = cell.job.recipe["tasks"][own_name(cell.task)]
    return task["data"], task["layer"]


@dataclass(frozen=True, slots=True)
class _NoRow:
    """Stands for the row of a run that is not finished."""

    scores: Mapping[str, Mapping[Split, object]]


_NO_ROW = _NoRow({})


def _result(
    cells: Sequence[Cell], rows: Mapping[str, Row], split: Split, metric: str | None
) -> Result:
    """Return the result of one condition, without a comparison; by default of the main metric.

    Raises ``DataError`` for a metric that the task lacks.
    """
    first = cells[0]
    job_rows = [rows[cell.job.key] for cell in cells]
    metrics = _mean_metrics([row.scores[first.task][split].metrics for row in job_rows])
    metric = metric or next(iter(metrics))
    if metric not in metrics:
        hint = did_you_mean(metric, metrics)
        raise DataError(f"task {first.task!r} of a study: no metric {metric!r}{hint}")
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
        scores=Scores.of(values),
        cpu_minutes=minutes,
        metrics=metrics,
        own_mean=_own_mean(job_rows, first.task, split, metric),
        best_updates=_mean_best_updates(job_rows, first.task),
        label=first.label,
        new_head=first.new_head,
    )


def _mean_metrics(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric that all runs have, in the order of the first run."""
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: fmean(run[name] for run in runs) for name in names}


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
) -> Comparison | None:
    """Return a comparison over the seeds that both have; None without such, or on other data."""
    if baseline is None or _source(cells[0]) != _source(baseline[0]):
        return None
    seeds = {*map(_seed, cells)} & {*map(_seed, baseline)}
    if not seeds:
        return None
    split, task, metric, k = study.spec.score, result.task, result.metric, study.spec.k
    runs = [
        [rows[c.job.key] for c in sorted(side, key=_seed) if _seed(c) in seeds]
        for side in (cells, baseline)
    ]
    scores, base = (Scores.of([_value(row, task, split, metric) for row in side]) for side in runs)
    direction = ""
    if len(seeds) > 1:
        higher, lower = is_higher(scores, base, k), is_higher(base, scores, k)
        direction = "higher" if higher else "lower" if lower else ""
    counts = [[_counts(row, task, split, metric) for row in side] for side in runs]
    against, gain = name_of_baseline(cells[0], baseline[0]), scores.mean - base.mean
    updates = _updates_to_equal(runs[0], runs[1], task)
    return Comparison(against, base, gain, _p_value(*counts), direction, updates)


def _seed(cell: Cell) -> int:
    return cell.variant.seed


def _updates_to_equal(runs: Sequence[Row], baseline: Sequence[Row], task: str) -> float | None:
    """Return after how many of its updates a task was first as good on dev as the baseline's best.

    The mean over seeds; None where a row does not say, or a run was never as good.
    """
    updates = []
    for run, base in zip(runs, baseline, strict=True):
        goal = max((score for _, score in base.dev_curves.get(task, ())), default=math.inf)
        reached = [count for count, score in run.dev_curves.get(task, ()) if score >= goal]
        if not reached:
            return None
        updates.append(reached[0])
    return fmean(updates)


def _counts(row: Row, task: str, split: Split, metric: str) -> DocumentCounts | None:
    text = row.scores[task][split].per_document_counts.get(metric)
    return loads(text) if text else None


def _p_value(
    counts: Sequence[DocumentCounts | None], baseline: Sequence[DocumentCounts | None]
) -> float | None:
    """Return p, None where counts are missing or of too few documents.

    Both sides have the same seeds in the same order.
    """
    a = [run for run in counts if run is not None]
    b = [run for run in baseline if run is not None]
    if len(a) < len(counts) or len(b) < len(baseline) or len(a[0].rows) < FEW_DOCUMENTS:
        return None
    return paired_over_seeds(a, b) if on_same_documents(a) else paired_by_seed(a, b)


def _correct_p_values(results: Sequence[Result]) -> list[Result]:
    """Return the results with p-values corrected for their number, of either kind by itself."""
    comparisons = _corrected([result.comparison for result in results])
    controls = _corrected([result.control for result in results])
    return [
        replace(result, comparison=comparison, control=control)
        for result, comparison, control in zip(results, comparisons, controls, strict=True)
    ]


def _corrected(comparisons: Sequence[Comparison | None]) -> list[Comparison | None]:
    corrected = iter(holm([c.p for c in comparisons if c is not None and c.p is not None]))
    return [
        replace(c, p=next(corrected)) if c is not None and c.p is not None else c
        for c in comparisons
    ]


def to_csv(results: Sequence[Result]) -> str:
    """Return a table of one line per result; scores are fractions."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = (
        "design condition task sharing trunk examples metric seeds mean deviation minutes updates"
    )
    further = (
        "against baseline gain p direction updates_to_equal own_mean control control_gain control_p"
    )
    metrics = list(dict.fromkeys(name for r in results for name in r.metrics))
    writer.writerow([*head.split(), *further.split(), *metrics])
    for r in results:
        c, again = r.comparison, r.control
        writer.writerow(
            [r.design, r.condition, r.task, r.sharing, r.trunk, r.examples, r.metric]
            + [" ".join(map(str, r.seeds)), f"{r.scores.mean:.6f}", f"{r.scores.deviation:.6f}"]
            + [f"{r.cpu_minutes:.1f}", "" if r.best_updates is None else f"{r.best_updates:.1f}"]
            + ([c.against, f"{c.baseline.mean:.6f}", f"{c.gain:.6f}", c.p] if c else [""] * 4)
            + ([c.direction, c.updates_to_equal] if c else [""] * 2)
            + ["" if r.own_mean is None else f"{r.own_mean:.6f}"]
            + ([f"{again.baseline.mean:.6f}", f"{again.gain:.6f}", again.p] if again else [""] * 3)
            + [f"{r.metrics[name]:.6f}" if name in r.metrics else "" for name in metrics]
        )
    return stream.getvalue()


def to_json(results: Sequence[Result]) -> str:
    """Return the results as JSON."""
    return json.dumps([asdict(result) for result in results], indent=1) + "\n"


def to_text(results: Sequence[Result]) -> str:
    """Return the results as lines for a terminal, in points of 100."""
    names = names_of_scores(results)
    lines = [
        (
            f"{names[r.task, r.metric]}{_group_name(r)}",
            r.condition,
            format_score(r),
            "; ".join(_gains(r)),
        )
        for r in results
    ]
    widths = [max((len(line[i]) for line in lines), default=0) for i in range(3)]
    return "".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]]
        ).rstrip()
        + "\n"
        for line in lines
    )


def _gains(result: Result) -> Iterator[str]:
    if result.comparison is not None:
        yield format_gain(result.comparison)
    if result.control is not None:
        yield f"against {format_against(result.control)} {format_gain(result.control)}"


def _group_name(result: Result) -> str:
    parts = [part for part in result.group if part]
    return f" ({', '.join(parts)})" if parts else ""


def format_score(result: Result) -> str:
    """Return mean and deviation in points, as ``70.12 ± 0.31``."""
    scores = result.scores
    spread = f" ± {100 * scores.deviation:.2f}" if scores.count > 1 else ""
    return f"{100 * scores.mean:.2f}{spread}"


def _format_p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def format_against(control: Comparison) -> str:
    """Return the name of what a control compares with."""
    return "alone twice" if control.against == AGAIN else control.against


def format_gain(comparison: Comparison) -> str:
    """Return the gain in points, an arrow if significant, and its p-value."""
    p = "" if comparison.p is None else f" (p {_format_p(comparison.p)})"
    direction = f", {comparison.direction}" if comparison.direction else ""
    return f"{100 * comparison.gain:+.2f}{comparison.arrow}{p}{direction}"
