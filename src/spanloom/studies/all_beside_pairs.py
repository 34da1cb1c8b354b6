"""What all tasks together gain beside what pairs gain (Changpinyo et al. 2018, sections 4.1, 4.3).

Do pairs tell which way all together go, and are all, or an oracle's choice of them, better?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from spanloom.studies.page import row, table
from spanloom.studies.results import Comparison, Result, with_first_metrics
from spanloom.studies.spec import JOINT, ORACLE, PAIRS, SINGLE

Compared = tuple[Result, Comparison]  # a result, and how it compares with the task alone


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
    by_task: dict[str, list[Compared]] = {}
    for r in with_first_metrics(results):
        if r.comparison is not None and r.comparison.against == SINGLE and not r.label:
            by_task.setdefault(r.task, []).append((r, r.comparison))
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


def _task_gains(task: str, compared: Sequence[Compared]) -> TaskGains | None:
    """Return the gains of a task; None if it was not learnt in pairs, or not with all others."""
    pairs = {r.partners[0]: c for r, c in compared if r.design == PAIRS and len(r.partners) == 1}
    of_all, of_oracle = _gain(compared, JOINT), _gain(compared, ORACLE)
    if not pairs or of_all is None:
        return None
    by_partner = {name: comparison.gain for name, comparison in pairs.items()}
    directions = tuple(comparison.direction for comparison in pairs.values())
    return TaskGains(task, by_partner, directions, of_all, of_oracle)


def _gain(compared: Sequence[Compared], design: str) -> float | None:
    """Return the gain of a design that has one condition."""
    return next((comparison.gain for r, comparison in compared if r.design == design), None)


def _row(gains: TaskGains) -> str:
    best = max(gains.by_partner, key=lambda name: gains.by_partner[name])
    cells = (
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
    return row(cells)


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
