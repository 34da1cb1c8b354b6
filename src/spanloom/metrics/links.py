"""Coreference as links: of any two mentions, whether they mean the same (SpanRel, table 2).

Links are counted by clusters, never listed: a cluster of thousands has millions of them.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from math import comb

from spanloom.metrics.counts import Counts


def count(gold: Iterable[Iterable[Hashable]], predicted: Iterable[Iterable[Hashable]]) -> Counts:
    """Count the pairs of mentions that stand in one cluster, in both and on each side.

    What stands for a mention is compared; of several clusters a mention is in the first.
    """
    mine, theirs = _homes(gold), _homes(predicted)
    both = Counter((home, theirs[mention]) for mention, home in mine.items() if mention in theirs)
    return Counts(
        *(_pairs(each) for each in (both, Counter(theirs.values()), Counter(mine.values())))
    )


def _homes(clusters: Iterable[Iterable[Hashable]]) -> dict[Hashable, int]:
    """The row of the cluster that each mention is in."""
    homes: dict[Hashable, int] = {}
    for row, cluster in enumerate(clusters):
        for mention in cluster:
            homes.setdefault(mention, row)
    return homes


def _pairs(sizes: Counter[int] | Counter[tuple[int, int]]) -> int:
    return sum(comb(size, 2) for size in sizes.values())
