"""Trees over arcs, against every assignment of heads and against networkx."""

import time
from itertools import combinations, product

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding import mst

BOTH = pytest.mark.parametrize("decode", [mst.chu_liu_edmonds, mst.eisner])
ARC = st.one_of(st.floats(-5, 5), st.integers(-1, 1).map(float), st.just(-np.inf))
TIED = st.one_of(st.integers(-1, 1).map(float), st.just(-np.inf))


@st.composite
def _arcs(draw, largest=4):
    n = draw(st.integers(1, largest))
    arc = draw(st.sampled_from([ARC, TIED, st.floats(-5, 5)]))
    return np.array(draw(st.lists(arc, min_size=n * n, max_size=n * n))).reshape(n, n)


def _reaches(heads, word):
    """Whether following heads from a word ends in a root."""
    for _ in heads:
        word = heads[word]
    return heads[word] == word


def _is_tree(heads):
    one_root = sum(head == word for word, head in enumerate(heads)) == 1
    return one_root and all(_reaches(heads, word) for word in range(len(heads)))


def _crosses(heads):
    """No arc crosses another, nor one that comes down to the root from above the sentence."""
    arcs = [(min(pair), max(pair)) for pair in enumerate(heads) if pair[0] != pair[1]]
    root = next(word for word, head in enumerate(heads) if word == head)
    over = any(a < root < b for a, b in arcs)
    return over or any(a < c < b < d or c < a < d < b for (a, b), (c, d) in combinations(arcs, 2))


TREES = {
    n: [heads for heads in product(range(n), repeat=n) if _is_tree(heads)] for n in range(1, 6)
}
ALLOWED = {
    mst.chu_liu_edmonds: TREES,
    mst.eisner: {n: [tree for tree in trees if not _crosses(tree)] for n, trees in TREES.items()},
}


def _sum(scores, heads):
    return float(scores[np.asarray(heads), np.arange(len(heads))].sum())


def _check(decode, scores):
    allowed = ALLOWED[decode][len(scores)]
    best = max(_sum(scores, heads) for heads in allowed)
    if best == -np.inf:
        with pytest.raises(ValueError, match="no tree with one root"):
            decode(scores)
        return
    heads = decode(scores)
    assert tuple(heads.tolist()) in allowed
    assert _sum(scores, heads) == pytest.approx(best, abs=1e-9)


def test_the_oracle_counts_as_combinatorics_does():
    assert [len(TREES[n]) for n in range(1, 6)] == [n ** (n - 1) for n in range(1, 6)]
    assert [len(ALLOWED[mst.eisner][n]) for n in range(1, 6)] == [1, 2, 7, 30, 143]


@pytest.mark.parametrize(
    ("of_runs", "of_one"),
    [
        (mst.greedy_runs, mst.greedy_heads),
        (mst.chu_liu_edmonds_runs, mst.chu_liu_edmonds),
        (mst.eisner_runs, mst.eisner),
    ],
)
@given(drawn=st.lists(_arcs(largest=6), min_size=1, max_size=5))
def test_padded_runs_get_the_trees_that_each_gets_alone(of_runs, of_one, drawn):
    lengths = np.array([len(scores) for scores in drawn])
    padded = np.full((len(drawn), lengths.max(), lengths.max()), -np.inf, np.float32)
    padded[:, :, 1:] = 7.0  # what the dependents of the padding score has no meaning
    for row, scores in enumerate(drawn):
        padded[row, len(scores) :] = -np.inf
        padded[row, : len(scores), : len(scores)] = scores
    alone = []
    for row, n in enumerate(lengths):
        try:
            alone.append(of_one(padded[row, :n, :n].astype(np.float64)).tolist())
        except ValueError:
            with pytest.raises(ValueError, match="no tree with one root"):
                of_runs(padded, lengths)
            return
    heads = of_runs(padded, lengths)
    assert [run[:n].tolist() for run, n in zip(heads, lengths, strict=True)] == alone


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("of_runs", [mst.chu_liu_edmonds_runs, mst.eisner_runs])
def test_runs_with_what_is_no_score_are_refused(of_runs, wrong):
    scores = np.zeros((2, 2, 2), np.float32)
    scores[1, 0, 1] = wrong
    with pytest.raises(ValueError, match="expected numbers or minus infinity"):
        of_runs(scores, np.array([2, 2]))


