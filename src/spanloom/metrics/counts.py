"""Hits, predictions and gold items, and what follows from them.

Undefined ratios are 0.0: precision where nothing was predicted, recall where nothing is gold, F1
where there is neither. So "nothing there, nothing found" does not raise a mean.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

Key = tuple[str, object]
"""An item as it is compared: its label, and all that must match besides."""


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and F1, each between 0 and 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items match, were predicted, are gold; add documents up, then ask for ``f1``."""

    hits: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Return the sum of both, as if their documents were one set."""
        return Counts(
            self.hits + other.hits, self.predicted + other.predicted, self.gold + other.gold
        )

    @property
    def precision(self) -> float:
        """Hits among the predictions; 0.0 where there are none."""
        return self.hits / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Hits among the gold items; 0.0 where there are none."""
        return self.hits / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 where there is neither gold nor prediction."""
        both = self.predicted + self.gold
        return 2 * self.hits / both if both else 0.0

    @property
    def prf(self) -> PRF:
        """All three ratios."""
        return PRF(self.precision, self.recall, self.f1)


def compare(gold: Set[Key], predicted: Set[Key]) -> Counts:
    """Count the items of two sets and of their intersection."""
    return Counts(len(gold & predicted), len(predicted), len(gold))


def compare_by_label(gold: Set[Key], predicted: Set[Key]) -> dict[str, Counts]:
    """Count each label that occurs on either side apart; labels in sorted order."""
    sides: dict[str, tuple[set[Key], set[Key]]] = defaultdict(lambda: (set(), set()))
    for side, items in enumerate((gold, predicted)):
        for item in items:
            sides[item[0]][side].add(item)
    return {label: compare(*sides[label]) for label in sorted(sides)}


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sum of them all: micro-averaged ratios are those of this sum."""
    return sum(counts, Counts())


def total_by_label(tables: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """Add up tables of counts by label; labels in sorted order."""
    sums: dict[str, Counts] = defaultdict(Counts)
    for table in tables:
        for label, counts in table.items():
            sums[label] += counts
    return {label: sums[label] for label in sorted(sums)}


def macro(by_label: Mapping[str, Counts]) -> PRF:
    """Return the plain means over all labels that are gold or predicted; zeros without any.

    A label that is only predicted has F1 0.0 and lowers the mean, as in seqeval and scikit-learn.
    """
    size = len(by_label) or 1
    return PRF(
        sum(each.precision for each in by_label.values()) / size,
        sum(each.recall for each in by_label.values()) / size,
        sum(each.f1 for each in by_label.values()) / size,
    )
