"""What all tasks together gain beside what pairs gain (Changpinyo et al. 2018, sections 4.1, 4.3).

Do pairs tell which way all together go, and are all, or an oracle's choice of them, better?
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from spanloom.studies.page import table
from spanloom.studies.results import Result, with_first_metrics
from spanloom.studies.spec import JOINT, ORACLE, PAIRS, SINGLE


@dataclass(frozen=True, slots=True)
class TaskGains:
    """Gains of a task over itself alone, as fractions: beside each partner, all, and helpers."""

    task: str
    by_partner: dict[str, float]
    directions: tuple[str, ...]
    of_all: float
    of_oracle: float | None

    @property
    def mean_of_pairs(self) -> float:
        """The mean over partners."""
        return fmean(self.by_partner.values())

    @property
    def agrees(self) -> bool:
        """Whether all together go the way that pairs go on average."""
        return self.mean_of_pairs * self.of_all > 0

    @property
    def pairs_below_all(self) -> int:
        """How many pairs gain less than all together."""
        return sum(gain < self.of_all for gain in self.by_partner.values())


def gains_by_task(results: Sequence[Result]) -> list[TaskGains]:
    """Return the gains of each task that was learnt in pairs and with all others."""
    by_task: dict[str, list[Result]] = {}
    for r in with_first_metrics(results):
        if r.comparison is not None and r.comparison.against == SINGLE and not r.label:
            by_task.setdefault(r.task, []).append(r)
    gains = [_task_gains(task, compared) for task, compared in by_task.items()]
    return [task_gains for task_gains in gains if task_gains is not None]


def all_beside_pairs(results: Sequence[Result]) -> str | None:
    """Return a table with a row per task and the counts over tasks; None without pairs and all."""
    tasks = gains_by_task(results)
    if not tasks:
        return None
    head = (
        *("task", "mean gain of pairs", "best partner", "pairs ↑", "pairs ↓"),
        *("gain of all", "same direction", "pairs below all", "gain of the oracle"),
    )
    return f"{table(head, map(_row, tasks))}<p>{_counts(tasks)}</p>"


def _task_gains(task: str, compared: Sequence[Result]) -> TaskGains | None:
    """Return the gains of a task; None if it was not learnt in pairs, or not with all others."""
    pairs = {r.partners[0]: r for r in compared if r.design == PAIRS and len(r.partners) == 1}
    of_all, of_oracle = _gain(compared, JOINT), _gain(compared, ORACLE)
    if not pairs or of_all is None:
        return None
    comparisons = {name: r.comparison for name, r in pairs.items() if r.comparison is not None}
    by_partner = {name: comparison.gain for name, comparison in comparisons.items()}
    directions = tuple(comparison.direction for comparison in comparisons.values())
    return TaskGains(task, by_partner, directions, of_all, of_oracle)


def _gain(compared: Sequence[Result], design: str) -> float | None:
    """Return the gain of a design that has one condition."""
    gains = (r.comparison.gain for r in compared if r.design == design and r.comparison is not None)
    return next(gains, None)


def _row(gains: TaskGains) -> str:
    best = max(gains.by_partner, key=lambda name: gains.by_partner[name])
    texts = (
        gains.task,
        _points(gains.mean_of_pairs),
        f"{best} {_points(gains.by_partner[best])}",
        str(gains.directions.count("higher")),
        str(gains.directions.count("lower")),
        _points(gains.of_all),
        "yes" if gains.agrees else "no",
        f"{gains.pairs_below_all} of {len(gains.by_partner)}",
        "" if gains.of_oracle is None else _points(gains.of_oracle),
    )
    return "".join(f"<td>{html.escape(text)}</td>" for text in texts)


def _counts(tasks: Sequence[TaskGains]) -> str:
    """Return what all tasks say together."""
    num_pairs = sum(len(gains.by_partner) for gains in tasks)
    below = sum(gains.pairs_below_all for gains in tasks)
    agreeing = sum(gains.agrees for gains in tasks)
    with_oracle = [gains for gains in tasks if gains.of_oracle is not None]
    better = sum((gains.of_oracle or 0.0) > gains.of_all for gains in with_oracle)
    oracle = f" The oracle is above all for {better} of {len(with_oracle)}." if with_oracle else ""
    return (
        f"All together go the way of the pairs' mean for {agreeing} of {len(tasks)} tasks, and are "
        f"above {below} of {num_pairs} pairs.{oracle}"
    )


def _points(gain: float) -> str:
    return f"{100 * gain:+.2f}"
