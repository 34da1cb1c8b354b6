"""The tables of docs/benchmarks.md that are made of rows: the ten tasks of Open GLAD, and peers."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from spanloom.config import yaml
from spanloom.glad.result import Result, load_results

NONE = "No row yet.\n"
HEAD = (
    *("task", "dataset", "test, %", "asked", "reached", "others", "CPU minutes"),
    *("words/s trained", "words/s annotated", "of the bare encoder", "recipe", "seeds"),
)
PEERS = (
    *("peer", "dataset", "test, % (95 %)", "CPU minutes", "words/s annotated"),
    *("settings", "tries", "versions", "seed"),
)
TASKS = {  # kinds of tasks in the order of SpanRel, table 3, and what people call them
    "pos": "parts of speech",
    "dependency": "dependency",
    "constituency": "constituency",
    "entities": "named entities, mentions",
    "relations": "entities and relations",
    "coreference": "coreference",
    "srl": "semantic roles",
    "openie": "open IE",
    "aspects": "aspects",
    "opinions": "opinions",
}
MAIN = (
    "relation_f1",
    "las",
    "evalb",
    "conll_f1",
    "span_f1",
)  # the first that a row has is its main one


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the metrics of one row, by name, and of its ratio to the bare encoder."""

    metrics: Mapping[str, Mapping[str, Any]]
    ratio: float | None


def ten_tasks(rows: Path, targets: Path) -> str:
    """Return the table of all rows, seeds of one recipe on one line, those of a task together."""
    wanted_metrics = yaml.load(targets).data
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for row in sorted(load_results(rows), key=_order):
        groups.setdefault((*_order(row)[:-1],), []).append(row)
    lines = [_line(group, _asked(wanted_metrics, group[0])) for group in groups.values()]
    return table(HEAD, lines) if lines else NONE


def peers(folder: Path) -> str:
    """Return the table of what ``benchmarks/peers/score.py`` wrote, by dataset, the best first."""
    results = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    results.sort(key=lambda result: (result["dataset"], -_first(result["metrics"])["f1"]))
    return table(PEERS, [_peer(result) for result in results]) if results else NONE


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of markdown."""
    rows = [head, ["---"] * len(head), *([_plain(cell) for cell in line] for line in lines)]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _plain(cell: str) -> str:
    """Return a cell that ends no cell of markdown."""
    return cell.replace("|", "\\|").replace("\n", " ")


def rank(kind: str) -> int:
    """Return where a kind of task stands in the paper's order, behind all others if it is none."""
    order = list(TASKS)
    return order.index(kind) if kind in order else len(order)


def main_metric(row: Result) -> str:
    """Return the metric by which rows of one task are compared."""
    return next((name for name in MAIN if name in row.metrics), row.main[0])


def _order(row: Result) -> tuple[Any, ...]:
    is_given = bool(row.gold_inputs)
    return (
        rank(row.kind),
        row.kind,
        row.dataset,
        row.task,
        is_given,
        row.recipe,
        row.settings,
        row.seed,
    )


def _asked(targets: Mapping[str, Any], row: Result) -> Asked:
    """What is asked of a row; that of gold spans only where they were given, and so on.

    Nothing of one whose labels were mapped: it measures something else.
    """
    if row.labels:
        return Asked({}, targets["ratios"].get(row.kind))
    by_dataset = targets["metrics"].get(row.dataset, {}).get(row.task, {})
    own_targets = {
        name: e
        for name, e in by_dataset.items()
        if e.get("gold_inputs", False) == bool(row.gold_inputs)
    }
    return Asked(own_targets, targets["ratios"].get(row.kind))


def _line(rows: Sequence[Result], target: Asked) -> list[str]:
    """The cells of one recipe, whatever number of seeds it was run with."""
    row = rows[0]
    ratio = spread([row.relative_speed for row in rows], "{:.0%}")
    minimum = f" (≥ {target.ratio} %)" if target.ratio is not None else ""
    return [
        TASKS.get(row.kind, row.kind)
        + (", given" if row.gold_inputs else "")
        + (", labels mapped" if row.labels else ""),
        row.dataset,
        ", ".join(_metric(name, rows) for name in row.metrics),
        ", ".join(f"{name} {e['asked']:g}" for name, e in target.metrics.items() if "asked" in e),
        ", ".join(_reached(rows, target.metrics)),
        "; ".join(_others(target.metrics)),
        spread([row.train_cpu_minutes for row in rows], "{:.1f}"),
        spread([row.train_words_per_s for row in rows], "{:,.0f}"),
        spread([row.annotate_words_per_s for row in rows], "{:,.0f}"),
        ratio + minimum if ratio else "",
        row.made_by,
        ", ".join(str(row.seed) for row in rows),
    ]


def _metric(name: str, rows: Sequence[Result]) -> str:
    """A metric: the mean of several seeds and its deviation, of one seed its interval."""
    text = f"{name} {spread([100 * row.metrics[name] for row in rows], '{:.2f}', both=True)}"
    if len(rows) > 1 or name not in rows[0].intervals:
        return text
    low, high = rows[0].intervals[name]
    return f"{text} ({100 * low:.1f} to {100 * high:.1f})"


def _reached(rows: Sequence[Result], asked: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """Whether each metric that is asked for was reached, or by how much not."""
    wanted = {name: each["asked"] for name, each in asked.items() if "asked" in each}
    for name, least in wanted.items():
        start = f"{name} " if len(wanted) > 1 else ""
        if not all(name in row.metrics for row in rows):
            yield f"{start}not told"
            continue
        above = round(mean(100 * row.metrics[name] for row in rows) - least, 2)
        yield f"{start}yes" if above >= 0 else f"{start}no ({above:+.2f})"


def _others(asked: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """What the paper reached, and what else is to be known."""
    for each in asked.values():
        if "paper" in each:
            yield f"the paper: {each['paper']:g}"
        if "note" in each:
            yield each["note"]


def spread(values: Sequence[float | None], form: str, *, both: bool = False) -> str:
    """Return the mean of several values, with ``both`` their deviation too; "" if one is None."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return ""
    if both and len(known) > 1:
        return f"{form.format(mean(known))} ± {form.format(stdev(known))}"
    return form.format(mean(known))


def _first(metrics: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    return next(iter(metrics.values()))


def _peer(said: Mapping[str, Any]) -> list[str]:
    metrics = ", ".join(_measured(name, each) for name, each in said["metrics"].items())
    minutes = _known(said["train_minutes"], "{:.1f}".format)
    tries, seed = str(len(said["tries"])), str(said["seed"])
    beside = [_listed(said["settings"]), tries, _listed(said["versions"]), seed]
    speed = f"{said['words_per_second']:,.0f}"
    return [said["peer"], said["dataset"], metrics, minutes, speed, *beside]


def _measured(name: str, each: Mapping[str, float]) -> str:
    low, high = 100 * each["low"], 100 * each["high"]
    return f"{name} {100 * each['f1']:.2f} ({low:.1f} to {high:.1f})"


def _known(value: float | None, shown: Callable[[float], str]) -> str:
    return "" if value is None else shown(value)


def _listed(said: object) -> str:
    """What is said by keys, or a text as it is."""
    if isinstance(said, Mapping):
        return ", ".join(f"{key} {value}" for key, value in said.items())
    return str(said)
