"""What predicts gain: correlations against scipy, gains from rows, advice and its certainty."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from made_rows import RECIPES, make_row, rows_reader
from scipy import stats

from spanloom.errors import DataError
from spanloom.studies import advice
from spanloom.studies.correlation import Pair, correlation_of, pearson, spearman
from spanloom.studies.designs import plan
from spanloom.studies.relatedness import (
    CENTERED,
    POOLED,
    check_one_group,
    correlate,
    first_choice,
    gains_of,
    read,
    source_gains,
)
from spanloom.studies.relatedness_page import write_page
from spanloom.studies.results import compare_conditions
from spanloom.studies.similarity import PairSimilarity, Similarity

TASKS = "abcdefgh"


def pairs_of(gain, value):
    """All pairs of eight tasks; ``value`` is the predictor of a pair."""
    return [Pair(s, t, gain(s, t), {"p": value(s, t)}) for s, t in itertools.permutations(TASKS, 2)]


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, 40).astype(float), rng.normal(size=40)  # with equal values
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert pearson(np.ones(5), np.arange(5.0)) is None


def test_a_predictor_that_is_the_gain_is_found_with_a_narrow_interval():
    noise = np.random.default_rng(2).normal(size=(8, 8))
    gain = {(s, t): noise[i, j] for i, s in enumerate(TASKS) for j, t in enumerate(TASKS)}
    exact = pairs_of(lambda s, t: gain[s, t], lambda s, t: 3 * gain[s, t] - 7)
    found = correlation_of("p", POOLED, exact, centered=False)
    assert (found.num_pairs, found.pearson.value) == (56, pytest.approx(1))
    assert found.pearson.low == pytest.approx(1)
    other = pairs_of(lambda s, t: gain[s, t], lambda s, t: gain[t, s])
    chance = correlation_of("p", CENTERED, other, centered=True).spearman
    assert chance.low < 0 < chance.high


def test_means_of_targets_do_not_count_within_targets():
    """Gain falls with the predictor from target to target, and rises with it within each."""

    def place(s, t):
        return TASKS.index(t), TASKS.index(s)

    pairs = pairs_of(
        lambda s, t: -100 * place(s, t)[0] + place(s, t)[1],
        lambda s, t: 100 * place(s, t)[0] + place(s, t)[1],
    )
    assert correlation_of("p", POOLED, pairs, centered=False).pearson.value < -0.9
    assert correlation_of("p", CENTERED, pairs, centered=True).pearson.value == pytest.approx(1)
    own = [pair for pair in pairs if pair.target == "c"]
    assert correlation_of("p", "c", own, centered=False).spearman.value == pytest.approx(1)


def test_resampling_pairs_instead_of_tasks_would_be_too_sure():
    """Where gain and predictor depend on the source alone, eight sources are what was seen."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=8), rng.normal(size=8)
    pairs = pairs_of(lambda s, t: a[TASKS.index(s)], lambda s, t: b[TASKS.index(s)])
    found = correlation_of("p", POOLED, pairs, centered=False).pearson
    x = np.array([pair.predictors["p"] for pair in pairs])
    y = np.array([pair.gain for pair in pairs])
    drawn = [rng.integers(0, 56, 56) for _ in range(500)]
    low, high = np.quantile([pearson(x[rows], y[rows]) for rows in drawn], [0.025, 0.975])
    assert found.high - found.low > 1.5 * (high - low)


def test_two_pairs_are_no_correlation():
    pairs = pairs_of(lambda s, t: ord(s), lambda s, t: ord(s))[:2]
    found = correlation_of("p", POOLED, pairs, centered=False)
    assert (found.pearson.value, found.pearson.low) == (None, None)


SOURCE_GAIN = {"pos": 0.02, "ner": -0.01, "dep": 0.04}
DESIGNS = [
    {"design": "single"},
    {"design": "pairs"},
    {"design": "single-then-single"},
    {"design": "pairs-then-single", "heads": ["kept", "reset"]},
]


