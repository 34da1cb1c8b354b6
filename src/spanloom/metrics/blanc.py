"""BLANC: score how many pairs of mentions are rightly linked, and how many rightly not linked.

This is the extension by Luo, Pradhan, Recasens and Hovy (2014) to predicted mentions: a pair with a
mention that one side lacks is not a pair of that side. Pairs are counted by clusters, never listed;
only mentions in several clusters of a side are handled individually.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import comb

from spanloom.metrics.coreference import Clusters
from spanloom.metrics.counts import PRF, Counts, Summable, harmonic, total

_ClusterIds = frozenset[int]  # the clusters of one side that a mention is in
_Membership = tuple[_ClusterIds, _ClusterIds]  # a mention's gold and predicted clusters


@dataclass(frozen=True, slots=True)
class Blanc(Summable):
    """Counts of pairs in one cluster, of pairs in two clusters, and of mentions."""

    coreference: Counts = Counts()
    non_coreference: Counts = Counts()
    mentions: Counts = Counts()

    @property
    def prf(self) -> PRF:
        """Means over both kinds of pairs.

        A kind without pairs on either side is left out. If both are, all means are 1.0 for sides
        with the same mentions, else 0.0.
        """
        kinds = [
            (counts.precision, counts.recall, harmonic(counts.precision, counts.recall))
            for counts in (self.coreference, self.non_coreference)
            if counts.gold or counts.predicted
        ]
        if not kinds:
            mentions = self.mentions
            kinds = [(float(0 < mentions.hits == mentions.gold == mentions.predicted),) * 3]
        return PRF(*(sum(ratios) / len(kinds) for ratios in zip(*kinds, strict=True)))


def blanc(gold: Clusters, predicted: Clusters) -> Blanc:
    """Count the pairs of one document; a pair is two different mentions.

    A mention in several clusters of a side is linked to the mentions of each of them, and not
    linked to all mentions of another one, itself included.
    """
    counts_of = Counter(_memberships(gold, predicted).values())
    simple = {
        membership: number
        for membership, number in counts_of.items()
        if max(map(len, membership)) < 2
    }
    multiple = {
        membership: number for membership, number in counts_of.items() if membership not in simple
    }
    linked, unlinked = _count_pairs(simple)
    remaining = dict(counts_of)
    for membership, number in multiple.items():
        del remaining[membership]
        linked += _multiply(_count_linked(membership, membership), comb(number, 2))
        unlinked += _multiply(_count_unlinked(membership, membership), comb(number, 2) + number)
        linked += total(
            _multiply(_count_linked(membership, other), number * remaining[other])
            for other in remaining
        )
        unlinked += total(
            _multiply(_count_unlinked(membership, other), number * remaining[other])
            for other in remaining
        )
    return Blanc(linked, unlinked, _count_mentions(counts_of))


def _memberships(gold: Clusters, predicted: Clusters) -> dict[Hashable, _Membership]:
    """Return the clusters of both sides that each mention is in."""
    ids_of: dict[Hashable, tuple[set[int], set[int]]] = {}
    for side, clusters in enumerate((gold, predicted)):
        for cluster_id, cluster in enumerate(clusters):
            for mention in cluster:
                ids_of.setdefault(mention, (set(), set()))[side].add(cluster_id)
    return {
        mention: (frozenset(gold_ids), frozenset(predicted_ids))
        for mention, (gold_ids, predicted_ids) in ids_of.items()
    }


def _count_mentions(counts_of: Mapping[_Membership, int]) -> Counts:
    """Count the mentions on both sides and on each side."""
    gold = sum(number for (gold_ids, _), number in counts_of.items() if gold_ids)
    predicted = sum(number for (_, predicted_ids), number in counts_of.items() if predicted_ids)
    num_shared = sum(
        number
        for (gold_ids, predicted_ids), number in counts_of.items()
        if gold_ids and predicted_ids
    )
    return Counts(num_shared, predicted, gold)


def _count_pairs(counts_of: Mapping[_Membership, int]) -> tuple[Counts, Counts]:
    """Count pairs in one cluster and in two, of mentions in at most one cluster per side."""
    sizes: tuple[Counter[_ClusterIds], Counter[_ClusterIds]] = Counter(), Counter()
    # the same of mentions on both sides
    shared: tuple[Counter[_ClusterIds], Counter[_ClusterIds]] = Counter(), Counter()
    on_both_sides = {
        membership: number for membership, number in counts_of.items() if all(membership)
    }
    for target, source in ((sizes, counts_of), (shared, on_both_sides)):
        for membership, number in source.items():
            for side, cluster_ids in enumerate(membership):
                if cluster_ids:
                    target[side][cluster_ids] += number
    gold, predicted, gold_shared, predicted_shared = map(_pairs_within, (*sizes, *shared))
    all_pairs = [comb(side_sizes.total(), 2) for side_sizes in (*sizes, shared[0])]
    hits_linked = _pairs_within(on_both_sides)
    hits_apart = all_pairs[2] - gold_shared - predicted_shared + hits_linked
    unlinked = Counts(hits_apart, all_pairs[1] - predicted, all_pairs[0] - gold)
    return Counts(hits_linked, predicted, gold), unlinked


def _pairs_within(sizes: Mapping[_ClusterIds, int] | Mapping[_Membership, int]) -> int:
    """Return the number of pairs within groups of these sizes."""
    return sum(comb(size, 2) for size in sizes.values())


def _count_linked(first: _Membership, second: _Membership) -> Counts:
    """Count a pair on the sides where both mentions are in one cluster."""
    gold, predicted = (bool(a & b) for a, b in zip(first, second, strict=True))
    return Counts(gold and predicted, predicted, gold)


def _count_unlinked(first: _Membership, second: _Membership) -> Counts:
    """Count a pair on the sides where the mentions are in two different clusters."""
    gold, predicted = (bool(a and b) and len(a | b) > 1 for a, b in zip(first, second, strict=True))
    return Counts(gold and predicted, predicted, gold)


def _multiply(counts: Counts, factor: int) -> Counts:
    """Return the counts times a number."""
    return Counts(counts.hits * factor, counts.predicted * factor, counts.gold * factor)
