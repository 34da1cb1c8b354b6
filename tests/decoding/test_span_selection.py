"""Both selections, against every subset of some spans; the greedy one, against its definition."""

import random
import time
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.span_selection import (
    greedy_non_crossing,
    max_weight_disjoint,
    max_weight_nested,
)

BOUNDS = st.tuples(st.integers(0, 8), st.integers(1, 6)).map(lambda pair: (pair[0], sum(pair)))
SPANS = st.lists(st.tuples(BOUNDS, st.integers(1, 9).map(float)), max_size=9)


def _apart(one, two):
    return one[1] <= two[0] or two[1] <= one[0]


def _uncrossed(one, two):
    inside = one[0] <= two[0] and two[1] <= one[1] or two[0] <= one[0] and one[1] <= two[1]
    return one != two and (inside or _apart(one, two))


FIT = {max_weight_disjoint: _apart, max_weight_nested: _uncrossed}
BOTH = pytest.mark.parametrize("select", FIT)


def _fits(select, rows, bounds):
    return all(FIT[select](bounds[i], bounds[j]) for i, j in combinations(rows, 2))


def _best(select, bounds, gains):
    """Try every subset."""
    sets = (rows for n in range(len(bounds) + 1) for rows in combinations(range(len(bounds)), n))
    return max(sum(gains[i] for i in rows) for rows in sets if _fits(select, rows, bounds))


@BOTH
@given(spans=SPANS)
def test_no_subset_that_fits_has_a_larger_sum(select, spans):
    bounds, gains = [pair[0] for pair in spans], [pair[1] for pair in spans]
    kept = select(bounds, gains)
    assert kept == sorted(set(kept))
    assert _fits(select, kept, bounds)
    assert sum(gains[i] for i in kept) == _best(select, bounds, gains)


@given(spans=SPANS)
def test_nesting_never_gains_less(spans):
    bounds, gains = [pair[0] for pair in spans], [pair[1] for pair in spans]
    flat, nested = (
        [gains[i] for i in select(bounds, gains)]
        for select in (max_weight_disjoint, max_weight_nested)
    )
    assert sum(nested) >= sum(flat)


@BOTH
@given(spans=SPANS, shift=st.integers(10, 50))
def test_what_stands_apart_is_chosen_apart(select, spans, shift):
    bounds, gains = [pair[0] for pair in spans], [pair[1] for pair in spans]
    shift += 20
    twice = [*bounds, *((a + shift, b + shift) for a, b in bounds)]
    once = select(bounds, gains)
    assert select(twice, gains * 2) == [*once, *(i + len(bounds) for i in once)]


@BOTH
def test_nothing_is_chosen_from_nothing(select):
    assert select([], []) == []


def test_ties_are_broken_the_same_way_each_time():
    bounds = [(0, 2), (1, 3), (0, 2), (2, 4)]
    assert [max_weight_disjoint(bounds, [1.0] * 4) for _ in range(3)] == [[0, 3]] * 3
    assert [max_weight_nested(bounds, [1.0] * 4) for _ in range(3)] == [[0, 3]] * 3


def test_of_two_rows_with_one_place_the_better_is_kept():
    assert max_weight_nested([(0, 2), (0, 2), (0, 1)], [1.0, 2.0, 1.0]) == [1, 2]
    assert max_weight_disjoint([(0, 2), (0, 2)], [1.0, 2.0]) == [1]


@BOTH
@pytest.mark.parametrize("starts", [200, 10_000])
def test_ten_thousand_spans_take_less_than_a_second(select, starts):
    draw = random.Random(1)
    bounds = [(a, a + draw.randint(1, 30)) for a in (draw.randrange(starts) for _ in range(10_000))]
    gains = [draw.random() for _ in bounds]
    started = time.process_time()
    kept = select(bounds, gains)
    assert time.process_time() - started < 1
    assert _fits(select, kept[:200], bounds)


@given(spans=SPANS)
def test_greedy_selection_takes_the_best_that_crosses_none_taken_before(spans):
    bounds, scores = [pair[0] for pair in spans], [pair[1] - 5 for pair in spans]
    taken = []
    for row in sorted(range(len(bounds)), key=lambda row: -scores[row]):
        if all(bounds[row] == bounds[one] or _uncrossed(bounds[row], bounds[one]) for one in taken):
            taken.append(row)
    assert greedy_non_crossing(bounds, scores) == sorted(taken)
