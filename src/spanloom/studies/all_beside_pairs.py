"""What all tasks together gain beside what pairs gain (Changpinyo et al. 2018, sections 4.1, 4.3).

Do pairs tell which way all together go, and are all, or an oracle's choice of them, better?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from spanloom.studies.page import row, table
from spanloom.studies.results import Comparison, Result, count_direction, with_first_metrics
from spanloom.studies.spec import JOINT, ORACLE, PAIRS, SINGLE

Compared = tuple[Result, Comparison]  # a result, and how it compares with the task alone


@dataclass(frozen=True, slots=True)
class TaskGains:
    """A task with each partner, with all others and with its helpers, each compared with alone.

    ``of_oracle`` is None, too, for a task that none helps: its oracle is the empty set.
    """

    task: str
    by_partner: dict[str, Comparison]
    of_all: Comparison
    of_oracle: Comparison | None

    @property
    def mean_of_pairs(self) -> float:
        """The mean gain over partners."""
        return fmean(comparison.gain for comparison in self.by_partner.values())

    @property
    def best_partner(self) -> str:
        """The partner with which the task gains most."""
        return max(self.by_partner, key=lambda name: self.by_partner[name].gain)

    @property
    def worst_partner(self) -> str:
        """The partner with which the task gains least, or loses most."""
        return min(self.by_partner, key=lambda name: self.by_partner[name].gain)

    @property
    def is_relative(self) -> bool:
        """Whether all gains can be fractions of the score alone, which is not 0."""
        compared = (*self.by_partner.values(), self.of_all, self.of_oracle)
        return all(c is None or c.relative_gain is not None for c in compared)

    @property
    def agrees(self) -> bool:
        """Whether all together go the way that pairs go on average."""
        return self.mean_of_pairs * self.of_all.gain > 0

    @property
    def pairs_below_all(self) -> int:
        """How many pairs gain less than all together."""
        return self.pairs_below(self.of_all)

    def pairs_below(self, other: Comparison) -> int:
        """How many pairs gain less than another condition."""
        return sum(pair.gain < other.gain for pair in self.by_partner.values())


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
        *("task", "mean gain of pairs", "best partner", "worst partner", "pairs ↑", "pairs ↓"),
        *("gain of all", "same direction", "pairs below all", "gain of the oracle"),
    )
    oracle = _oracle(tasks) if any(r.design == ORACLE for r in results) else ""
    return f"{table(head, map(_row, tasks))}<p>{_counts(tasks)}{oracle}</p>"


def _task_gains(task: str, compared: Sequence[Compared]) -> TaskGains | None:
    """Return the gains of a task; None if it was not learnt in pairs, or not with all others."""
    pairs = {r.partners[0]: c for r, c in compared if r.design == PAIRS and len(r.partners) == 1}
    of_all, of_oracle = _of_design(compared, JOINT), _of_design(compared, ORACLE)
    if not pairs or of_all is None:
        return None
    return TaskGains(task, pairs, of_all, of_oracle)


def _of_design(compared: Sequence[Compared], design: str) -> Comparison | None:
    """Return the comparison of a design that has one condition; None where no partner helps."""
    return next((c for r, c in compared if r.design == design and r.partners), None)


def _row(gains: TaskGains) -> str:
    cells = (
        gains.task,
        _points(gains.mean_of_pairs),
        _partner(gains, gains.best_partner),
        _partner(gains, gains.worst_partner),
        count_direction(gains.by_partner.values(), "higher"),
        count_direction(gains.by_partner.values(), "lower"),
        _points(gains.of_all.gain),
        "yes" if gains.agrees else "no",
        f"{gains.pairs_below_all} of {len(gains.by_partner)}",
        "" if gains.of_oracle is None else _points(gains.of_oracle.gain),
    )
    return row(cells)


def _partner(gains: TaskGains, name: str) -> str:
    return f"{name} {_points(gains.by_partner[name].gain)}"


def _counts(tasks: Sequence[TaskGains]) -> str:
    """Return what all tasks say together."""
    num_pairs = sum(len(gains.by_partner) for gains in tasks)
    below = sum(gains.pairs_below_all for gains in tasks)
    agreeing = sum(gains.agrees for gains in tasks)
    return (
        f"All together go the way of the pairs' mean for {agreeing} of {len(tasks)} tasks, and are "
        f"above {below} of {num_pairs} pairs."
    )


def _oracle(tasks: Sequence[TaskGains]) -> str:
    """Return how often the oracle is better than all and than pairs, of tasks with helpers."""
    helped = [(task, task.of_oracle) for task in tasks if task.of_oracle is not None]
    better = sum(oracle.gain > task.of_all.gain for task, oracle in helped)
    below = sum(task.pairs_below(oracle) for task, oracle in helped)
    num_pairs = sum(len(task.by_partner) for task, _ in helped)
    return (
        f" The oracle is above all for {better} of {len(helped)} tasks with helpers, and above "
        f"{below} of their {num_pairs} pairs; where none helps, it has no gain."
    )


def _points(gain: float) -> str:
    return f"{100 * gain:+.2f}"
