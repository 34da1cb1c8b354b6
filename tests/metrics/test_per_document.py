"""What a row keeps of each document, written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError
from spanloom.metrics.counts import Counts, total
from spanloom.metrics.per_document import counts_per_document, loads, scores_per_document

COUNTS = st.lists(st.builds(Counts, st.integers(0, 3), st.integers(3, 9), st.integers(3, 9)))


@given(COUNTS)
def test_counts_come_back(counts):
    tally = counts_per_document(counts)
    again = loads(tally.dumps())
    assert again.rows.tolist() == tally.rows.tolist()
    assert tally.value == pytest.approx(total(counts).f1)


def test_scores_make_their_mean():
    assert scores_per_document([0.5, 0.25, 1.0]).value == pytest.approx(7 / 12)


@pytest.mark.parametrize(
    ("text", "told"),
    [("f2: 1 2 3", "expected one of f1, conll"), ("f1: 1 2", "shape"), ("f1: 1 b 2", "numbers")],
)
def test_what_is_no_tally(text, told):
    with pytest.raises(DataError, match=told):
        loads(text)
