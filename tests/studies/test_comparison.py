"""Means and deviations, corrected p-values, the bootstrap over documents and seeds."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind, ttest_rel

from spanloom.errors import DataError
from spanloom.metrics.bootstrap import counts_per_document, interval, scores_per_document
from spanloom.metrics.bootstrap_over_seeds import (
    gains_over_seeds,
    interval_over_seeds,
    on_same_documents,
    paired_by_seed,
    paired_over_seeds,
)
from spanloom.metrics.counts import Counts
from spanloom.studies.comparison import MeanScore, holm, is_higher


def test_higher_means_apart_by_deviations_of_both():
    low, high = MeanScore(70.0, 0.2, 3), MeanScore(71.0, 0.4, 3)
    assert is_higher(high, low, 1.5)  # 70.4 > 70.3
    assert not is_higher(high, low, 2)
    assert not is_higher(low, high, 0)


def test_one_score_is_taken_to_deviate_as_the_others_do():
    one, several = MeanScore(71.0, 0.0, 1), MeanScore(70.0, 0.4, 3)
    assert is_higher(one, several, 1.0)  # 70.6 > 70.4
    assert not is_higher(one, several, 1.5)
    assert is_higher(one, MeanScore(70.9, 0.0, 1), 1.5), "two single scores have none"


def test_the_deviation_is_that_of_a_sample():
    assert MeanScore.of([1.0, 2.0, 3.0]) == MeanScore(2.0, 1.0, 3)
    assert MeanScore.of([4.0]) == MeanScore(4.0, 0.0, 1)


def test_holm_as_in_a_worked_example():
    # Holm's own procedure by hand: 4 * .005, 3 * .01, 2 * .03, 1 * .04 raised to what is before it
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0.001, 1), max_size=8))
def test_holm_rejects_what_stepping_down_rejects(p_values):
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = set()
    for rank, index in enumerate(order):
        if p_values[index] > 0.05 / (len(p_values) - rank):
            break
        rejected.add(index)
    corrected = holm(p_values)
    assert {i for i, p in enumerate(corrected) if p <= 0.05 + 1e-12} == rejected


def brute_force(first, second, resamples=4000):
    """Resample documents of two runs one by one; p of their difference, and its interval."""
    rng = random.Random(0)
    observed = np.mean(first) - np.mean(second)
    differences, size = [], len(first)
    for _ in range(resamples):
        rows = [rng.randrange(size) for _ in range(size)]
        differences.append(np.mean([first[row] - second[row] for row in rows]))
    extreme = np.abs(np.array(differences) - observed) >= abs(observed) - 1e-12
    return extreme.mean(), *np.quantile(differences, [0.025, 0.975])


def test_of_two_runs_the_bootstrap_draws_documents():
    rng = np.random.default_rng(3)
    systems = [rng.random(20) * 0.5 + 0.1 * side for side in range(2)]
    difference = paired_over_seeds(*[[scores_per_document(run.tolist())] for run in systems])
    p, low, high = brute_force(*systems)
    assert difference.p == pytest.approx(p, abs=0.03)
    width = high - low
    assert (difference.interval.low, difference.interval.high) == pytest.approx(
        (low, high), abs=0.1 * width
    )


@pytest.mark.parametrize("num_runs", [(2, 2), (3, 3), (2, 4)])
def test_where_documents_are_alike_seeds_are_tested_as_by_student(num_runs):
    rng = np.random.default_rng(3)
    first, second = (rng.random(runs) for runs in num_runs)
    counts = [[scores_per_document([score] * 20) for score in runs] for runs in (first, second)]
    difference = paired_over_seeds(*counts)
    test = ttest_ind(first, second)
    assert difference.p == pytest.approx(test.pvalue)
    bounds = test.confidence_interval(0.95)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((*bounds,))


@pytest.mark.parametrize("num_runs", [(2, 2), (1, 3)])
def test_where_seeds_are_alike_documents_are_tested_as_by_paired_t(num_runs):
    rng = np.random.default_rng(3)
    systems = [rng.random(200) * 0.5 + 0.03 * side for side in range(2)]
    counts = [
        [scores_per_document(run.tolist())] * count
        for run, count in zip(systems, num_runs, strict=True)
    ]
    test = ttest_rel(*systems)
    difference = paired_over_seeds(*counts)
    assert 0.01 < test.pvalue < 0.99
    assert difference.p == pytest.approx(test.pvalue, rel=0.1)
    bounds = test.confidence_interval(0.95)
    width = bounds.high - bounds.low
    assert (difference.interval.low, difference.interval.high) == pytest.approx(
        (*bounds,), abs=0.03 * width
    )


def test_runs_in_pairs_are_tested_by_paired_t():
    rng = np.random.default_rng(6)
    scores = rng.random((2, 4, 30))
    first, second = ([scores_per_document(run.tolist()) for run in side] for side in scores)
    test = ttest_rel(*scores.mean(2))
    assert paired_by_seed(first, second).p == pytest.approx(test.pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("of_documents", [0, 0.01, 0.03, 0.1])
def test_small_p_are_as_rare_as_they_say(of_documents):
    """So it must be for a correction over many comparisons, whatever varies most."""
    rng = np.random.default_rng(8)
    corpus = rng.uniform(0.3, 0.7, 50)
    tested = []
    for _ in range(800):
        gains = rng.normal(0, of_documents * 50**0.5, 50)  # what one system is better at by chance
        runs = [
            scores_per_document((corpus + (run < 3) * gains + rng.normal(0, 0.03)).tolist())
            for run in range(6)
        ]
        tested.append(paired_over_seeds(runs[:3], runs[3:], resamples=50).p)
    assert np.mean(np.array(tested) < 0.05) < 0.075
    assert np.mean(np.array(tested) < 0.005) < 0.015


def test_the_parts_of_documents_and_seeds_are_added_as_drawn_at_random():
    rng = np.random.default_rng(9)
    corpus, seeds = rng.uniform(0.3, 0.7, 40), rng.normal(0, 0.02, 6)
    gains = rng.normal(0.03, 0.15, 40)
    runs = [
        scores_per_document((corpus + (run < 3) * gains + shift).tolist())
        for run, shift in enumerate(seeds)
    ]
    difference = paired_over_seeds(runs[:3], runs[3:])
    observed = np.mean([run.value for run in runs[:3]]) - np.mean([run.value for run in runs[3:]])
    pooled = (seeds[:3].var(ddof=1) + seeds[3:].var(ddof=1)) / 2 * 2 / 3
    of_documents = gains.std() / 40**0.5  # the bootstrap divides by n
    drawn = rng.normal(0, of_documents, 400_000) + pooled**0.5 * rng.standard_t(4, 400_000)
    assert difference.p == pytest.approx(np.mean(np.abs(drawn) >= abs(observed)), rel=0.05)
    half = np.quantile(np.abs(drawn), 0.95)
    ends = observed - half, observed + half
    assert (difference.interval.low, difference.interval.high) == pytest.approx(ends, rel=0.05)


@pytest.mark.parametrize("num_runs", [(3, 3), (2, 4)])
def test_luck_of_runs_on_documents_is_counted_once(num_runs):
    """It is in the variance over runs; Student's t over runs is then the whole test."""
    rng = np.random.default_rng(10)
    corpus = rng.uniform(0.3, 0.7, 5000)
    first, second = (corpus + rng.normal(0, 0.1, (runs, 5000)) for runs in num_runs)
    difference = paired_over_seeds(
        *[[scores_per_document([*run]) for run in side] for side in (first, second)]
    )
    test = ttest_ind(first.mean(1), second.mean(1))
    assert difference.p == pytest.approx(test.pvalue, rel=0.05)
    bounds = test.confidence_interval(0.95)
    ends = difference.interval.low, difference.interval.high
    assert ends == pytest.approx((*bounds,), abs=0.05 * (bounds.high - bounds.low))


