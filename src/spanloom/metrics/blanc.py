"""BLANC: how many pairs of mentions are rightly linked, and how many rightly not.

As Luo, Pradhan, Recasens and Hovy (2014) extend it to mentions that a system found itself: a pair
of which one side lacks a mention is none of that side's pairs. Pairs are counted by clusters, never
listed; only mentions that stand in several clusters of a side are looked at one by one.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import comb

from spanloom.metrics.coreference import Clusters
from spanloom.metrics.counts import PRF, Counts, total
from spanloom.metrics.percentages import harmonic

_Rows = frozenset[int]  # the clusters of one side that a mention is in
_Place = tuple[_Rows, _Rows]  # of the gold side, of the predicted one


@dataclass(frozen=True, slots=True)
class Blanc:
    """Pairs of mentions in one cluster, pairs in two, and the mentions themselves."""

    coreference: Counts = Counts()
    non_coreference: Counts = Counts()
    mentions: Counts = Counts()

    def __add__(self, other: "Blanc") -> "Blanc":
        """Return the sum of both, as if their documents were one set."""
        return Blanc(
            self.coreference + other.coreference,
            self.non_coreference + other.non_coreference,
            self.mentions + other.mentions,
        )

    @property
    def prf(self) -> PRF:
        """The means over both kinds of pairs.

        A kind of which neither side has a pair is left out. Where that is so of both, all are 1.0
        for sides with the same mentions, else 0.0.
        """
        kinds = [
            (each.precision, each.recall, harmonic(each.precision, each.recall))
            for each in (self.coreference, self.non_coreference)
            if each.gold or each.predicted
        ]
        if not kinds:
            both = self.mentions
            kinds = [(float(0 < both.hits == both.gold == both.predicted),) * 3]
        return PRF(*(sum(ratios) / len(kinds) for ratios in zip(*kinds, strict=True)))


def blanc(gold: Clusters, predicted: Clusters) -> Blanc:
    """Count the pairs of one document; a pair is two different mentions.

    One in several clusters of a side is linked to those of each of them, and not linked to all that
    are in another one, itself too.
    """
    places = Counter(_places(gold, predicted).values())
    plain = {place: times for place, times in places.items() if max(map(len, place)) < 2}
    several = {place: times for place, times in places.items() if place not in plain}
    linked, unlinked = _pairs(plain)
    rest = dict(places)
    for place, times in several.items():
        del rest[place]
        linked += _times(_linked(place, place), comb(times, 2))
        unlinked += _times(_unlinked(place, place), comb(times, 2) + times)
        linked += total(_times(_linked(place, each), times * rest[each]) for each in rest)
        unlinked += total(_times(_unlinked(place, each), times * rest[each]) for each in rest)
    return Blanc(linked, unlinked, _mentions(places))


def _places(gold: Clusters, predicted: Clusters) -> dict[Hashable, _Place]:
    """The clusters of both sides that each mention is in."""
    found: dict[Hashable, tuple[set[int], set[int]]] = {}
    for side, clusters in enumerate((gold, predicted)):
        for row, cluster in enumerate(clusters):
            for mention in cluster:
                found.setdefault(mention, (set(), set()))[side].add(row)
    return {
        mention: (frozenset(mine), frozenset(theirs)) for mention, (mine, theirs) in found.items()
    }


def _mentions(places: Mapping[_Place, int]) -> Counts:
    """How many mentions there are on both sides and on each."""
    gold = sum(times for (mine, _), times in places.items() if mine)
    predicted = sum(times for (_, theirs), times in places.items() if theirs)
    both = sum(times for (mine, theirs), times in places.items() if mine and theirs)
    return Counts(both, predicted, gold)


def _pairs(places: Mapping[_Place, int]) -> tuple[Counts, Counts]:
    """Pairs in one cluster and in two, of mentions that each side has once or not at all."""
    sizes: tuple[Counter[_Rows], Counter[_Rows]] = Counter(), Counter()
    shared: tuple[Counter[_Rows], Counter[_Rows]] = Counter(), Counter()  # of those on both sides
    common = {place: times for place, times in places.items() if all(place)}
    for into, some in ((sizes, places), (shared, common)):
        for place, times in some.items():
            for side, rows in enumerate(place):
                if rows:
                    into[side][rows] += times
    gold, predicted, gold_shared, predicted_shared = map(_within, (*sizes, *shared))
    every = [comb(each.total(), 2) for each in (*sizes, shared[0])]
    both = _within(common)
    apart = every[2] - gold_shared - predicted_shared + both
    return Counts(both, predicted, gold), Counts(apart, every[1] - predicted, every[0] - gold)


def _within(sizes: Mapping[_Rows, int] | Mapping[_Place, int]) -> int:
    return sum(comb(size, 2) for size in sizes.values())


def _linked(one: _Place, two: _Place) -> Counts:
    """Whether two mentions are in one cluster."""
    gold, predicted = (bool(mine & theirs) for mine, theirs in zip(one, two, strict=True))
    return Counts(gold and predicted, predicted, gold)


def _unlinked(one: _Place, two: _Place) -> Counts:
    """Whether two mentions are in two clusters."""
    gold, predicted = (
        bool(mine and theirs) and len(mine | theirs) > 1
        for mine, theirs in zip(one, two, strict=True)
    )
    return Counts(gold and predicted, predicted, gold)


def _times(counts: Counts, times: int) -> Counts:
    return Counts(counts.hits * times, counts.predicted * times, counts.gold * times)
