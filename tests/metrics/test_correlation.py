"""Correlations and p-values against fractions, closed forms and counting."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.metrics.correlation import pearson, pearson_p, spearman, spearman_p

SHARES = st.floats(0, 0.999, allow_subnormal=False)
NUMBERS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=15)


def tail(correlation, points):
    """The two tails of (1 - t²)^k for an even number of points, k = points / 2 - 2, exactly."""
    power = points // 2 - 2
    terms = [Fraction((-1) ** k * math.comb(power, k), 2 * k + 1) for k in range(power + 1)]
    at = Fraction(correlation)
    part = sum(term * at ** (2 * k + 1) for k, term in enumerate(terms))
    return float(1 - part / sum(terms))


@given(SHARES, st.integers(2, 40).map(lambda half: 2 * half))
def test_tails_are_those_of_an_integral(correlation, points):
    expected = tail(correlation, points)
    close = {"rel": 1e-11, "abs": 1e-300}
    assert pearson_p(correlation, points) == pytest.approx(expected, **close)
    assert pearson_p(-correlation, points) == pearson_p(correlation, points)
    assert spearman_p(correlation, points) == pytest.approx(expected, **close)
    assert spearman_p(-correlation, points) == spearman_p(correlation, points)


@given(SHARES)
def test_three_points_have_a_closed_form(correlation):
    expected = 1 - 2 / math.pi * math.asin(correlation)
    assert pearson_p(correlation, 3) == pytest.approx(expected, abs=1e-12)
    assert spearman_p(correlation, 3) == pytest.approx(expected, abs=1e-12)


@given(st.sampled_from([5, 7, 51, 1001]), SHARES)
def test_odd_points_lie_between_even_ones(points, correlation):
    above, here, below = (pearson_p(correlation, points + step) for step in (-1, 0, 1))
    assert above >= here >= below


def test_ends():
    assert pearson_p(1.0, 2) == 1.0
    assert pearson_p(1.0, 5) == spearman_p(-1.0, 5) == 0.0
    assert spearman_p(0.9, 100_000) == pearson_p(0.9, 100_000) == 0.0
    undefined = [pearson_p(math.nan, 2), pearson_p(math.nan, 9), spearman_p(math.nan, 9)]
    assert all(map(math.isnan, [*undefined, spearman_p(1.0, 2)]))


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
        assert math.isnan(pearson(*sides))
        assert math.isnan(spearman(*sides))
        return
    assert pearson(*sides) == pytest.approx(by_hand(pairs), abs=1e-14)
    ranks = list(zip(ranked(one), ranked(two), strict=True))
    assert spearman(*sides) == pytest.approx(by_hand(ranks), abs=1e-14)


def test_two_points_and_tiny_numbers():
    assert pearson(np.array([0.0, 1.0]), np.array([3.0, 2.0])) == -1.0
    tiny = np.array([1e-200, 2e-200, 4e-200])
    assert pearson(tiny, tiny * 3) == pytest.approx(1.0)
