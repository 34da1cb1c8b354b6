"""The table of docs/benchmarks.md that says what each task gains from a partner."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ten_tasks import table

SURE = 0.05


def gains(report: Path, design: str) -> str:
    """Return a line a task and metric, a column a partner: the gain in points.

    ``report`` is the JSON of ``spanloom study report``, ``design`` one with one partner. A task
    that went on alone is compared with itself alone twice, if the study has that. An arrow says
    that the difference has p < 0.05, corrected for all comparisons of the study.
    """
    cells: dict[tuple[str, str], dict[str, str]] = {}
    alone: dict[tuple[str, str], str] = {}
    for result in json.loads(report.read_text(encoding="utf-8")):
        comparison = result["control"] or result["comparison"]
        if result["design"] == design and comparison:
            (partner,) = result["partners"]
            line = result["task"], result["metric"]
            cells.setdefault(line, {})[partner] = _cell(comparison)
            alone[line] = f"{100 * comparison['baseline']['mean']:.2f}"
    if not cells:
        raise ValueError(f"{report.name}: no gains of {design}")
    found = [partner for line in cells.values() for partner in line]
    names = dict.fromkeys([task for task, _ in cells] + found)
    partners = [name for name in names if name in found]
    lines = [
        [*line, alone[line], *(own.get(partner, "") for partner in partners)]
        for line, own in cells.items()
    ]
    return table(("task", "metric", "alone", *partners), lines)


def _cell(comparison: Mapping[str, Any]) -> str:
    gain, p = 100 * comparison["gain"], comparison["p"]
    arrow = "" if p is None or p >= SURE or not gain else " ↑" if gain > 0 else " ↓"
    return f"{gain:+.2f}{arrow}".replace("-", "−")
