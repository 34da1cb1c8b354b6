"""Correlations and p-values against fractions, closed forms and counting."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spanloom.metrics.bootstrap import loads, numbers_per_document
from spanloom.metrics.classification import RegressionReport, pearson, spearman

PAIRS = st.tuples(st.integers(-9, 9), st.integers(-9, 9))
NUMBERS = st.lists(PAIRS, min_size=3, max_size=15)


def tail(correlation, points):
    """The two tails of (1 - t²)^k for an even number of points, k = points / 2 - 2, exactly."""
    power = points // 2 - 2
    terms = [Fraction((-1) ** k * math.comb(power, k), 2 * k + 1) for k in range(power + 1)]
    at = Fraction(correlation)
    part = sum(term * at ** (2 * k + 1) for k, term in enumerate(terms))
    return float(1 - part / sum(terms))


@given(
    st.integers(2, 20).flatmap(lambda half: st.lists(PAIRS, min_size=2 * half, max_size=2 * half))
)
def test_tails_are_those_of_an_integral(pairs):
    sides = tuple(np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    assume(min(map(np.ptp, sides)) > 0)
    close = {"rel": 1e-9, "abs": 1e-12}
    for correlate in (pearson, spearman):
        correlation, p_value = correlate(*sides)
        assume(abs(correlation) < 0.999)
        assert p_value == pytest.approx(tail(abs(correlation), len(pairs)), **close)
        assert correlate(sides[0], -sides[1])[1] == pytest.approx(p_value, **close)


@given(st.lists(PAIRS, min_size=3, max_size=3))
def test_three_points_have_a_closed_form(pairs):
    sides = tuple(np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    assume(min(map(np.ptp, sides)) > 0)
    for correlate in (pearson, spearman):
        correlation, p_value = correlate(*sides)
        expected = 1 - 2 / math.pi * math.asin(min(1.0, abs(correlation)))
        assert p_value == pytest.approx(expected, abs=1e-7)


def test_ends():
    line = np.arange(5.0)
    assert pearson(line[:2], line[:2]) == (1.0, 1.0)
    assert pearson(line, line)[1] == pytest.approx(0, abs=1e-12)
    assert spearman(line, -line)[1] == pytest.approx(0, abs=1e-12)
    assert math.isnan(spearman(line[:2], line[:2])[1])
    undefined = [pearson(line[:1], line[:1]), pearson(line, 0 * line), spearman(line, 0 * line)]
    assert all(map(math.isnan, [number for both in undefined for number in both]))


def by_hand(pairs):
    """Pearson's correlation in fractions up to the root."""
    one, two = zip(*pairs, strict=True)
    means = [Fraction(sum(side), len(side)) for side in (one, two)]
    a, b = ([x - mean for x in side] for side, mean in zip((one, two), means, strict=True))
    spread = sum(x * x for x in a) * sum(y * y for y in b)
    return float(sum(x * y for x, y in zip(a, b, strict=True))) / math.sqrt(spread)


def ranked(values):
    """Twice the mean rank of each: how many are less, and how many are less or equal, plus 1."""
    return [sum(x < v for x in values) + sum(x <= v for x in values) + 1 for v in values]


@given(NUMBERS)
def test_correlations_are_those_of_fractions(pairs):
    one, two = (list(side) for side in zip(*pairs, strict=True))
    sides = np.array(one, dtype=float), np.array(two, dtype=float)
    if len({*one}) == 1 or len({*two}) == 1:
        assert math.isnan(pearson(*sides)[0])
        assert math.isnan(spearman(*sides)[0])
        return
    assert pearson(*sides)[0] == pytest.approx(by_hand(pairs), abs=1e-14)
    ranks = list(zip(ranked(one), ranked(two), strict=True))
    assert spearman(*sides)[0] == pytest.approx(by_hand(ranks), abs=1e-14)


def test_two_points_and_tiny_numbers():
    assert pearson(np.array([0.0, 1.0]), np.array([3.0, 2.0]))[0] == -1.0
    tiny = np.array([1e-200, 2e-200, 4e-200])
    assert pearson(tiny, tiny * 3)[0] == pytest.approx(1.0)


@given(NUMBERS)
def test_sums_per_text_give_the_correlation_of_all_texts(pairs):
    gold, predicted = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    expected = pearson(gold, predicted)[0]
    counts = RegressionReport("score", tuple(pairs)).per_document_counts()["pearson"]
    assert loads(counts.dumps()).value == pytest.approx(max(0.0, np.nan_to_num(expected)))


def test_where_texts_have_no_number_there_are_no_sums():
    assert RegressionReport("score", ((1.0, 2.0),), missing=1).per_document_counts() == {}
    assert numbers_per_document([]).value == 0.0