def results_of(study, designs):
    """Results in which a target gains by its source; after that 3 points more, 1 without it."""
    read_study = study(designs)
    planned = plan(read_study, RECIPES, rows_reader({}))
    rows = {}
    for cell in planned.cells:
        sources = [SOURCE_GAIN[name] for name in cell.partners]
        score = 0.5 + sum(sources) + 0.01 * (cell.design == "single-then-single")
        score += 0.03 * (cell.design == "pairs-then-single") - 0.2 * ("head" in cell.condition)
        row = rows.setdefault(cell.job.key, make_row(cell.job, {}))
        row.scores.update(make_row(cell.job, {cell.task: score}).scores)
    return compare_conditions(read_study, planned, rows)


def test_gains_are_over_as_many_updates_of_the_target_if_that_was_run(study):
    design, baseline, gains = gains_of(results_of(study, DESIGNS))
    assert (design, baseline) == ("pairs-then-single", "single-then-single")
    assert len(gains) == 6
    assert gains["dep", "ner"] == pytest.approx(4 + 3 - 1)
    design, baseline, gains = gains_of(results_of(study, DESIGNS[:2]))
    assert (design, baseline) == ("pairs", "single")
    assert gains["dep", "ner"] == pytest.approx(4)
    with pytest.raises(DataError, match="no gains of pairs"):
        gains_of(results_of(study, DESIGNS[:1]))


def test_gains_are_over_all_seeds_of_each_side(study):
    read_study = study(DESIGNS, seeds=[1, 2])
    planned = plan(read_study, RECIPES, rows_reader({}))
    rows = {}
    for cell in planned.cells:
        if cell.design == "single-then-single" or cell.variant.seed == 1:
            # one seed of the control is lucky; what is equal to the mean of both gains nothing
            is_control = cell.design == "single-then-single"
            score = {1: 0.2, 2: 0.6}[cell.variant.seed] if is_control else 0.4
            row = rows.setdefault(cell.job.key, make_row(cell.job, {}))
            row.scores.update(make_row(cell.job, {cell.task: score}).scores)
    _, _, gains = gains_of(compare_conditions(read_study, planned, rows))
    assert gains == pytest.approx(dict.fromkeys(gains, 0.0))
    assert len(gains) == 6


def test_gains_are_of_designs_without_a_label_over_the_task_alone(study):
    wide = {"label": "wide", "settings": ["window=32"]}
    labelled = [{"design": "pairs-then-single", **wide}, {"design": "pairs", **wide}]
    gains = gains_of(results_of(study, DESIGNS))
    assert gains_of(results_of(study, [*DESIGNS, *labelled])) == gains
    with pytest.raises(DataError, match="no gains of pairs"):
        gains_of(results_of(study, [*DESIGNS[:1], *labelled]))
    results = results_of(study, DESIGNS[:2])
    other = [
        replace(r, comparison=r.comparison and replace(r.comparison, against="joint"))
        for r in results
    ]
    with pytest.raises(DataError, match="compared with the task alone, got 'joint'"):
        gains_of(other)
    twice = [
        replace(r, control=r.control and replace(r.control, against="joint"))
        for r in results_of(study, DESIGNS)
    ]
    assert any(r.control for r in twice)
    with pytest.raises(DataError, match="compared with the task alone twice, got 'joint'"):
        gains_of(twice)


def similarity_of(overlap):
    """A similarity of three tasks, with a second model of ner."""
    tasks = ("pos", "ner", "dep")
    pairs = [
        PairSimilarity(s, t, s, t, -1.0 - ord(s[0]), ((-1.0,),), overlap(s, t), None)
        for s, t in (*itertools.permutations(tasks, 2), ("ner", "ner"))
    ]
    return Similarity(dict.fromkeys(tasks, 10), tuple(pairs))


@pytest.fixture
def known(study):
    """What is known of three tasks where span overlap follows gain."""
    return correlate(
        "table", results_of(study, DESIGNS), similarity_of(lambda s, t: SOURCE_GAIN[s] * 10)
    )


