"""Count partial matches of spans: binary and proportional overlap (Johansson and Moschitti 2013).

Precision and recall have different hits: the share of what was predicted that is gold, and the
share of what is gold that was predicted.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spanloom.metrics.counts import PRF
from spanloom.metrics.percentages import harmonic

Places = frozenset[int]  # indices of the words of a span
Item = tuple[object, Places]  # what must be equal, and the words that must overlap


class PartialCounts(NamedTuple):
    """Hits among the predicted and among the gold items, partial ones included; item numbers."""

    right: float = 0
    predicted: int = 0
    found: float = 0
    gold: int = 0

    @property
    def prf(self) -> PRF:
        """All three ratios; 0.0 where undefined."""
        precision = self.right / self.predicted if self.predicted else 0.0
        recall = self.found / self.gold if self.gold else 0.0
        return PRF(precision, recall, harmonic(precision, recall))


def added(counts: Iterable[PartialCounts]) -> PartialCounts:
    """Return the sum, as if all documents were one."""
    rows = list(counts)
    return PartialCounts(*map(sum, zip(*rows, strict=True))) if rows else PartialCounts()


def exact(gold: Iterable[Item], predicted: Iterable[Item]) -> PartialCounts:
    """Count items that the other side has too; duplicates are merged."""
    gold_items, predicted_items = {*gold}, {*predicted}
    num_shared = len(gold_items & predicted_items)
    return PartialCounts(num_shared, len(predicted_items), num_shared, len(gold_items))


def binary(gold: Iterable[Item], predicted: Iterable[Item]) -> PartialCounts:
    """Count items that share a word with an item of the other side; duplicates are merged."""
    gold_items, predicted_items = {*gold}, {*predicted}
    return PartialCounts(
        sum(share > 0 for share in _shares(predicted_items, gold_items)),
        len(predicted_items),
        sum(share > 0 for share in _shares(gold_items, predicted_items)),
        len(gold_items),
    )


def proportional(gold: Iterable[Item], predicted: Iterable[Item]) -> PartialCounts:
    """Add up the share of each item's words that the other side covers; duplicates are merged.

    A word that several items cover counts once, so no share is above 1. An item without words is
    right if the other side has it too.
    """
    gold_items, predicted_items = {*gold}, {*predicted}
    return PartialCounts(
        sum(_shares(predicted_items, gold_items)),
        len(predicted_items),
        sum(_shares(gold_items, predicted_items)),
        len(gold_items),
    )


def _shares(items: Iterable[Item], other_items: Iterable[Item]) -> list[float]:
    """Return the share of each item's words that items of the other side cover."""
    covered: dict[object, set[int]] = {}
    for key, words in other_items:
        covered.setdefault(key, set()).update(words)
    return [_share(key, words, covered) for key, words in items]


def _share(key: object, words: Places, covered: Mapping[object, set[int]]) -> float:
    """Return the covered share of an item's words."""
    if key not in covered:
        return 0.0
    return len(words & covered[key]) / len(words) if words else float(not covered[key])
