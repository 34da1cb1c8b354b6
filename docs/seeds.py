"""The table of docs/benchmarks.md that says what several seeds of one model reach."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from ten_tasks import table

MEASURES = ("spans", "relations", "relations_typed")


def seeds(paths: Sequence[Path]) -> str:
    """Return a line per task and measure: mean, spread and intervals of F1, in percent.

    ``paths`` are what ``spanloom evaluate … --json`` printed, one per seed.
    """
    results = [json.loads(path.read_text(encoding="utf-8"))["tasks"] for path in paths]
    head = (
        "task",
        "figure",
        f"mean of {len(paths)}",
        "standard deviation",
        "each",
        "95 % intervals",
    )
    lines = (
        _line(task, measure, [result[task][measure] for result in results])
        for task in results[0]
        for measure in MEASURES
    )
    return table(head, lines)


def _line(task: str, measure: str, scores: Sequence[dict]) -> list[str]:
    values = [100 * score["micro"]["f1"] for score in scores]
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return [
        task,
        f"{measure} F1",
        f"{statistics.mean(values):.2f}",
        f"{spread:.2f}",
        ", ".join(f"{value:.2f}" for value in values),
        ", ".join(map(_interval, scores)),
    ]


def _interval(score: dict) -> str:
    interval = score["f1_interval"]
    return f"{100 * interval['low']:.1f}–{100 * interval['high']:.1f}"
