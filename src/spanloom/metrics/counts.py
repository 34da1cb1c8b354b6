"""Counts of hits, predictions and gold items, with precision, recall and F1.

Undefined ratios are 0.0: precision without predictions, recall without gold items, F1 without
either. So a correct empty prediction does not raise a mean. Scorers in Perl multiply by 100 first
and take F1 of the percentages: ``percentages`` agrees with them to the last bit.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Self

Key = tuple[str, object]
"""An item to compare: its label, and everything else that must match."""


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and F1, each between 0 and 1."""

    precision: float
    recall: float
    f1: float


class Summable:
    """A dataclass of numbers whose sum is that of two sets of documents taken as one."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __add__(self, other: Self) -> Self:
        """Return the sums of all fields."""
        names = self.__dataclass_fields__
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of matching, predicted and gold items; add documents up, then use ``f1``."""

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
        """Share of hits among the predictions; 0.0 without predictions."""
        return self.hits / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of hits among the gold items; 0.0 without gold items."""
        return self.hits / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 without gold items and predictions."""
        size = self.predicted + self.gold
        return 2 * self.hits / size if size else 0.0

    @property
    def prf(self) -> PRF:
        """All three ratios."""
        return PRF(self.precision, self.recall, self.f1)


@dataclass(frozen=True, slots=True)
class PartialCounts(Summable):
    """Numerators and denominators of recall and precision.

    Unlike in ``Counts``, both ratios may have different numerators. Add documents up, then use
    ``f1``. Undefined ratios are 0.0.
    """

    recall_num: float = 0
    recall_den: float = 0
    precision_num: float = 0
    precision_den: float = 0

    @property
    def precision(self) -> float:
        """Between 0 and 1; 0.0 if nothing was predicted."""
        return self.precision_num / self.precision_den if self.precision_den else 0.0

    @property
    def recall(self) -> float:
        """Between 0 and 1; 0.0 if nothing is gold."""
        return self.recall_num / self.recall_den if self.recall_den else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 if both are 0."""
        return harmonic(self.precision, self.recall)

    @property
    def prf(self) -> PRF:
        """All three ratios."""
        return PRF(self.precision, self.recall, self.f1)


def compare(gold: Set[Key], predicted: Set[Key]) -> Counts:
    """Count the items of two sets and of their intersection."""
    return Counts(len(gold & predicted), len(predicted), len(gold))


def counts_by_label(
    hits: Mapping[str, int], predicted: Mapping[str, int], gold: Mapping[str, int]
) -> dict[str, Counts]:
    """Return the counts of each gold or predicted label, sorted; the maps are ``Counter``."""
    labels = sorted({*gold, *predicted})
    return {label: Counts(hits[label], predicted[label], gold[label]) for label in labels}


def compare_by_label(gold: Set[Key], predicted: Set[Key]) -> dict[str, Counts]:
    """Count the items of each label on either side separately; labels in sorted order."""
    sides: dict[str, tuple[set[Key], set[Key]]] = defaultdict(lambda: (set(), set()))
    for side, items in enumerate((gold, predicted)):
        for item in items:
            sides[item[0]][side].add(item)
    return {label: compare(*sides[label]) for label in sorted(sides)}


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sum of all counts: its ratios are the micro averages."""
    return sum(counts, Counts())


def total_by_label(tables: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """Add up tables of counts by label; labels in sorted order."""
    sums: dict[str, Counts] = defaultdict(Counts)
    for table in tables:
        for label, counts in table.items():
            sums[label] += counts
    return {label: sums[label] for label in sorted(sums)}


def macro(by_label: Mapping[str, Counts]) -> PRF:
    """Return the unweighted means over all gold or predicted labels; zeros without any.

    A label that is only predicted has F1 0.0 and lowers the mean, as in seqeval and scikit-learn.
    """
    size = len(by_label) or 1
    return PRF(
        sum(counts.precision for counts in by_label.values()) / size,
        sum(counts.recall for counts in by_label.values()) / size,
        sum(counts.f1 for counts in by_label.values()) / size,
    )


def percent(part: float, total: float) -> float:
    """Return ``part`` of ``total`` in percent; 0.0 if ``total`` is 0."""
    return 100 * part / total if total else 0.0


def percentages(counts: Counts) -> PRF:
    """Return all three ratios in percent, from 0 to 100; undefined ones are 0.0."""
    precision = percent(counts.hits, counts.predicted)
    recall = percent(counts.hits, counts.gold)
    return PRF(precision, recall, harmonic(precision, recall))


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean; 0.0 if both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def round_as_printed(number: float, digits: int = 2) -> float:
    """Return the number rounded as printing with that many digits does."""
    return float(f"{number:.{digits}f}")


def format_ratios(ratios: PRF) -> dict[str, float]:
    """Return the three ratios by name, to two digits."""
    return {
        "precision": round_as_printed(ratios.precision),
        "recall": round_as_printed(ratios.recall),
        "f1": round_as_printed(ratios.f1),
    }


def label_f1(label: str) -> str:
    """Return the name of the metric that is a label's F1."""
    return f"f1_{label}"
