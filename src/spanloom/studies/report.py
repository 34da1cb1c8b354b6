"""The report of a study: one HTML file that needs no other, and the numbers as CSV and JSON."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanloom.atomic_io import write_file
from spanloom.errors import PackageMissing
from spanloom.studies import figures, probing
from spanloom.studies.all_beside_pairs import all_beside_pairs
from spanloom.studies.condition_table import condition_table
from spanloom.studies.estimate import format_hours
from spanloom.studies.page import figure, page, table
from spanloom.studies.probing import Accuracy
from spanloom.studies.result_text import (
    format_gain,
    format_gain_difference,
    format_score,
    to_csv,
    to_json,
)
from spanloom.studies.results import SIGNIFICANT, Result
from spanloom.studies.row import Row
from spanloom.studies.spec import JOINT, ORACLE, Study
from spanloom.studies.study_plan import StudyPlan

_GRAPH_CAPTION = (
    "Who helps whom in pairs: blue gains, red loses. With several seeds only what is higher or "
    "lower is drawn; with one, what is not significant is dashed."
)
_RANGES_CAPTION = (
    "Relative change of the score over the task alone, as in figure 2 of Changpinyo et al. (2018): "
    "a line from the worst to the best pair with a dot for each, all tasks together, and the "
    "oracle. A task that none helps has no oracle."
)


def check_packages(feature: str) -> None:
    """Raise ``PackageMissing`` if the packages of ``spanloom[studies]`` are not installed."""
    PackageMissing.check(feature, "studies", "matplotlib", "networkx")


def write_probing(accuracies: Sequence[Accuracy], folder: Path) -> list[Path]:
    """Write tables of what a probe found, and a picture per level; return the paths.

    Raises ``StorageError``.
    """
    texts = {
        "probing.txt": probing.to_text(accuracies),
        "probing.csv": probing.to_csv(accuracies),
        "probing.json": probing.to_json(accuracies),
    }
    for name, own in probing.by_vectors(accuracies):
        texts[f"{name.replace(' ', '-')}.svg"] = figures.probing_bars(name, own)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(folder / name, text.encode())
    return [folder / name for name in texts]


def write_report(
    study: Study,
    planned: StudyPlan,
    rows: Mapping[str, Row],
    results: Sequence[Result],
    path: Path,
) -> list[Path]:
    """Write the page to ``path``, and a CSV and a JSON file beside it; return the three paths.

    Raises ``StorageError``, and ``PackageMissing`` without matplotlib or networkx.
    """
    check_packages("study report")
    texts = {
        path: _study_page(study, planned, rows, results),
        path.with_suffix(".csv"): to_csv(results),
        path.with_suffix(".json"): to_json(results),
    }
    for target, text in texts.items():
        write_file(target, text.encode())
    return list(texts)


def _study_page(
    study: Study, planned: StudyPlan, rows: Mapping[str, Row], results: Sequence[Result]
) -> str:
    """Return the page."""
    groups = list(dict.fromkeys(result.group for result in results))
    parts = [_head(study, planned, rows)]
    for group in groups:
        own = [result for result in results if result.group == group]
        name = ", ".join(part for part in group if part)
        if name:
            parts.append(f"<h2>{html.escape(name)}</h2>")
        parts += _figures(own, study.spec.against)
        parts.append(condition_table(own))
        parts += _beside_pairs(own)
        parts.append(_table(own, study.spec.against))
    parts.append(_notes(study, rows))
    if any(result.design == ORACLE for result in results):
        parts.append(_note_on_oracles(study))
    return page(f"Study: {study.name}", parts)


def _head(study: Study, planned: StudyPlan, rows: Mapping[str, Row]) -> str:
    """Return what was run."""
    jobs = planned.jobs
    minutes = sum(
        (rows[key].train_cpu_minutes or 0.0) + rows[key].other_cpu_minutes
        for key in jobs
        if key in rows
    )
    waiting = f" Not planned yet: {', '.join(planned.waiting)}." if planned.waiting else ""
    designs = ", ".join(design.name for design in study.designs)
    done = sum(key in rows for key in jobs)
    return (
        f"<p>{done} of {len(jobs)} runs, {format_hours(minutes / 60)} of one core. Designs: "
        f"{html.escape(designs)}. Base recipe: <code>{html.escape(study.spec.recipe)}</code>. "
        f"Scored on {study.spec.score}; seeds {', '.join(map(str, study.spec.seeds))}."
        f"{html.escape(waiting)}</p>"
    )


def _figures(results: Sequence[Result], against: Sequence[str]) -> list[str]:
    """Return the figures that these results allow."""
    baseline, control = _names_of_baselines(against)
    curves = figures.learning_curves(results).items()
    captions = {
        "baseline": f"Gain over {baseline}, in points; arrows: significant.",
        "all": "Gain over all tasks together, in points.",
        "unlabelled": "Gain over the same without its label, in points.",
    }
    by_kind = {kind: [r for r in results if _kind_of_baseline(r) == kind] for kind in captions}
    drawn = (
        *((figures.gain_matrix(by_kind[kind]), caption) for kind, caption in captions.items()),
        (figures.control_matrix(results), f"Gain over {control}."),
        (figures.benefit_graph(results), _GRAPH_CAPTION),
        *((svg, f"{name}: score by the number of training examples.") for name, svg in curves),
    )
    return [figure(svg, caption) for svg, caption in drawn if svg is not None]


def _beside_pairs(results: Sequence[Result]) -> list[str]:
    """Return the figure and the table of all tasks beside pairs, where there are both."""
    svg, beside = figures.gain_ranges(results), all_beside_pairs(results)
    drawn = [] if svg is None else [figure(svg, _RANGES_CAPTION)]
    return drawn if beside is None else [*drawn, beside]


def _names_of_baselines(against: Sequence[str]) -> tuple[str, str]:
    """Return what gain is over: in general, and in the column of controls."""
    if not against:
        return "the task alone", "the task alone twice"
    return against[0], against[-1] if len(against) > 1 else "nothing else"


def _kind_of_baseline(result: Result) -> str:
    """Return "all" tasks together, "unlabelled" for the same without its label, or "baseline"."""
    against = None if result.comparison is None else result.comparison.against
    if result.label and f"{against}, {result.label}" == result.condition:
        return "unlabelled"
    return "all" if against == JOINT else "baseline"


def _table(results: Sequence[Result], against: Sequence[str]) -> str:
    """Return the table of all results."""
    baseline, control = _names_of_baselines(against)
    gain_head = f"gain over {baseline}" if against else "gain"
    has_controls = any(r.control is not None for r in results)
    control_head = (f"against {control}",) if has_controls else ()
    has_gains = any(r.gain_difference is not None for r in results)
    gains_head = ("difference of gains",) if has_gains else ()
    head = (
        *("task", "condition", "metric", "score", gain_head, *control_head, *gains_head),
        *("other metrics", "CPU minutes", "updates", "updates to equal"),
    )
    lines = []
    for r in results:
        gain, direction, updates_to_equal = "", "", None
        control_gain = "" if r.control is None else html.escape(format_gain(r.control))
        again = f'<td class="gain">{control_gain}</td>' if has_controls else ""
        of_gains = "" if r.gain_difference is None else format_gain_difference(r.gain_difference)
        beside = f'<td class="gain">{html.escape(of_gains)}</td>' if has_gains else ""
        if r.comparison is not None:
            gain, direction = format_gain(r.comparison), r.comparison.direction or ""
            updates_to_equal = r.comparison.updates_to_equal
        lines.append(
            f"<td>{html.escape(r.task)}</td><td>{html.escape(r.condition)}</td>"
            f'<td>{html.escape(r.metric)}</td><td class="score">{format_score(r)}</td>'
            f'<td class="gain {direction}">{html.escape(gain)}</td>'
            f"{again}{beside}"
            f"<td>{html.escape(_others(r))}</td>"
            f'<td class="number">{r.cpu_minutes:.1f}</td>'
            f'<td class="number">{_rounded(r.best_updates)}</td>'
            f'<td class="number">{_rounded(updates_to_equal)}</td>'
        )
    return table(head, lines)


def _rounded(count: float | None) -> str:
    return "" if count is None else f"{count:.0f}"


def _others(result: Result) -> str:
    """Return the other metrics in points, and the main one with each task's own best weights."""
    others = {name: mean for name, mean in result.metrics.items() if name != result.metric}
    parts = [f"{name} {100 * mean:.2f}" for name, mean in others.items()]
    if result.own_mean is not None:
        parts.insert(0, f"own best {100 * result.own_mean:.2f}")
    return ", ".join(parts)


