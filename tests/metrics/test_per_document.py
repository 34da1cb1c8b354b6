"""What a row keeps of each document, written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError
from spanloom.metrics.bootstrap import counts_per_document, loads, scores_per_document
from spanloom.metrics.counts import Counts, total

COUNTS = st.lists(st.builds(Counts, st.integers(0, 3), st.integers(3, 9), st.integers(3, 9)))


@given(COUNTS)
def test_counts_come_back(counts):
    document_counts = counts_per_document(counts)
    again = loads(document_counts.dumps())
    assert again.rows.tolist() == document_counts.rows.tolist()
    assert document_counts.value == pytest.approx(total(counts).f1)


def test_scores_make_their_mean():
    assert scores_per_document([0.5, 0.25, 1.0]).value == pytest.approx(7 / 12)


@pytest.mark.parametrize(
    ("text", "told"),
    [("f2: 1 2 3", "expected one of f1, conll"), ("f1: 1 2", "shape"), ("f1: 1 b 2", "numbers")],
)
def test_what_is_no_counts(text, told):
    with pytest.raises(DataError, match=told):
        loads(text)
