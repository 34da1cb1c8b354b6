"""The best assignment, against every assignment there is, and against one whose sum is known."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.metrics.coreference import best_assignment

PAIRS = st.tuples(st.integers(0, 4), st.integers(0, 4))
WEIGHTS = st.dictionaries(PAIRS, st.integers(1, 20) | st.floats(0.01, 1.0))


def weight(chosen, weights):
    return sum(weights[pair] for pair in chosen.items())


def brute(weights):
    """The greatest sum over all ways to give five rows five columns."""
    return max(
        sum(weights.get(pair, 0) for pair in enumerate(columns))
        for columns in permutations(range(5))
    )


@given(WEIGHTS)
def test_against_every_assignment(weights):
    chosen = best_assignment(weights)
    assert len(set(chosen.values())) == len(chosen)
    assert list(chosen) == sorted(chosen)
    assert weight(chosen, weights) == pytest.approx(brute(weights), abs=1e-9)


@given(WEIGHTS)
def test_rows_and_columns_may_change_sides(weights):
    turned = {(column, row): each for (row, column), each in weights.items()}
    assert weight(best_assignment(turned), turned) == pytest.approx(
        weight(best_assignment(weights), weights), abs=1e-9
    )


def test_nothing_and_one():
    assert best_assignment({}) == {}
    assert best_assignment({(7, 3): 0.5}) == {7: 3}


def test_the_heaviest_pair_may_stay_apart():
    assert best_assignment({(0, 0): 5, (0, 1): 4, (1, 0): 4}) == {0: 1, 1: 0}


@pytest.mark.parametrize("shape", [(60, 60), (40, 90), (90, 40)])
def test_a_large_part_that_was_made_around_its_answer(shape):
    """No pair weighs more than its row's and column's prices; those chosen weigh just that."""
    dice = np.random.default_rng(2)
    rows, columns = dice.integers(1, 50, shape[0]), dice.integers(1, 50, shape[1])
    few = min(shape)
    rows[few:], columns[few:] = 0, 0  # who gets nothing has no price
    weights = rows[:, None] + columns[None] - dice.integers(0, 3, shape)
    order = dice.permutation(few)
    weights[np.arange(few), order] = rows[:few] + columns[order]
    given = {pair: int(each) for pair, each in np.ndenumerate(weights) if each > 0}
    assert weight(best_assignment(given), given) == rows.sum() + columns.sum()