@pytest.mark.slow
@pytest.mark.parametrize("of_luck", [0.05, 0.2])
def test_equal_systems_of_lucky_runs_are_significant_in_one_of_twenty(of_luck):
    rng = np.random.default_rng(14)
    low = 0
    for _ in range(1000):
        gains = rng.normal(0, 0.1, 100)
        runs = [
            scores_per_document([*((run < 3) * gains + rng.normal(0, of_luck, 100))])
            for run in range(6)
        ]
        low += paired_over_seeds(runs[:3], runs[3:], resamples=100).p < 0.05
    assert 0.03 < low / 1000 < 0.075


def test_runs_that_differ_less_than_seeds_are_not_significant():
    documents = [0.5] * 30
    seeds = [[score + shift for score in documents] for shift in (-0.2, 0.0, 0.25)]
    counts = [scores_per_document(run) for run in seeds]
    better = [scores_per_document([score + 0.03 for score in run]) for run in seeds]
    assert paired_over_seeds(better[:1], counts[:1]).p < 0.01
    assert paired_over_seeds(better, counts).p > 0.5


def test_what_never_varies_is_sure():
    same = [scores_per_document([0.5] * 30)] * 3
    more = [scores_per_document([0.6] * 30)] * 3
    assert paired_over_seeds(same, same).p == 1
    sure = paired_over_seeds(more, same)
    assert sure.p == 0
    assert (sure.interval.low, sure.interval.high) == pytest.approx((0.1, 0.1))


def test_gains_are_compared_by_their_own_difference():
    rng = np.random.default_rng(11)
    corpus = rng.uniform(0.3, 0.6, 400)
    skills = (0.2, 0.0, 0.1, 0.0)
    systems = [[_run(rng, corpus, skill) for _ in range(3)] for skill in skills]
    observed = np.mean([run.value for run in systems[0]]) - np.mean(
        [run.value for run in systems[1]]
    )
    observed -= np.mean([run.value for run in systems[2]]) - np.mean(
        [run.value for run in systems[3]]
    )
    difference = gains_over_seeds((systems[0], systems[1]), (systems[2], systems[3]))
    bounds = difference.interval
    assert bounds.low < observed < bounds.high
    # variances of independent runs add up, so it is as wide as two differences together
    widths = [
        of.interval.high - of.interval.low
        for of in (paired_over_seeds(*systems[:2]), paired_over_seeds(*systems[2:]))
    ]
    assert bounds.high - bounds.low == pytest.approx(np.hypot(*widths), rel=0.35)


