"""Spans that overlap count too: binary and proportional overlap (Johansson and Moschitti 2013).

Both sides' shares are counted apart, as precision and recall have different hits: how much of what
was predicted is gold, and how much of what is gold was predicted.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spanloom.metrics.counts import PRF
from spanloom.metrics.percentages import harmonic

Places = frozenset[int]  # the words of a span
Item = tuple[object, Places]  # what must be the same, and what shall overlap


class Shares(NamedTuple):
    """Hits among the predicted and among the gold items, whole or in part; how many there are."""

    right: float = 0
    predicted: int = 0
    found: float = 0
    gold: int = 0

    @property
    def prf(self) -> PRF:
        """All three ratios; 0.0 where they are not defined."""
        precision = self.right / self.predicted if self.predicted else 0.0
        recall = self.found / self.gold if self.gold else 0.0
        return PRF(precision, recall, harmonic(precision, recall))


def added(shares: Iterable[Shares]) -> Shares:
    """Return the sum, as if all documents were one."""
    rows = list(shares)
    return Shares(*map(sum, zip(*rows, strict=True))) if rows else Shares()


def exact(gold: Iterable[Item], predicted: Iterable[Item]) -> Shares:
    """Count items that the other side has too, duplicates merged."""
    mine, theirs = {*gold}, {*predicted}
    both = len(mine & theirs)
    return Shares(both, len(theirs), both, len(mine))


def binary(gold: Iterable[Item], predicted: Iterable[Item]) -> Shares:
    """Count items that share a word with one of the other side, duplicates merged."""
    mine, theirs = {*gold}, {*predicted}
    return Shares(
        sum(share > 0 for share in _shares(theirs, mine)),
        len(theirs),
        sum(share > 0 for share in _shares(mine, theirs)),
        len(mine),
    )


def proportional(gold: Iterable[Item], predicted: Iterable[Item]) -> Shares:
    """Add up which share of each item's words the other side's items cover, duplicates merged.

    A word that several cover counts once, so no share is above 1. An item without words is right
    if the other side has it.
    """
    mine, theirs = {*gold}, {*predicted}
    return Shares(sum(_shares(theirs, mine)), len(theirs), sum(_shares(mine, theirs)), len(mine))


def _shares(side: Iterable[Item], other: Iterable[Item]) -> list[float]:
    """Return which share of each item's words those of the other side cover."""
    covered: dict[object, set[int]] = {}
    for key, places in other:
        covered.setdefault(key, set()).update(places)
    return [_share(key, places, covered) for key, places in side]


def _share(key: object, places: Places, covered: Mapping[object, set[int]]) -> float:
    if key not in covered:
        return 0.0
    return len(places & covered[key]) / len(places) if places else float(not covered[key])
