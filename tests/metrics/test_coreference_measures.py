"""Measures of clusters: papers' examples, every pair and assignment listed, and what must hold."""

from itertools import combinations, permutations
from math import isclose

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spanloom.metrics import coreference
from spanloom.metrics.blanc import Blanc, blanc
from spanloom.metrics.coreference import (
    Coreference,
    score,
    without_singletons,
)
from spanloom.metrics.counts import Counts, PartialCounts

# the example of Luo et al. (2014), Pradhan et al. (2014), and Moosavi and Strube (2016)
GOLD = ["abc", "defg"]
PREDICTED = ["ab", "cd", "fghi"]


@st.composite
def partitions(draw):
    """Draw clusters of some of eight mentions, each in at most one."""
    rows = draw(st.lists(st.integers(-1, 4), min_size=8, max_size=8))
    named = [[each for each, row in enumerate(rows) if row == cluster] for cluster in range(5)]
    return [cluster for cluster in named if cluster]


REPEATING = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), max_size=4)


def recalls(gold, predicted):
    """The recall's ends by the papers' own formulas, on sets; CEAF by all assignments."""
    gold, predicted = [set(each) for each in gold], [set(each) for each in predicted]
    others = [{each} for each in set().union(*gold) - set().union(*predicted)]
    return {
        "mentions": (len(set().union(*gold) & set().union(*predicted)), sum(map(len, gold))),
        "muc": (
            sum(len(k) - sum(bool(k & r) for r in predicted + others) for k in gold),
            sum(len(k) - 1 for k in gold),
        ),
        "b_cubed": (
            sum(len(k & r) / len(k) for k in gold for m in k for r in predicted if m in r),
            sum(map(len, gold)),
        ),
        "ceaf_m": (matched(gold, predicted, lambda k, r: len(k & r)), sum(map(len, gold))),
        "ceaf_e": (
            matched(gold, predicted, lambda k, r: 2 * len(k & r) / (len(k) + len(r))),
            len(gold),
        ),
        "lea": (sum(len(k) * kept(k, predicted) for k in gold), sum(map(len, gold))),
    }