def test_a_study_and_a_similarity_make_a_page_and_values(known, tmp_path):
    scopes = {(c.predictor, c.scope): c for c in known.correlations}
    assert scopes["span_overlap", CENTERED].spearman.value == pytest.approx(1)
    assert scopes["attention", CENTERED].num_pairs == 6
    assert ("gradient_cosine", POOLED) not in scopes
    assert known.ceilings["span_overlap"] == {"ner": pytest.approx(-0.1)}
    page, values = write_page(known, tmp_path / "page.html")
    assert read(values) == known
    text = page.read_text()
    assert "6 pairs of 3 tasks" in text
    assert "span overlap" in text
    assert [source.source for source in source_gains(known.pairs)] == ["dep", "pos", "ner"]


def test_the_first_choice_of_a_perfect_predictor_is_the_best_source(known):
    choice = first_choice("span_overlap", known.pairs)
    assert choice.gain == pytest.approx(choice.best_source)
    assert choice.any_source < choice.gain
    assert (choice.num_helped, choice.num_targets) == (3, 3)
    assert first_choice("gradient_cosine", known.pairs) is None


def test_the_median_gain_of_a_source_leaves_out_the_target_that_it_predicts():
    rows = {("a", "b"): 1.0, ("a", "c"): 3.0, ("a", "d"): -9.0, ("a", "e"): 4.0, ("b", "c"): 5.0}
    pairs = [PairSimilarity(s, t, s, t, None, (), 0.5, None) for s, t in (*rows, ("c", "a"))]
    from spanloom.studies.relatedness import _with_predictors

    found = {(p.source, p.target): p for p in _with_predictors(rows, Similarity({}, tuple(pairs)))}
    assert found["a", "b"].predictors["generic"] == 3.0
    assert found["a", "c"].predictors["generic"] == 1.0
    assert found["a", "d"].predictors["generic"] == 3.0
    assert "generic" not in found["b", "c"].predictors
    assert ("c", "a") not in found


def test_advice_ranks_by_the_best_predictor_and_says_that_it_is_not_certain(known):
    values = {"span_overlap": {"dep": 0.2, "pos": 0.6}, "attention": {}}
    found = advice.advise(known, values)
    assert found.predictor == "span_overlap"
    assert [source.source for source in found.sources] == ["pos", "dep"]
    assert not found.is_certain  # three tasks: most resamples are too poor for an interval
    text = found.to_text()
    assert "not certain" in text
    assert "helped 3 of 3 tasks" in text


def test_advice_is_certain_where_the_interval_is_above_0():
    noise = np.random.default_rng(4).normal(size=8)
    pairs = tuple(
        Pair(p.source, p.target, p.gain, {"span_overlap": p.predictors["p"], "generic": 0.0})
        for p in pairs_of(lambda s, t: noise[TASKS.index(s)], lambda s, t: noise[TASKS.index(s)])
    )
    correlations = (correlation_of("span_overlap", CENTERED, pairs, centered=True),)
    choices = (first_choice("span_overlap", pairs),)
    known = advice.Relatedness("made up", "pairs", "single", pairs, correlations, choices, {})
    found = advice.advise(known, {"span_overlap": {"a": 0.1, "z": 0.9}})
    assert found.is_certain
    assert [source.source for source in found.sources] == ["a"]  # nothing is known of z
    with pytest.raises(DataError, match="no predictor has a known correlation"):
        advice.advise(known, {"span_overlap": {}})


def test_without_results_advice_says_that_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(advice, "KNOWN", tmp_path / "none.json")
    with pytest.raises(DataError, match="not known yet"):
        advice.read_known(None)
    (tmp_path / "damaged.json").write_text(json.dumps([]))
    with pytest.raises(Exception, match="no relatedness of tasks"):
        advice.read_known(tmp_path / "damaged.json")


def test_models_of_several_trunks_are_not_compared():
    check_one_group([("shared-head", "a"), ("shared-head", "a")])
    with pytest.raises(DataError, match="one trunk and sharing mode, got shared-head a; shared-h"):
        check_one_group([("shared-head", "b"), ("shared-head", "a")])
