"""Constituency trees, against every set of spans that do not cross."""

import time
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.span_selection import cky_decode, top_down

BOTH = pytest.mark.parametrize("decode", [cky_decode, top_down])
GAIN = st.one_of(st.floats(-3, 3), st.integers(-1, 2).map(float))


@st.composite
def _gains(draw, largest=4):
    n = draw(st.integers(1, largest))
    row = st.lists(GAIN, min_size=n + 1, max_size=n + 1)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)))


def _crossed(one, two):
    return one[0] < two[0] < one[1] < two[1] or two[0] < one[0] < two[1] < one[1]


@cache
def _trees(n):
    """Every set of spans without crossing that holds the whole sentence."""
    spans = [(a, b) for a in range(n) for b in range(a + 1, n + 1) if b - a < n]
    trees = [((0, n),)]
    for span in spans:
        trees += [(*tree, span) for tree in trees if not any(_crossed(span, old) for old in tree)]
    return trees


def _sum(gains, tree):
    return sum(float(gains[span]) for span in tree)


def _is_tree(tree, gains):
    n = len(gains)
    assert (0, n) in tree
    assert tree == sorted(set(tree), key=lambda span: (span[0], -span[1]))
    assert not any(_crossed(*pair) for pair in combinations(tree, 2))
    assert all(gains[span] > 0 for span in tree if span != (0, n))


def _check(gains):
    tree = cky_decode(gains)
    _is_tree(tree, gains)
    max_sum = max(_sum(gains, tree) for tree in _trees(len(gains)))
    assert _sum(gains, tree) == pytest.approx(max_sum, abs=1e-9)


@given(gains=_gains())
def test_no_tree_gains_more(gains):
    _check(gains)


@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0])
def test_no_tree_over_five_words_gains_more(shift):
    draw = np.random.default_rng(4)
    for _ in range(8):
        _check(draw.normal(size=(5, 6)) + shift)
        _check((draw.normal(size=(5, 6)) + shift).round())


@given(gains=_gains(largest=7))
def test_greedy_search_makes_a_tree_that_gains_no_more(gains):
    tree = top_down(gains)
    _is_tree(tree, gains)
    assert _sum(gains, tree) <= _sum(gains, cky_decode(gains)) + 1e-9


def _top_down(gains, start, end):
    """The same by recursion, one place to divide at a time."""
    here = [(start, end)] if gains[start, end] > 0 or end - start == len(gains) else []
    if end - start == 1:
        return here

    def parts(middle):
        return max(gains[start, middle], 0) + max(gains[middle, end], 0)

    middle = max(range(start + 1, end), key=parts)
    return here + _top_down(gains, start, middle) + _top_down(gains, middle, end)


@given(gains=_gains(largest=7))
def test_greedy_search_is_its_definition(gains):
    assert set(top_down(gains)) == set(_top_down(gains, 0, len(gains)))


@BOTH
@given(data=st.data())
def test_a_tree_that_stands_out_comes_back(decode, data):
    n = data.draw(st.integers(1, 4))
    tree = data.draw(st.sampled_from(_trees(n)))
    gains = np.full((n, n + 1), -1.0)
    for span in tree:
        gains[span] = 1.0
    decoded = decode(gains)
    # Greedy search may cut through a span where it sees no gain yet, the exact one never.
    assert set(decoded) <= set(tree)
    assert decode is top_down or set(decoded) == set(tree)


@BOTH
def test_no_evidence_leaves_the_whole_sentence(decode):
    assert decode(np.full((6, 7), -1.0)) == [(0, 6)]
    assert decode(np.zeros((1, 2))) == [(0, 1)]
    assert decode(np.zeros((0, 1))) == []


def test_what_pays_later_is_seen_by_the_exact_search_only():
    gains = np.full((4, 5), -1.0)
    gains[0, 3], gains[0, 2], gains[2, 4] = 2.0, 1.5, 1.0
    gains[1, 3] = 3.0
    assert top_down(gains) == [(0, 4), (0, 2), (2, 4)]
    assert cky_decode(gains) == [(0, 4), (0, 3), (1, 3)]


@BOTH
def test_a_sentence_of_a_hundred_words_takes_less_than_a_twentieth_of_a_second(decode):
    gains = np.random.default_rng(6).normal(size=(100, 101))
    times = []
    for _ in range(4):
        started = time.process_time()
        tree = decode(gains)
        times.append(time.process_time() - started)
    assert min(times) < 1 / 20
    _is_tree(tree, gains)
