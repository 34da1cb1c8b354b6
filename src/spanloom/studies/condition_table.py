"""Scores by condition and task, and how many are higher or lower (Changpinyo et al. 2018, table 3).

An arrow says that a score is higher or lower than its baseline by means and deviations, as in the
paper, not that a test found the difference significant.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from spanloom.studies.page import table
from spanloom.studies.results import Result, names_of_scores

Columns = Mapping[tuple[str, str], str]  # what a score is called, by task and metric
_ARROWS = {"higher": "↑", "lower": "↓", "": ""}


def condition_table(results: Sequence[Result]) -> str:
    """Return a row per condition, a column per reported score, and the arrows of each row.

    Rows of a design with several conditions, as pairs, end with their mean and numbers of arrows.
    """
    columns = names_of_scores(results)
    by_design: dict[str, dict[str, list[Result]]] = {}
    for r in results:
        by_design.setdefault(r.design, {}).setdefault(r.condition, []).append(r)
    rows = []
    for design, by_condition in by_design.items():
        rows += [_condition(name, own, columns) for name, own in by_condition.items()]
        if len(by_condition) > 1:
            own = [r for members in by_condition.values() for r in members]
            rows += _summary(design, own, columns)
    return table(("condition", *columns.values(), "↑", "↓"), rows)


def _condition(name: str, results: Iterable[Result], columns: Columns) -> str:
    """Return the row of a condition."""
    texts, directions = dict.fromkeys(columns, ""), []
    for r in results:
        direction = r.comparison.direction if r.comparison else ""
        directions.append(direction)
        texts[r.task, r.metric] = f"{100 * r.scores.mean:.2f}{_ARROWS[direction]}"
    is_compared = any(r.comparison for r in results)
    counts = [str(directions.count(direction)) for direction in ("higher", "lower")]
    return _row((name, *texts.values(), *(counts if is_compared else ("", ""))))


def _summary(design: str, results: Sequence[Result], columns: Columns) -> list[str]:
    """Return three rows of a design: means, and the numbers of arrows up and down."""
    of_score = [[r for r in results if (r.task, r.metric) == score] for score in columns]
    means = [f"{100 * fmean(r.scores.mean for r in own):.2f}" if own else "" for own in of_score]
    rows = [_row((f"{design}, mean", *means, "", ""))]
    for direction in ("higher", "lower"):
        counts = [
            sum(r.comparison is not None and r.comparison.direction == direction for r in own)
            for own in of_score
        ]
        rows.append(_row((f"{design}, {direction}", *map(str, counts), "", "")))
    return rows


def _row(cells: Iterable[str]) -> str:
    first, *others = map(html.escape, cells)
    return f"<td>{first}</td>" + "".join(f'<td class="number">{text}</td>' for text in others)