def _note_on_oracles(study: Study) -> str:
    """Return how an oracle's helpers were chosen, as far as that flatters it."""
    texts = ["An oracle's helpers were chosen on dev."]
    if study.spec.score == "dev":
        texts.append("Dev is scored here, too, so its gain is that of the best of several runs.")
    if len(study.spec.seeds) == 1:
        texts.append("By one seed, a task helps if its pair has any higher score.")
    return f"<p>{' '.join(texts)}</p>"


def _notes(study: Study, rows: Mapping[str, Row]) -> str:
    """Return how to read the numbers."""
    processors = ", ".join(sorted({row.processor for row in rows.values()}))
    computes = "; ".join(sorted({row.compute for row in rows.values()}))
    num_earlier = sum(row.key != key for key, row in rows.items())
    of_earlier = f" {num_earlier} of {len(rows)} runs are of earlier code or data."
    earlier = of_earlier if num_earlier else ""
    return (
        f"<h2>How to read this</h2><p>Scores are the main metric of each task, or those that the "
        f"study names, in points, mean ± standard deviation over seeds (95 % interval). p is "
        f"two-sided, of paired documents: of the bootstrap where both sides have one seed, which "
        f"does not say what another would give, else of that and of Student's t over seeds. It "
        f"is corrected for the number of comparisons that have run (Holm); an arrow says "
        f"p &lt; {SIGNIFICANT}, but "
        f"in the table of all conditions <i>higher</i> or <i>lower</i>: means differ by more than "
        f"{study.spec.k:g} standard deviations of each "
        f"(Changpinyo et al. 2018), once all seeds of both have run. "
        f"Minutes are CPU time of one core, training and scoring, of all "
        f"seeds. <i>Updates</i> with batches of the task led to its best score on dev; "
        f"<i>updates to equal</i> made it as good there as what it is compared with ever was. "
        f"Computed on {html.escape(processors)}: {html.escape(computes)}.{earlier}</p>"
    )
