"""Exchanging documents of two systems: all exchanges tried one by one, and drawn ones near them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError
from spanloom.metrics import bootstrap
from spanloom.metrics.bootstrap import counts_per_document
from spanloom.metrics.counts import Counts, total

ONE = [Counts(2, 2, 2), Counts(3, 3, 4), Counts(0, 1, 1), Counts(5, 5, 5), Counts(1, 1, 3)]
TWO = [Counts(1, 2, 2), Counts(3, 3, 4), Counts(0, 2, 1), Counts(3, 6, 5), Counts(0, 4, 3)]
COUNTS = st.builds(Counts, st.integers(0, 3), st.integers(3, 5), st.just(4))
PAIRS = st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=6)


def permutation(first, second, **said):
    return bootstrap.permutation(counts_per_document(first), counts_per_document(second), **said)


def by_brute_force(first, second):
    """The share of all exchanges that are as far apart."""

    def apart(swaps):
        sides = [
            (two, one) if swap else (one, two)
            for one, two, swap in zip(first, second, swaps, strict=True)
        ]
        return abs(total(one for one, _ in sides).f1 - total(two for _, two in sides).f1)

    every = list(product([False, True], repeat=len(first)))
    return sum(apart(each) >= apart(every[0]) - 1e-12 for each in every) / len(every)


@given(PAIRS)
def test_few_documents_are_exact(pairs):
    first, second = zip(*pairs, strict=True)
    expected = by_brute_force(first, second)
    assert permutation(first, second) == pytest.approx(expected)
    assert permutation(first, second) == permutation(second, first)


def test_drawn_exchanges_are_near_all_of_them():
    # 40 documents, of which few differ: the same p-value, drawn and tried
    first, second = ONE + [ONE[1]] * 35, TWO + [TWO[1]] * 35
    assert permutation(first, second) == permutation(ONE + [ONE[1]], TWO + [TWO[1]])
    drawn = permutation(ONE * 3, TWO * 3, resamples=4000)  # 2**12 exchanges
    assert drawn == pytest.approx(by_brute_force(ONE * 3, TWO * 3), abs=0.02)


def test_equal_and_very_different_systems():
    assert permutation(ONE, ONE) == 1.0
    good, bad = [Counts(9, 10, 10)] * 40, [Counts(i % 2, 10, 10) for i in range(40)]
    assert permutation(good, bad, resamples=999) == pytest.approx(0.001)


def test_a_p_value_follows_from_the_seed_and_not_from_blocks(monkeypatch):
    whole = permutation(ONE * 5, TWO * 5, seed=1, resamples=500)
    assert permutation(ONE * 5, TWO * 5, seed=1, resamples=500) == whole
    exact = permutation(ONE, TWO)
    monkeypatch.setattr(bootstrap, "CELLS", 5 * 20)
    assert permutation(ONE * 5, TWO * 5, seed=1, resamples=500) == whole
    assert permutation(ONE, TWO) == exact


@pytest.mark.parametrize(
    ("first", "second", "resamples"), [(ONE, ONE[1:], 10), ([], [], 10), (ONE, TWO, 0)]
)
def test_what_cannot_be_compared(first, second, resamples):
    with pytest.raises(DataError):
        permutation(first, second, resamples=resamples)