@BOTH
@given(scores=_arcs())
def test_no_assignment_of_heads_is_better(decode, scores):
    _check(decode, scores)


@BOTH
@pytest.mark.parametrize("kind", ["real", "tied", "forbidden"])
def test_no_assignment_of_heads_to_five_words_is_better(decode, kind):
    draw = np.random.default_rng(5)
    for _ in range(25):
        scores = draw.normal(size=(5, 5))
        if kind == "tied":
            scores = scores.round()
        elif kind == "forbidden":
            scores[draw.random((5, 5)) < 0.5] = -np.inf
        _check(decode, scores)


def _by_networkx(scores):
    """The best arborescence from each root by itself."""
    n, best = len(scores), -np.inf
    for root in range(n):
        graph = networkx.DiGraph()
        pairs = ((a, b) for a in range(n) for b in range(n) if a != b and b != root)
        graph.add_weighted_edges_from((a, b, scores[a, b]) for a, b in pairs)
        tree = networkx.maximum_spanning_arborescence(graph)
        best = max(best, scores[root, root] + tree.size(weight="weight"))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_another_library_finds_no_better_tree_in_longer_sentences(seed):
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=(14, 14)) + draw.normal(size=(14, 1))
    heads = mst.chu_liu_edmonds(scores)
    assert _is_tree(heads)
    assert _sum(scores, heads) == pytest.approx(_by_networkx(scores))


@BOTH
@pytest.mark.parametrize("n", [1, 2, 60])
def test_arcs_of_a_tree_that_stand_out_come_back(decode, n):
    heads = np.maximum(np.arange(n) - 1, 0)
    scores = np.random.default_rng(n).random((n, n))
    scores[heads, np.arange(n)] += n
    assert decode(scores).tolist() == mst.greedy_heads(scores).tolist() == heads.tolist()


@BOTH
def test_one_root_is_kept_where_every_word_would_be_one(decode):
    scores = np.random.default_rng(1).random((40, 40)) + 1000 * np.eye(40)
    heads = decode(scores)
    assert _is_tree(heads.tolist())
    assert mst.greedy_heads(scores).tolist() == list(range(40))


@BOTH
def test_arcs_hidden_by_the_least_number_there_is_hide_no_others(decode):
    hidden = float(np.finfo(np.float32).min)
    scores = np.array([[0.25, 1.0, hidden], [hidden, 0.5, 1.0], [1.0, hidden, 0.125]])
    best = max(ALLOWED[decode][3], key=lambda heads: _sum(scores, heads))
    assert decode(scores).tolist() == list(best)


def test_crossing_arcs_are_only_for_the_tree_that_allows_them():
    scores = np.zeros((4, 4))
    scores[[0, 3, 0, 0], [0, 1, 2, 3]] = 5.0
    assert mst.chu_liu_edmonds(scores).tolist() == [0, 3, 0, 0]
    assert not _crosses(mst.eisner(scores).tolist())


@BOTH
def test_scores_stay_as_they_were_and_ties_break_the_same_way(decode):
    scores = np.zeros((6, 6))
    first = decode(scores).tolist()
    assert decode(scores).tolist() == first
    assert not scores.any()


@BOTH
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(decode, wrong):
    scores = np.zeros((3, 3))
    scores[1, 2] = wrong
    with pytest.raises(ValueError, match="got nan or infinity"):
        decode(scores)


@BOTH
def test_a_sentence_of_a_hundred_words_takes_less_than_a_twentieth_of_a_second(decode):
    scores = np.random.default_rng(3).normal(size=(100, 100))
    times = []
    for _ in range(4):
        started = time.process_time()
        heads = decode(scores).tolist()
        times.append(time.process_time() - started)
    assert min(times) < 1 / 20
    assert _is_tree(heads)
