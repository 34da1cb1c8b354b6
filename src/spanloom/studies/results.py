"""The results of a study: scores by condition, compared with the same task learnt alone."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean

from spanloom.metrics.bootstrap import DocumentCounts, loads, paired_over_seeds
from spanloom.studies.comparison import Scores, holm, is_higher
from spanloom.studies.designs import JOINT, SINGLE
from spanloom.studies.row import Row, Split, own_name, primary_score
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell, StudyPlan

FEW_DOCUMENTS = 10  # with fewer there is no test of significance
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition beside its baseline, over the same seeds.

    ``gain`` is the difference of means. ``p`` is of the paired bootstrap over documents, and over
    seeds if there are several, Holm-corrected over all comparisons of the study; None where there
    are fewer than ten documents or no counts. ``direction`` is "higher", "lower" or "" by means and
    deviations (Changpinyo et al. 2018, section 3.2); with one seed always "".
    """

    baseline: Scores
    gain: float
    p: float | None
    direction: str

    @property
    def arrow(self) -> str:
        """An arrow up or down where the difference is significant, else nothing."""
        if self.p is None or self.p >= SIGNIFICANT or not self.gain:
            return ""
        return "↑" if self.gain > 0 else "↓"


@dataclass(frozen=True, slots=True)
class Result:
    """A task under a condition: scores of all seeds, and the comparison with its baseline.

    ``own_mean`` is the mean with the task's own best weights, where others are scored;
    ``other_metrics`` are the means of all metrics but the main one.
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
    own_mean: float | None = None
    best_updates: float | None = None
    comparison: Comparison | None = None
    other_metrics: Mapping[str, float] = field(default_factory=dict)

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
    pairs = [(cells, _result(cells, rows, study.spec.score)) for cells in groups.values()]
    compared = []
    for cells, result in pairs:
        baseline = _baseline(cells[0], [other for other, _ in pairs])
        if baseline is not None and _source(cells[0]) == _source(baseline[0]):
            result = _compare(result, cells, baseline, rows, study)
        compared.append(result)
    return _correct_p_values(compared)


def _source(cell: Cell) -> tuple[str, str]:
    """Return corpus and layer of a cell's task: scores on different ones cannot be compared."""
    task = cell.job.recipe["tasks"][own_name(cell.task)]
    return task["data"], task["layer"]


@dataclass(frozen=True, slots=True)
class _NoRow:
    """Stands for the row of a run that is not finished."""

    scores: Mapping[str, Mapping[Split, object]]


_NO_ROW = _NoRow({})


def _result(cells: Sequence[Cell], rows: Mapping[str, Row], split: Split) -> Result:
    """Return the result of one condition, without a comparison."""
    first = cells[0]
    job_rows = [rows[cell.job.key] for cell in cells]
    values = tuple(primary_score(row, first.task, split) for row in job_rows)
    minutes = sum((row.train_cpu_minutes or 0.0) + row.other_cpu_minutes for row in job_rows)
    return Result(
        design=first.design,
        condition=first.condition,
        task=first.task,
        sharing=first.variant.sharing,
        trunk=first.variant.trunk,
        partners=first.partners,
        examples=first.examples,
        metric=next(iter(job_rows[0].scores[first.task][split].metrics)),
        seeds=tuple(cell.variant.seed for cell in cells),
        values=values,
        scores=Scores.of(values),
        cpu_minutes=minutes,
        own_mean=_own_mean(job_rows, first.task, split),
        best_updates=_mean_best_updates(job_rows, first.task),
        other_metrics=_other_metrics([row.scores[first.task][split].metrics for row in job_rows]),
    )