def matched(gold, predicted, alike):
    few, many = sorted((gold, predicted), key=len)
    return max(
        sum(alike(*each) for each in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )


def kept(cluster, others):
    """The share of a cluster's links, of one mention that to itself."""
    if len(cluster) == 1:
        return float(cluster in others)
    links = list(combinations(sorted(cluster), 2))
    return sum(any({*link} <= each for each in others) for link in links) / len(links)


@given(partitions(), partitions())
def test_against_the_formulas(gold, predicted):
    recall, precision = recalls(gold, predicted), recalls(predicted, gold)
    for name, ends in recall.items():
        found = getattr(coreference, name)(gold, predicted)
        assert (found.recall_num, found.recall_den) == pytest.approx(ends)
        assert (found.precision_num, found.precision_den) == pytest.approx(precision[name])


def pairs_of(clusters):
    """All pairs of different mentions in one cluster, and all of mentions in two."""
    linked = {frozenset(pair) for each in clusters for pair in combinations(each, 2)}
    apart = {
        frozenset((one, two))
        for first, second in combinations(clusters, 2)
        for one in first
        for two in second
    }
    return linked, apart


@given(REPEATING, REPEATING)
def test_pairs_against_all_of_them_mentions_in_several_clusters_too(gold, predicted):
    found = blanc(gold, predicted)
    sides = zip(pairs_of(gold), pairs_of(predicted), strict=True)
    for mine, (one, two) in zip((found.coreference, found.non_coreference), sides, strict=True):
        assert mine == Counts(len(one & two), len(two), len(one))
    mentions = [{each for cluster in side for each in cluster} for side in (gold, predicted)]
    both = mentions[0] & mentions[1]
    assert found.mentions == Counts(len(both), len(mentions[1]), len(mentions[0]))


def test_the_example_of_the_papers():
    found = score(GOLD, PREDICTED)
    assert found.muc == PartialCounts(2, 5, 2, 5)
    assert found.b_cubed.recall == pytest.approx((2 * 2 / 3 + 1 / 3 + 1 / 4 + 2 * 2 / 4) / 7)
    assert found.b_cubed.precision == pytest.approx((2 + 1 / 2 + 1 / 2 + 2 * 2 / 4) / 8)
    assert found.ceaf_e.recall_num == pytest.approx(4 / 5 + 2 * 2 / 8)
    assert (found.ceaf_e.recall_den, found.ceaf_e.precision_den) == (2, 3)
    assert found.lea.recall == pytest.approx((3 * 1 / 3 + 4 * 1 / 6) / 7)
    assert found.lea.precision == pytest.approx((2 * 1 + 2 * 0 + 4 * 1 / 6) / 8)
    assert coreference.ceaf_m(GOLD, PREDICTED) == PartialCounts(4, 7, 4, 8)
    means = (found.muc.f1 + found.b_cubed.f1 + found.ceaf_e.f1) / 3
    assert found.average == pytest.approx(means)
    pairs = blanc(GOLD, PREDICTED)
    assert (pairs.coreference, pairs.non_coreference) == (Counts(2, 8, 9), Counts(8, 20, 12))
    assert pairs.prf.recall == pytest.approx((2 / 9 + 8 / 12) / 2)
    assert pairs.prf.precision == pytest.approx((2 / 8 + 8 / 20) / 2)
    assert pairs.prf.f1 == pytest.approx((4 / 17 + 16 / 32) / 2)


@given(partitions())
def test_what_is_gold_is_perfect(gold):
    assume(gold)
    found = score(gold, gold)
    assert found.mentions.f1 == found.b_cubed.f1 == found.ceaf_e.f1 == found.lea.f1 == 1
    assert found.muc.f1 == float(any(len(each) > 1 for each in gold))
    assert blanc(gold, gold).prf.f1 == 1


@given(partitions(), partitions())
def test_sides_change_precision_and_recall_and_clusters_have_no_order(gold, predicted):
    there, back = score(gold, predicted), score(predicted[::-1], gold[::-1])
    for name in ("mentions", "muc", "b_cubed", "ceaf_e", "lea"):
        one, two = getattr(there, name), getattr(back, name)
        assert isclose(one.recall, two.precision, abs_tol=1e-12)
        assert isclose(one.f1, two.f1, abs_tol=1e-12)


@given(partitions(), partitions(), partitions(), partitions())
def test_documents_are_added_up(first, second, third, fourth):
    """Two documents count as one whose mentions are told apart."""
    sides = zip((first, second), (third, fourth), strict=True)
    joined = [
        [
            [(number, each) for each in cluster]
            for number, side in enumerate(two)
            for cluster in side
        ]
        for two in sides
    ]
    whole = score(*joined)
    summed = score(first, second) + score(third, fourth)
    for name in ("mentions", "muc", "b_cubed", "ceaf_e", "lea"):
        one, two = getattr(whole, name), getattr(summed, name)
        assert one.f1 == pytest.approx(two.f1)


def test_nothing_is_worth_nothing():
    assert score([], []) == Coreference()
    assert Coreference().average == 0
    assert blanc([], []) == Blanc()
    assert Blanc().prf.f1 == 0


def test_one_mention_has_no_pair_and_is_right_or_wrong():
    assert blanc(["a"], ["a"]).prf.f1 == 1
    assert blanc(["a"], ["b"]).prf.f1 == 0


def test_a_kind_of_pairs_that_neither_side_has_is_left_out():
    assert blanc(["abc"], ["abc"]).prf.f1 == 1
    assert blanc(["a", "b"], ["a", "b"]).prf.f1 == 1
    assert blanc(["abc"], ["ab"]).prf.recall == pytest.approx(1 / 3)
    assert blanc(["ab"], ["a", "b"]).prf.f1 == 0


def test_clusters_without_singletons():
    assert without_singletons(["ab", "c", "def"]) == ["ab", "def"]


def test_a_mention_in_several_clusters_is_at_home_in_the_last():
    found = score(["ab", "ac"], ["ab", "c"])
    assert found.mentions == PartialCounts(3, 3, 3, 3)
    assert found.muc == PartialCounts(
        1, 2, 0, 1
    )  # the response's a is with c in gold, its b is not
    assert found.ceaf_e.recall_num == pytest.approx(1 + 2 / 3)


def test_hundreds_of_clusters_at_once():
    """Clusters shifted by one mention make a single part of the assignment."""
    gold = [range(10 * each, 10 * each + 10) for each in range(400)]
    predicted = [range(10 * each + 3, 10 * each + 13) for each in range(400)]
    found = score(gold, predicted)
    assert found.ceaf_e.recall == pytest.approx(0.7)
    assert found.b_cubed.recall == pytest.approx((399 * (0.49 + 0.09) + 0.49) / 400)
