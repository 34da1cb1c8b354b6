"""The table of docs/benchmarks.md that says which task gains from learning with others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ten_tasks import NONE, TASKS, spread, table

from spanloom.glad.grid import ALONE, COLUMNS
from spanloom.glad.row import Row, load_all
from spanloom.metrics.bootstrap import paired
from spanloom.metrics.tally import Tally, loads

SURE = 0.05
MAIN = (
    "relations",
    "las",
    "evalb",
    "conll",
    "spans",
)  # what a task is compared by, the first it has
HEAD = ("task", "dataset", "figure", *COLUMNS, "minutes, all columns", "seeds")


def grid(folder: Path) -> str:
    """Return a line a task: its figure in each column, with an arrow where it surely differs.

    An arrow says that the difference from ``alone`` has p < 0.05 by the paired bootstrap over
    documents; the numbers of several seeds are added up document by document.
    """
    lines: dict[tuple[int, str, str], dict[str, list[Row]]] = {}
    for row in sorted(load_all(folder), key=lambda row: row.seed):
        known = list(TASKS)
        place = known.index(row.kind) if row.kind in known else len(known)
        lines.setdefault((place, row.task, row.dataset), {}).setdefault(row.recipe, []).append(row)
    made = [_line(columns) for _, columns in sorted(lines.items(), key=lambda item: item[0])]
    return table(HEAD, made) if made else NONE


def _line(columns: Mapping[str, Sequence[Row]]) -> list[str]:
    one = next(iter(columns.values()))[0]
    figure = next(name for name in MAIN if name in one.tallies)
    every = [row for rows in columns.values() for row in rows]
    minutes = sum(row.minutes or 0.0 for row in every)
    seeds = sorted({row.seed for row in every})
    return [
        one.task + (", labels mapped" if one.labels else ""),
        one.dataset,
        figure,
        *(_cell(name, figure, columns) for name in COLUMNS),
        f"{minutes:.0f}",
        ", ".join(map(str, seeds)),
    ]


def _cell(name: str, figure: str, columns: Mapping[str, Sequence[Row]]) -> str:
    rows = columns.get(name, ())
    said = spread([100 * row.figures[figure] for row in rows], "{:.2f}", both=True)
    if not rows or name == ALONE or ALONE not in columns:
        return said
    mine, alone = _both(figure, rows, columns[ALONE])
    if mine.rows.shape != alone.rows.shape or not len(mine.rows):
        return said
    chance = paired(mine, alone)
    return f"{said} {'↑' if mine.value > alone.value else '↓'}" if chance < SURE else said


def _both(figure: str, rows: Sequence[Row], others: Sequence[Row]) -> tuple[Tally, Tally]:
    """The tallies of two columns, of the seeds that both have, added up."""
    seeds = {row.seed for row in rows} & {row.seed for row in others}
    mine, theirs = (
        _sum([loads(row.tallies[figure]) for row in side if row.seed in seeds])
        for side in (rows, others)
    )
    return mine, theirs


def _sum(tallies: Sequence[Tally]) -> Tally:
    if not tallies:
        raise ValueError("no seed that both columns have")
    return Tally(tallies[0].figure, np.sum([each.rows for each in tallies], axis=0))
