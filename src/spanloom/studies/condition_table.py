"""Scores by condition and task, and how many are higher or lower (Changpinyo et al. 2018, table 3).

An arrow says that a score is higher or lower than its baseline by means and deviations, as in the
paper, not that a test found the difference significant.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from spanloom.studies.page import row, table
from spanloom.studies.results import Result, count_direction, names_of_scores
from spanloom.studies.spec import ALL_BUT_ONE, PAIRS, PAIRS_THEN_SINGLE

Columns = Mapping[tuple[str, str], str]  # what a score is called, by task and metric
_ALIKE = (
    PAIRS,
    PAIRS_THEN_SINGLE,
    ALL_BUT_ONE,
)  # designs whose conditions differ in a partner alone
_ARROWS: Mapping[str | None, str] = {"higher": "↑", "lower": "↓", "": "", None: ""}


def condition_table(results: Sequence[Result]) -> str:
    """Return a row per condition, a column per reported score, and the arrows of each row.

    Rows of a design with several conditions end with their numbers of arrows, those of pairs and of
    all tasks but one with their mean, too; a design with another label is another one.
    Where comparisons have one seed nothing is known of deviations, so there are no arrows; nor are
    there while they wait for seeds.
    """
    has_arrows = any(
        r.comparison is not None
        and r.comparison.num_seeds > 1
        and r.comparison.direction is not None
        for r in results
    )
    columns = names_of_scores(results)
    by_design: dict[str, dict[str, list[Result]]] = {}
    for r in results:
        design = f"{r.design}, {r.label}" if r.label else r.design
        by_design.setdefault(design, {}).setdefault(r.condition, []).append(r)
    rows = []
    for design, by_condition in by_design.items():
        for name, own in by_condition.items():
            rows.append(_condition(name, own, columns, has_arrows=has_arrows))
        if len(by_condition) > 1:
            own = [r for members in by_condition.values() for r in members]
            if own[0].design in _ALIKE:
                rows.append(_means(design, own, columns, has_arrows=has_arrows))
            rows += _arrow_counts(design, own, columns) if has_arrows else []
    return table(("condition", *columns.values(), *(("↑", "↓") if has_arrows else ())), rows)


def _condition(name: str, results: Iterable[Result], columns: Columns, *, has_arrows: bool) -> str:
    """Return the row of a condition."""
    texts = dict.fromkeys(columns, "")
    directions: list[str | None] = []
    for r in results:
        direction = r.comparison.direction if r.comparison else None
        directions.append(direction)
        texts[r.task, r.metric] = f"{100 * r.scores.mean:.2f}{_ARROWS[direction]}"
    if not has_arrows:
        return row((name, *texts.values()))
    is_known = any(direction is not None for direction in directions)
    counts = [str(directions.count(direction)) for direction in ("higher", "lower")]
    return row((name, *texts.values(), *(counts if is_known else ("", ""))))


def _means(design: str, results: Sequence[Result], columns: Columns, *, has_arrows: bool) -> str:
    """Return the row of the means of a design; those over fewer conditions than others say so."""
    by_score = _by_score(results, columns)
    size = max(map(len, by_score))
    means = [
        f"{100 * fmean(r.scores.mean for r in own):.2f}"
        + (f" ({len(own)} of {size})" if len(own) < size else "")
        if own
        else ""
        for own in by_score
    ]
    return row((f"{design}, mean", *means, *(("", "") if has_arrows else ())))


def _arrow_counts(design: str, results: Sequence[Result], columns: Columns) -> list[str]:
    """Return two rows of a design: the numbers of arrows up, and of arrows down."""
    rows = []
    for direction in ("higher", "lower"):
        counts = [
            count_direction((r.comparison for r in own if r.comparison is not None), direction)
            for own in _by_score(results, columns)
        ]
        rows.append(row((f"{design}, {direction}", *counts, "", "")))
    return rows


def _by_score(results: Sequence[Result], columns: Columns) -> list[list[Result]]:
    """Return the results of each column."""
    return [[r for r in results if (r.task, r.metric) == score] for score in columns]
