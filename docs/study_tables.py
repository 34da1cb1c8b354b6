"""Tables of docs/benchmarks.md of a study: gains, conditions, sizes of data, and probing.

Each reads the JSON of ``spanloom study report`` or ``study probe``. Scores and gains are in points;
an arrow says that the difference has p < 0.05, corrected for all comparisons of the study.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ten_tasks import table

SURE = 0.05
Result = Mapping[str, Any]  # of a task under a condition
Lines = dict[tuple[str, ...], dict[str, str]]  # cells by column, by the cells that begin a line


def gains(report: Path, design: str) -> str:
    """Return a line a task and metric, a column a partner: the gain.

    ``design`` is one with one partner. A task that went on alone is compared with itself alone
    twice, if the study has that.
    """
    results = [result for result in _read(report) if result["design"] == design]
    lines: Lines = {}
    for result in results:
        comparison = result["control"] or result["comparison"]
        if comparison:
            (partner,) = result["partners"]
            line = *_score_of(result), f"{100 * comparison['baseline']['mean']:.2f}"
            lines.setdefault(line, {})[partner] = _gain(comparison)
    if not lines:
        raise ValueError(f"{report.name}: no gains of {design}")
    found = [partner for cells in lines.values() for partner in cells]
    names = dict.fromkeys([task for task, *_ in lines] + found)
    return _table(("task", "metric", "alone"), lines, [name for name in names if name in found])


_JOINT_TASKS = re.compile(r"[\w-]+(\+[\w-]+){3,}")  # the names of four tasks or more


def conditions(report: Path) -> str:
    """Return a line a task and metric, a column a condition, of several trunks each: the score.

    Arrows compare with the task alone, or with the first that the study names. Columns of their own
    tell what going on alone after a joint run gains over the task alone twice, or what is gained
    over the last that the study names; and the mean with each task's own best weights. Many tasks
    that a run learns jointly are not listed in a column's name.
    """
    results = _read(report)
    has_trunks = len({result["trunk"] for result in results}) > 1
    lines: Lines = {}
    further: dict[str, None] = {}
    for result in results:
        cells = lines.setdefault(_score_of(result), {})
        name = _JOINT_TASKS.sub("jointly", result["condition"])
        if has_trunks:
            name = result["trunk"] if name == "single" else f"{name}, {result['trunk']}"
        cells[name] = _score(result)
        if result["control"]:
            gain = f"{name}: gain over {result['control']['against']}"
            cells[gain], further[gain] = _gain(result["control"]), None
        if result["own_mean"] is not None:
            own = f"{name}, each with its own best weights"
            cells[own], further[own] = f"{100 * result['own_mean']:.2f}", None
    scores = dict.fromkeys(c for cells in lines.values() for c in cells if c not in further)
    return _table(("task", "metric"), lines, [*scores, *further])


def curves(report: Path) -> str:
    """Return a line a task and number of its examples: alone, with one other task, with all.

    Besides the score, cells of several tasks have the gain over the task alone. All data, where the
    study learnt from them too, are the last line of a task.
    """
    lines: Lines = {}
    results = _read(report)
    limited = {result["task"] for result in results if result["design"] == "curve"}
    for result in sorted(results, key=lambda result: result["examples"] or math.inf):
        if result["task"] in limited:
            size = "all" if result["examples"] is None else f"{result['examples']:,}"
            cells = lines.setdefault((*_score_of(result), size), {})
            cells[_of_partners(result["partners"])] = _score_and_gain(result)
    order = sorted(lines, key=lambda line: line[:2])  # stable, so sizes stay in their order
    return _table(
        ("task", "metric", "examples"),
        {line: lines[line] for line in order},
        ["alone", "with one", "with all"],
    )


def probing(table_file: Path) -> str:
    """Return a line a kind of vectors, a column a probing task: the accuracy in percent."""
    lines: Lines = {}
    majority: dict[str, str] = {}
    for accuracy in _read(table_file):
        cells = lines.setdefault((accuracy["vectors"], accuracy["pooling"]), {})
        cells[accuracy["task"]] = f"{100 * accuracy['accuracy']:.1f}"
        majority[accuracy["task"]] = f"{100 * accuracy['majority']:.1f}"
    lines["the most frequent label", ""] = majority
    return _table(("vectors", "pooling"), lines, [*majority])


def _read(report: Path) -> list[Result]:
    results: list[Result] = json.loads(report.read_text(encoding="utf-8"))
    return results


def _score_of(result: Result) -> tuple[str, str]:
    return result["task"], result["metric"]


def _of_partners(partners: list[str]) -> str:
    """Return the column of a run with some partners."""
    if not partners:
        return "alone"
    return "with one" if len(partners) == 1 else "with all"


def _score(result: Result) -> str:
    """Return the mean, its deviation (of one seed the interval, if it is there), and an arrow."""
    scores, comparison, interval = result["scores"], result["comparison"], result.get("interval")
    spread = ""
    if scores["count"] > 1:
        spread = f" ± {100 * scores['deviation']:.2f}"
    elif interval:
        spread = f" ({100 * interval['low']:.1f}–{100 * interval['high']:.1f})"
    return f"{100 * scores['mean']:.2f}{spread}{_arrow(comparison) if comparison else ''}"


def _score_and_gain(result: Result) -> str:
    """Return the score and the gain over the task alone; of one partner its name, too."""
    score, comparison = f"{100 * result['scores']['mean']:.2f}", result["comparison"]
    partner = f" ({result['partners'][0]})" if len(result["partners"]) == 1 else ""
    return score + (f", {_gain(comparison)}" if comparison else "") + partner


def _gain(comparison: Mapping[str, Any]) -> str:
    return f"{100 * comparison['gain']:+.2f}".replace("-", "−") + _arrow(comparison)


def _arrow(comparison: Mapping[str, Any]) -> str:
    gain, p = comparison["gain"], comparison["p"]
    return "" if p is None or p >= SURE or not gain else " ↑" if gain > 0 else " ↓"


def _table(head: Iterable[str], lines: Lines, columns: list[str]) -> str:
    """Return lines of cells under a head; a cell that is not there is empty."""
    rows = [
        [*line, *(cells.get(column, "") for column in columns)] for line, cells in lines.items()
    ]
    return table((*head, *columns), rows)