def _other_metrics(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the means over runs of all metrics but the first."""
    return {name: fmean(run[name] for run in runs) for name in [*runs[0]][1:]}


def _own_mean(job_rows: Sequence[Row], task: str, split: Split) -> float | None:
    """Return the mean of the scores with a task's own best weights, None where a row has none."""
    own = [row.own_scores.get(task, {}).get(split) for row in job_rows]
    values = [next(iter(score.metrics.values())) for score in own if score is not None]
    return fmean(values) if len(values) == len(job_rows) else None


def _mean_best_updates(rows: Sequence[Row], task: str) -> float | None:
    """Return how many of a task's own updates led to its best score on dev, the mean over seeds.

    None where a row does not say.
    """
    counts = [row.best_updates[task] for row in rows if task in row.best_updates]
    return sum(counts) / len(counts) if len(counts) == len(rows) else None


def _baseline(cell: Cell, groups: Iterable[Sequence[Cell]]) -> Sequence[Cell] | None:
    """Return the cells that a condition is compared with: the task alone, as far as possible.

    What learns from fewer examples is compared with the task alone on as many; a point of a
    grid with the run whose options it changes; a design with a label with the same design without
    one, where the study has that.
    """
    if cell.label:
        condition = cell.condition.removesuffix(f", {cell.label}")
        for others in groups:
            other = others[0]
            named = (other.design, other.condition, other.label) == (cell.design, condition, "")
            if named and other.task == cell.task and other.variant.group == cell.variant.group:
                return others
    wanted: tuple[str, int | str | None] = (SINGLE, None)
    if cell.design == SINGLE or (cell.design == "curve" and not cell.partners):
        return None
    if cell.examples is not None:
        wanted = ("curve", cell.examples)
    elif cell.design == "grid" and cell.partners:
        wanted = (JOINT, None)
    for others in groups:
        other = others[0]
        same = other.task == cell.task and other.variant.group == cell.variant.group
        if same and (other.design, other.examples) == wanted:
            if other.design != "curve" or not other.partners:
                return others
    return None


def _compare(
    result: Result,
    cells: Sequence[Cell],
    baseline: Sequence[Cell],
    rows: Mapping[str, Row],
    study: Study,
) -> Result:
    """Return a result with its comparison, over the seeds that both have."""
    seeds = {cell.variant.seed for cell in cells} & {cell.variant.seed for cell in baseline}
    if not seeds:
        return result
    split, task, k = study.spec.score, result.task, study.spec.k
    runs = [
        [rows[c.job.key] for c in side if c.variant.seed in seeds] for side in (cells, baseline)
    ]
    scores, base = (Scores.of([primary_score(row, task, split) for row in side]) for side in runs)
    direction = ""
    if len(seeds) > 1:
        higher, lower = is_higher(scores, base, k), is_higher(base, scores, k)
        direction = "higher" if higher else "lower" if lower else ""
    counts = [[_counts(row, task, split) for row in side] for side in runs]
    p = _p_value(*counts)
    return replace(result, comparison=Comparison(base, scores.mean - base.mean, p, direction))


def _counts(row: Row, task: str, split: Split) -> DocumentCounts | None:
    text = row.scores[task][split].per_document_counts
    return loads(text) if text else None


def _p_value(
    counts: Sequence[DocumentCounts | None], baseline: Sequence[DocumentCounts | None]
) -> float | None:
    """Return p, None where counts are missing or of too few documents."""
    a = [run for run in counts if run is not None]
    b = [run for run in baseline if run is not None]
    if len(a) < len(counts) or len(b) < len(baseline) or len(a[0].rows) < FEW_DOCUMENTS:
        return None
    return paired_over_seeds(a, b)


def _correct_p_values(results: Sequence[Result]) -> list[Result]:
    """Return the results with p-values corrected for their number."""
    tested = [r.comparison.p for r in results if r.comparison and r.comparison.p is not None]
    corrected = iter(holm(tested))
    return [
        replace(r, comparison=replace(r.comparison, p=next(corrected)))
        if r.comparison is not None and r.comparison.p is not None
        else r
        for r in results
    ]


def to_csv(results: Sequence[Result]) -> str:
    """Return a table of one line per result; scores are fractions."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = (
        "design condition task sharing trunk examples metric seeds mean deviation minutes updates"
    )
    further = list(dict.fromkeys(name for r in results for name in r.other_metrics))
    writer.writerow([*head.split(), "baseline", "gain", "p", "direction", "own_mean", *further])
    for r in results:
        c = r.comparison
        writer.writerow(
            [r.design, r.condition, r.task, r.sharing, r.trunk, r.examples, r.metric]
            + [" ".join(map(str, r.seeds)), f"{r.scores.mean:.6f}", f"{r.scores.deviation:.6f}"]
            + [f"{r.cpu_minutes:.1f}", "" if r.best_updates is None else f"{r.best_updates:.1f}"]
            + ([f"{c.baseline.mean:.6f}", f"{c.gain:.6f}", c.p, c.direction] if c else [""] * 4)
            + ["" if r.own_mean is None else f"{r.own_mean:.6f}"]
            + [
                f"{r.other_metrics[name]:.6f}" if name in r.other_metrics else ""
                for name in further
            ]
        )
    return stream.getvalue()


def to_json(results: Sequence[Result]) -> str:
    """Return the results as JSON."""
    return json.dumps([asdict(result) for result in results], indent=1) + "\n"


def to_text(results: Sequence[Result]) -> str:
    """Return the results as lines for a terminal, in points of 100."""
    lines = [
        (
            f"{r.task}{_group_name(r)}",
            r.condition,
            format_score(r),
            format_gain(r.comparison) if r.comparison else "",
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


def format_gain(comparison: Comparison) -> str:
    """Return the gain in points, an arrow if significant, and its p-value."""
    p = "" if comparison.p is None else f" (p {_format_p(comparison.p)})"
    direction = f", {comparison.direction}" if comparison.direction else ""
    return f"{100 * comparison.gain:+.2f}{comparison.arrow}{p}{direction}"