def test_equal_gains_are_seldom_significant():
    rng = np.random.default_rng(12)
    low = 0
    for _ in range(100):
        corpus = rng.uniform(0.3, 0.6, 200)
        after, alone, other, other_alone = (
            [_run(rng, corpus, skill) for _ in range(3)] for skill in (0.2, 0.1, 0.1, 0.0)
        )
        low += gains_over_seeds((after, alone), (other, other_alone), resamples=300).p < 0.05
    assert low <= 10  # five are to be expected


def _run(rng, documents, skill, deviation=0.02):
    """Scores of a run, whose seed gives or takes a point, on documents of ten items."""
    right = rng.binomial(10, np.clip(documents + skill + rng.normal(0, deviation), 0, 1))
    return scores_per_document((right / 10).tolist())


@pytest.mark.parametrize("num_seeds", [2, 3])
@pytest.mark.parametrize("test", [paired_over_seeds, paired_by_seed])
def test_equal_systems_are_seldom_significant(num_seeds, test):
    rng = np.random.default_rng(1)
    low = 0
    for _ in range(100):
        corpora = [rng.uniform(0.3, 0.8, 400) for _ in range(num_seeds)]
        if test is paired_over_seeds:
            corpora = corpora[:1] * num_seeds
        first, second = ([_run(rng, corpus, 0) for corpus in corpora] for _ in range(2))
        low += test(first, second, resamples=300).p < 0.05
    assert low <= 10  # five are to be expected


@pytest.mark.parametrize("same_documents", [True, False])
@pytest.mark.parametrize("num_seeds", [1, 3])
def test_intervals_hold_what_they_promise(num_seeds, same_documents):
    """Of 100 experiments, 95 intervals are to hold the skill behind them; one seed knows less."""
    rng = np.random.default_rng(5)
    deviation = 0.02 if num_seeds > 1 else 0.0  # of seeds, whose spread one seed cannot tell
    num_held = 0
    for _ in range(100):
        corpora = [rng.uniform(0.3, 0.7, 200) for _ in range(num_seeds)]
        if same_documents:
            corpora = corpora[:1] * num_seeds
        runs = [_run(rng, corpus, 0, deviation) for corpus in corpora]
        bounds = interval_over_seeds(runs, same_documents=same_documents, resamples=300)
        num_held += bounds.low <= 0.5 <= bounds.high
    assert num_held >= 89


@pytest.mark.parametrize("num_runs", [(1, 3), (3, 1)])
def test_one_run_beside_several_is_not_taken_for_sure(num_runs):
    rng = np.random.default_rng(7)
    low = 0
    for _ in range(100):
        corpus = rng.uniform(0.3, 0.8, 400)
        first, second = ([_run(rng, corpus, 0) for _ in range(size)] for size in num_runs)
        low += paired_over_seeds(first, second, resamples=300).p < 0.05
    assert low <= 10


def test_the_interval_of_one_run_is_that_of_its_documents():
    run = scores_per_document(np.random.default_rng(4).random(50).tolist())
    alone = interval(run, resamples=20_000)
    both = interval_over_seeds([run], same_documents=True, resamples=20_000)
    assert (both.low, both.high) == pytest.approx((alone.low, alone.high), abs=0.003)
    with pytest.raises(DataError, match="expected runs with documents"):
        interval_over_seeds([], same_documents=True)


def test_runs_on_other_documents_are_compared_in_pairs():
    rng = np.random.default_rng(2)
    corpora = [rng.uniform(0.1, 0.8, size) for size in (40, 60, 50)]
    first, second = ([_run(rng, corpus, skill) for corpus in corpora] for skill in (0.2, 0.0))
    assert paired_by_seed(first, second).p < 0.05
    assert paired_by_seed(first, first).p == 1.0
    assert paired_by_seed(first[:1], second[:1]).p == pytest.approx(
        paired_over_seeds(first[:1], second[:1]).p, abs=0.02
    )
    with pytest.raises(DataError, match="in pairs, got 3 and 1"):
        paired_by_seed(first, second[:1])
    with pytest.raises(DataError, match="paired bootstrap"):
        paired_by_seed(first, second[::-1])


def test_gold_tells_whether_documents_are_the_same():
    runs = [counts_per_document([Counts(hits, hits + 1, 5)]) for hits in (1, 4)]
    assert on_same_documents(runs)
    assert not on_same_documents([*runs, counts_per_document([Counts(1, 2, 6)])])


def test_equal_systems_have_p_1():
    counts = [scores_per_document([0.1, 0.9, 0.4])]
    assert paired_over_seeds(counts, counts).p == 1.0


def test_other_documents_are_refused():
    with pytest.raises(DataError, match="paired bootstrap"):
        paired_over_seeds([scores_per_document([1.0])], [scores_per_document([1.0, 0.0])])
    with pytest.raises(DataError, match="at least one run"):
        paired_over_seeds([], [scores_per_document([1.0])])
