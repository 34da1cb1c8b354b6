from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError
from spanloom.metrics import bootstrap
from spanloom.metrics.bootstrap import Interval, counts_per_document, scores_per_document
from spanloom.metrics.counts import Counts, total

SMALL = [Counts(1, 2, 2), Counts(3, 3, 4), Counts(0, 1, 1), Counts(5, 6, 5)]


def interval(counts, **said):
    return bootstrap.interval(counts_per_document(counts), **said)


def paired(first, second, **said):
    return bootstrap.paired(counts_per_document(first), counts_per_document(second), **said)


def every_resample(counts):
    return [total(drawn).f1 for drawn in product(counts, repeat=len(counts))]


def test_interval_agrees_with_all_possible_resamples():
    exact = np.quantile(every_resample(SMALL), [0.025, 0.975])
    found = interval(SMALL, resamples=20_000)
    assert (found.low, found.high) == pytest.approx(tuple(exact), abs=0.03)


def test_interval_is_a_function_of_the_seed():
    assert interval(SMALL, seed=1) == interval(SMALL, seed=1)
    many = [Counts(i % 7, 7, 8) for i in range(50)]
    assert interval(many, seed=1) != interval(many, seed=2)


def test_blocks_draw_what_one_draw_would(monkeypatch):
    whole = interval(SMALL, seed=3, resamples=100)
    monkeypatch.setattr(bootstrap, "CELLS", 4 * 7)
    assert interval(SMALL, seed=3, resamples=100) == whole


def test_identical_documents_leave_no_doubt():
    assert interval([Counts(1, 2, 2)] * 5) == Interval(0.5, 0.5)
    assert interval([]) == Interval(0.0, 0.0)


@given(st.lists(st.builds(Counts, st.integers(0, 3), st.integers(3, 5), st.integers(3, 5))))
def test_the_interval_lies_between_the_extremes(counts):
    found = interval(counts, resamples=50)
    scores = [each.f1 for each in counts] or [0.0]
    assert min(scores) - 1e-9 <= found.low <= found.high <= max(scores) + 1e-9


def test_paired_p_value_of_equal_and_of_very_different_systems():
    assert paired(SMALL, SMALL, resamples=200) == 1.0
    good, bad = [Counts(9, 10, 10)] * 40, [Counts(i % 2, 10, 10) for i in range(40)]
    assert paired(good, bad, resamples=999) == pytest.approx(0.001)
    assert paired(good, bad, resamples=999) == paired(bad, good, resamples=999)


def test_paired_p_value_agrees_with_all_possible_resamples():
    better = [Counts(2, 2, 2), Counts(3, 3, 4), Counts(0, 1, 1), Counts(5, 5, 5)]
    pairs = list(zip(better, SMALL, strict=True))
    observed = total(better).f1 - total(SMALL).f1
    gaps = [
        total(a for a, _ in drawn).f1 - total(b for _, b in drawn).f1
        for drawn in product(pairs, repeat=4)
    ]
    exact = np.mean([abs(gap - observed) >= abs(observed) - 1e-12 for gap in gaps])
    assert paired(better, SMALL, resamples=20_000) == pytest.approx(exact, abs=0.02)


def test_wrong_use_says_what_was_expected():
    with pytest.raises(DataError, match="same documents, got 4 and 1"):
        paired(SMALL, SMALL[:1])
    with pytest.raises(DataError, match="between 0 and 1, got 95"):
        interval(SMALL, level=95)
    with pytest.raises(DataError, match="at least 1 resample"):
        interval(SMALL, resamples=0)


def test_means_are_drawn_as_means():
    scores = [0.25, 1.0, 0.5, 0.75]
    exact = np.quantile([np.mean(drawn) for drawn in product(scores, repeat=4)], [0.025, 0.975])
    found = bootstrap.interval(scores_per_document(scores), resamples=20_000)
    assert (found.low, found.high) == pytest.approx(tuple(exact), abs=0.03)
    with pytest.raises(DataError, match="3 and 4"):
        bootstrap.paired(scores_per_document(scores[1:]), counts_per_document(SMALL))


@pytest.mark.parametrize(
    ("num_documents", "text"),
    [
        (1, "1 document: too few for an interval"),
        (9, "9 documents: too few for an interval"),
        (10, "95 % interval 71.25 to 80.00"),
    ],
)
def test_few_documents_have_no_interval_in_words(num_documents, text):
    assert bootstrap.interval_text(Interval(0.7125, 0.8), num_documents) == text
