"""Links of clusters, against all pairs of mentions one by one."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from spanloom.metrics.counts import Counts
from spanloom.metrics.links import count

HOMES = st.lists(st.integers(0, 4), max_size=12)


def clusters(homes, first):
    """Mentions ``first``, ``first + 1``, … by their homes."""
    found = {}
    for mention, home in enumerate(homes, first):
        found.setdefault(home, []).append(mention)
    return list(found.values())


def pairs(found):
    return {pair for cluster in found for pair in combinations(sorted(cluster), 2)}


@given(HOMES, HOMES, st.integers(0, 4))
def test_links_are_pairs_of_one_cluster(gold, predicted, shift):
    mine, theirs = clusters(gold, 0), clusters(predicted, shift)
    every, found = pairs(mine), pairs(theirs)
    assert count(mine, theirs) == Counts(len(every & found), len(found), len(every))


def test_a_cluster_of_thousands_is_counted_at_once():
    one = [range(100_000)]
    assert count(one, one) == Counts(*[100_000 * 99_999 // 2] * 3)


def test_a_mention_of_two_clusters_is_in_the_first():
    assert count([[1, 2], [2, 3]], [[1, 2, 3]]) == Counts(1, 3, 1)
