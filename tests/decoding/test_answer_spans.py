"""The best answer, against a list of all of them."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.span_selection import best_answer_span

SCORE = st.one_of(st.integers(-2, 2).map(float), st.just(-np.inf), st.floats(-3, 3, width=32))


@st.composite
def _ends(draw):
    n = draw(st.integers(0, 8))
    scores = st.lists(SCORE, min_size=n, max_size=n).map(lambda row: np.array(row, dtype=float))
    return draw(scores), draw(scores)


def _all(start, end, widest):
    """All answers, best first; of equals by start, then by end."""
    n = len(start)
    spans = [(a, b) for a in range(n) for b in range(a + 1, n + 1) if b - a <= widest]
    answers = [(a, b, float(start[a] + end[b - 1])) for a, b in spans]
    possible = (answer for answer in answers if answer[2] > -np.inf)
    return sorted(possible, key=lambda answer: -answer[2])


@given(ends=_ends(), widest=st.integers(0, 10))
def test_the_best_of_all_answers_and_of_equals_the_first_then_the_narrower(ends, widest):
    start, end = ends
    assert best_answer_span(start, end, widest) == next(iter(_all(start, end, widest)), None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_and_an_end_that_stand_out_are_the_answer(dtype):
    start, end = np.zeros((2, 6), dtype=dtype)
    start[2] = end[4] = 3
    assert best_answer_span(start, end, 6) == (2, 5, 6.0)
    assert best_answer_span(start, end, 2) == (2, 3, 3.0)


def test_nothing_possible_is_no_answer():
    scores = np.zeros(3)
    assert best_answer_span(scores, scores, 0) is None
    assert best_answer_span(scores, np.full(3, -np.inf), 2) is None
    assert best_answer_span(scores[:0], scores[:0], 2) is None


def test_ten_thousand_words_take_less_than_a_second():
    start, end = np.random.default_rng(1).normal(size=(2, 10_000))
    started = time.process_time()
    assert best_answer_span(start, end, 50)
    assert time.process_time() - started < 1
