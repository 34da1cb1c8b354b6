"""Best answers, against a list of all of them."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.span_selection import best_answer_spans

SCORE = st.one_of(st.integers(-2, 2).map(float), st.just(-np.inf), st.floats(-3, 3, width=32))
REGION = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: (min(ends), max(ends)))


@st.composite
def _ends(draw):
    n = draw(st.integers(0, 8))
    scores = st.lists(SCORE, min_size=n, max_size=n).map(lambda row: np.array(row, dtype=float))
    return draw(scores), draw(scores)


def _all(start, end, widest, allowed):
    """Every answer, best first; of equals by start, then by end."""
    n = len(start)
    regions = [(0, n)] if allowed is None else allowed
    spans = [(a, b) for a in range(n) for b in range(a + 1, n + 1) if b - a <= widest]
    spans = [span for span in spans if any(a <= span[0] and span[1] <= b for a, b in regions)]
    answers = [(a, b, float(start[a] + end[b - 1])) for a, b in spans]
    return sorted(
        (answer for answer in answers if answer[2] > -np.inf), key=lambda answer: -answer[2]
    )


@given(
    ends=_ends(),
    widest=st.integers(0, 10),
    allowed=st.none() | st.lists(REGION, max_size=3),
    k=st.integers(0, 40),
)
def test_the_best_of_all_answers_in_their_order(ends, widest, allowed, k):
    start, end = ends
    if allowed is not None:
        allowed = [(min(a, len(start)), min(b, len(start))) for a, b in allowed]
    assert (
        best_answer_spans(start, end, widest, allowed, k) == _all(start, end, widest, allowed)[:k]
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_start_and_an_end_that_stand_out_are_the_answer(kind):
    start, end = np.zeros((2, 6), dtype=kind)
    start[2] = end[4] = 3
    assert best_answer_spans(start, end, 6) == [(2, 5, 6.0)]
    assert best_answer_spans(start, end, 2) == [(2, 3, 3.0)]


def test_an_answer_never_reaches_over_two_regions_that_touch():
    start, end = np.zeros((2, 4))
    start[1] = end[2] = 1
    assert best_answer_spans(start, end, 4) == [(1, 3, 2.0)]
    assert best_answer_spans(start, end, 4, [(0, 2), (2, 4)], 2) == [(1, 2, 1.0), (2, 3, 1.0)]
    assert best_answer_spans(start, end, 4, [(0, 2), (1, 4)]) == [(1, 3, 2.0)]


def test_nothing_allowed_is_no_answer():
    scores = np.zeros(3)
    assert best_answer_spans(scores, scores, 2, []) == []
    assert best_answer_spans(scores, np.full(3, -np.inf), 2) == []
    assert best_answer_spans(scores[:0], scores[:0], 2) == []


def test_ties_go_to_the_first_start_then_to_the_narrower():
    scores = np.zeros(3)
    assert [answer[:2] for answer in best_answer_spans(scores, scores, 2, k=4)] == [
        (0, 1),
        (0, 2),
        (1, 2),
        (1, 3),
    ]


def test_ten_thousand_words_take_less_than_a_second():
    start, end = np.random.default_rng(1).normal(size=(2, 10_000))
    started = time.process_time()
    answers = best_answer_spans(start, end, 50, k=20)
    assert time.process_time() - started < 1
    assert len(answers) == 20
