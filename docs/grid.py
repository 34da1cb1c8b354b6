"""The table of docs/benchmarks.md that says which task gains from learning with others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ten_tasks import NONE, main_metric, rank, spread, table

from spanloom.glad.result import Result, load_results
from spanloom.metrics.bootstrap import DocumentCounts, loads, paired

ALONE, TUNED = "alone", "joint-tuned"
COLUMNS = (ALONE, "joint", "joint-own-best", TUNED)
SURE, FEW = 0.05, 10  # of fewer documents nothing is said
HEAD = ("task", "dataset", "metric", *COLUMNS, "minutes alone and tuned", "seeds")


def grid(folder: Path) -> str:
    """Return a line a task: its metric in each column, with an arrow where it surely differs.

    An arrow says that the difference from ``alone`` has p < 0.05 by the paired bootstrap over ten
    documents or more: what another training would give, and that there are many cells, is not in
    it. The numbers of several seeds are added up document by document. Raises ``ValueError`` where
    two rows are of one column, task, dataset and seed.
    """
    lines: dict[tuple[int, str, str], dict[str, list[Result]]] = {}
    for row in sorted(load_results(folder), key=lambda row: row.seed):
        line = rank(row.kind), row.task, row.dataset
        lines.setdefault(line, {}).setdefault(row.recipe, []).append(row)
    made = [_line(columns) for _, columns in sorted(lines.items(), key=lambda item: item[0])]
    return table(HEAD, made) if made else NONE


def _line(columns: Mapping[str, Sequence[Result]]) -> list[str]:
    one = next(iter(columns.values()))[0]
    metric = main_metric(one)
    every = [row for rows in columns.values() for row in rows]
    for name, rows in columns.items():
        if len({row.seed for row in rows}) < len(rows):
            raise ValueError(f"{one.task} of {one.dataset}, {name}: two rows of one seed")
    spent = [row.train_cpu_minutes for name in (ALONE, TUNED) for row in columns.get(name, ())]
    known = [minutes for minutes in spent if minutes is not None]
    seeds = sorted({row.seed for row in every})
    return [
        one.task + (", labels mapped" if one.labels else ""),
        one.dataset,
        metric,
        *(_cell(name, metric, columns) for name in COLUMNS),
        f"{sum(known):.0f}" if len(known) == len(spent) else "",
        ", ".join(map(str, seeds)),
    ]


def _cell(name: str, metric: str, columns: Mapping[str, Sequence[Result]]) -> str:
    rows = columns.get(name, ())
    said = spread([100 * row.metrics[metric] for row in rows], "{:.2f}", both=True)
    if name == ALONE:
        return said
    mine, alone = (
        _sum(metric, columns, name, other) for name, other in ((name, ALONE), (ALONE, name))
    )
    if mine is None or alone is None or len(mine.rows) != len(alone.rows) or len(mine.rows) < FEW:
        return said
    chance = paired(mine, alone)
    return f"{said} {'↑' if mine.value > alone.value else '↓'}" if chance < SURE else said


def _sum(
    metric: str, columns: Mapping[str, Sequence[Result]], name: str, other: str
) -> DocumentCounts | None:
    """A column's numbers, of the seeds that another has too; None where some are not known."""
    seeds = {row.seed for row in columns.get(other, ())}
    rows = [row for row in columns.get(name, ()) if row.seed in seeds]
    if not rows or not all(metric in row.per_document_counts for row in rows):
        return None
    counts = [loads(row.per_document_counts[metric]) for row in rows]
    return DocumentCounts(counts[0].spec, np.sum([seed.rows for seed in counts], axis=0))
