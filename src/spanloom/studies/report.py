"""The report of a study: one HTML file that needs no other, and the numbers as CSV and JSON."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanloom.atomic_io import write_file
from spanloom.errors import PackageMissing
from spanloom.studies import figures, probing
from spanloom.studies.designs import StudyPlan
from spanloom.studies.estimate import format_hours
from spanloom.studies.probing import Accuracy
from spanloom.studies.results import (
    SIGNIFICANT,
    Result,
    format_gain,
    format_score,
    to_csv,
    to_json,
)
from spanloom.studies.row import Row
from spanloom.studies.spec import Study

_CSS = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #8884; }
td.number { text-align: right; } .higher { color: #0b62b0; } .lower { color: #b01c2e; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { background: #fff; max-width: 100%; height: auto; }
figcaption { color: #777; } code { font-size: 90%; }
@media (prefers-color-scheme: dark) { .higher { color: #7ab8f5; } .lower { color: #ff8a94; } }
"""


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
        path: _page(study, planned, rows, results),
        path.with_suffix(".csv"): to_csv(results),
        path.with_suffix(".json"): to_json(results),
    }
    for target, text in texts.items():
        write_file(target, text.encode())
    return list(texts)


def _page(
    study: Study, planned: StudyPlan, rows: Mapping[str, Row], results: Sequence[Result]
) -> str:
    """Return the page."""
    title = html.escape(f"Study: {study.name}")
    groups = list(dict.fromkeys(result.group for result in results))
    parts = [_head(study, planned, rows)]
    for group in groups:
        own = [result for result in results if result.group == group]
        name = ", ".join(part for part in group if part)
        if name:
            parts.append(f"<h2>{html.escape(name)}</h2>")
        parts += _figures(own)
        parts.append(_table(own))
    parts.append(_notes(study, rows))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_CSS}</style></head>\n"
        f"<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )


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


def _figures(results: Sequence[Result]) -> list[str]:
    """Return the figures that these results allow."""
    drawn = (
        (figures.gain_matrix(results), "Gain over the task alone, in points; arrows: significant."),
        (figures.benefit_graph(results), "Who helps whom in pairs; dashed: not significant."),
        (figures.learning_curves(results), "Scores by the number of training examples."),
    )
    return [
        f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"
        for svg, caption in drawn
        if svg is not None
    ]


def _table(results: Sequence[Result]) -> str:
    """Return the table of all results."""
    head = ("task", "condition", "metric", "score", "gain", "CPU minutes", "updates")
    cells = "".join(f"<th>{name}</th>" for name in head)
    lines = []
    for r in results:
        gain, direction = "", ""
        if r.comparison is not None:
            gain, direction = format_gain(r.comparison), r.comparison.direction
        lines.append(
            f"<tr><td>{html.escape(r.task)}</td><td>{html.escape(r.condition)}</td>"
            f"<td>{html.escape(r.metric)}</td><td>{format_score(r)}</td>"
            f'<td class="{direction}">{html.escape(gain)}</td>'
            f'<td class="number">{r.cpu_minutes:.1f}</td>'
            f'<td class="number">{"" if r.best_updates is None else round(r.best_updates)}</td>'
            f"</tr>"
        )
    return f"<table><thead><tr>{cells}</tr></thead>\n<tbody>{chr(10).join(lines)}</tbody></table>"


def _notes(study: Study, rows: Mapping[str, Row]) -> str:
    """Return how to read the numbers."""
    seeds = (
        "documents and seeds"
        if len(study.spec.seeds) > 1
        else "documents; there is one seed, so the numbers do not say what another would give"
    )
    processors = ", ".join(sorted({row.processor for row in rows.values()}))
    computes = "; ".join(sorted({row.compute for row in rows.values()}))
    return (
        f"<h2>How to read this</h2><p>Scores are the main metric of each task in points, mean ± "
        f"standard deviation over seeds. p is of the two-sided paired bootstrap over {seeds}, "
        f"corrected for the number of comparisons (Holm); an arrow says p &lt; {SIGNIFICANT}. "
        f"<i>higher</i> and <i>lower</i>: means differ by more than {study.spec.k:g} standard "
        f"deviations of each (Changpinyo et al. 2018). Minutes are CPU time of one core, training "
        f"and scoring, of all seeds. Computed on {html.escape(processors)}: "
        f"{html.escape(computes)}.</p>"
    )
