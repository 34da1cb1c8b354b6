"""Pair scores, against a loop over ordered pairs that says every part out loud."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.pairs import PairScorer, PairSizes
from spanloom.nn.spans import SpanAttention, SpanInputs

EDGES = (1, 2, 3, 4, 5, 8, 16, 32, 64)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def _distance(one, two):
    """Words between, as a bucket; positive where the second stands right, 0 where they overlap."""
    if two[0] >= one[1]:
        gap, sign = (one[1], two[0]), 1
    elif one[0] >= two[1]:
        gap, sign = (two[1], one[0]), -1
    else:
        return 0, (0, 0)
    return sign * (1 + sum(gap[1] - gap[0] >= edge for edge in EDGES)), gap


def _scorer(word_dim, **sizes):
    return PairScorer(PairSizes(word_dim=word_dim, dropout=0.4, **sizes))


def _slow(scorer, words, weights, bounds, types, pairs):
    heads = scorer.head(words, weights, bounds) + types @ scorer.head_type.weight.T
    tails = scorer.tail(words, weights, bounds) + types @ scorer.tail_type.weight.T
    first = []
    for i, j in pairs.tolist():
        bucket, (a, b) = _distance(bounds[i].tolist(), bounds[j].tolist())
        between = words[a:b].mean(0) if a < b else torch.zeros(words.shape[1])
        parts = torch.cat([heads[i], tails[j], heads[i] * tails[j]])
        same = torch.cat([torch.eye(len(heads[i])), torch.eye(len(heads[i]))])
        weight = torch.cat([same, scorer.product.weight.T])
        vector = parts @ weight + between @ scorer.context.weight.T
        first.append(vector + scorer.distance_embedding.weight[bucket + len(EDGES) + 1])
    return scorer.output(torch.stack(first))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 999), data=st.data())
def test_pair_scores_are_those_of_a_loop_over_pairs(seed, data):
    torch.manual_seed(seed)
    words, types = torch.randn(90, 4), torch.rand(5, 3)
    scorer = _scorer(4, num_types=3, num_labels=4, num_width_embeddings=3, hidden_size=6).eval()
    start = st.integers(0, 80)
    bounds = torch.tensor([(a, a + data.draw(st.integers(1, 9))) for a in _draws(data, start, 5)])
    weights = SpanAttention(4)(words)
    pairs = PairGenerator().all_pairs(torch.zeros(5, dtype=torch.long))
    sentences = torch.tensor([[0, 90]])
    inputs = SpanInputs(words, weights, sentences, sentences, torch.zeros(90, 2, dtype=torch.long))
    found = scorer.prepare(inputs, bounds, types)(pairs)
    torch.testing.assert_close(found, _slow(scorer, words, weights, bounds, types, pairs), **CLOSE)


def _draws(data, strategy, times):
    return [data.draw(strategy) for _ in range(times)]


def test_every_distance_has_a_vector_of_its_own_and_a_side():
    scorer = _scorer(2, num_types=1, num_labels=2, num_width_embeddings=1, hidden_size=2)
    gaps = [0, 1, 2, 3, 4, 5, 8, 16, 32, 64, 1000]
    bounds = torch.tensor([(0, 1), *((1 + gap, 2 + gap) for gap in gaps)])
    right = torch.tensor([(0, row) for row in range(1, len(bounds))])
    words = torch.zeros(int(bounds.max()), 2)
    neighbors = torch.zeros(len(words), 2, dtype=torch.long)
    sentences = torch.tensor([[0, len(words)]])
    inputs = SpanInputs(words, torch.zeros(len(words), 1), sentences, sentences, neighbors)
    score = scorer.prepare(inputs, bounds, torch.ones(len(bounds), 1))
    buckets = []
    scorer._add_features = lambda hidden, features, distance, *ends: buckets.append(distance)
    score(right), score(right.flip(1))
    one, two = buckets
    assert one.tolist() == sorted(set(one.tolist()))[: len(gaps) - 1] + [one.max().item()]
    middle = len(EDGES) + 1
    assert (one - middle).tolist() == (middle - two).tolist()
    assert {*one.tolist(), *two.tolist(), middle} == set(
        range(scorer.distance_embedding.num_embeddings)
    )


PAIRINGS = {
    PairGenerator(): lambda i, j: i != j,
    PairGenerator(self_pairs=True): lambda i, j: True,
    PairGenerator(antecedents_only=True): lambda i, j: i < j,
    PairGenerator(antecedents_only=True, max_antecedents=2): lambda i, j: 0 < j - i <= 2,
}
EVERY = pytest.mark.parametrize("pairing", PAIRINGS)


@EVERY
@given(sizes=st.lists(st.integers(0, 5), max_size=6))
def test_square_lists_all_ordered_pairs_of_a_group_that_are_asked_for(pairing, sizes):
    group = [row for row, size in enumerate(sizes) for _ in range(size)]
    every, asked = range(len(group)), PAIRINGS[pairing]
    expected = [[i, j] for i in every for j in every if asked(i, j) and group[i] == group[j]]
    assert pairing.all_pairs(torch.tensor(group, dtype=torch.long)).tolist() == expected


@EVERY
@pytest.mark.parametrize("most", [1, 7, 30, 10_000])
def test_squares_are_the_square_in_parts_that_are_not_too_large(pairing, most):
    group = torch.tensor([0, 0, 0, 1, 2, 2, 2, 2, 2, 5])
    parts = list(pairing.iter_by_head(group, most))
    assert torch.cat(parts).equal(pairing.all_pairs(group))
    assert all(len(part) <= max(most, 5) for part in parts)


@EVERY
@pytest.mark.parametrize("most", [1, 7, 30, 10_000])
def test_by_tail_keeps_the_pairs_of_a_tail_in_one_part(pairing, most):
    group = torch.tensor([0, 0, 0, 1, 2, 2, 2, 2, 2, 5])
    parts = list(pairing.iter_by_tail(group, most))
    found = [tuple(pair) for part in parts for pair in part.tolist()]
    assert sorted(found) == [tuple(pair) for pair in pairing.all_pairs(group).tolist()]
    assert [tail for _, tail in found] == sorted(tail for _, tail in found)
    tails = [set(part[:, 1].tolist()) for part in parts]
    assert sum(map(len, tails)) == len(set().union(*tails))
    assert all(len(part) <= max(most, 5) for part in parts)


@given(
    sizes=st.lists(st.integers(0, 5), max_size=4),
    steps=st.lists(st.integers(0, 4), min_size=20, max_size=20),
    horizon=st.integers(1, 9),
)
def test_a_horizon_keeps_the_pairs_that_start_near_each_other(sizes, steps, horizon):
    group = [row for row, size in enumerate(sizes) for _ in range(size)]
    starts = [sum(steps[: row + 1]) for row in range(len(group))]
    expected = [
        [i, j]
        for i in range(len(group))
        for j in range(len(group))
        if i != j and group[i] == group[j] and abs(starts[i] - starts[j]) <= horizon
    ]
    pairing = PairGenerator(horizon=horizon)
    given = torch.tensor(group, dtype=torch.long), torch.tensor(starts, dtype=torch.long)
    assert pairing.all_pairs(given[0], starts=given[1]).tolist() == expected
    by_tail = [
        pair for part in pairing.iter_by_tail(given[0], 7, given[1]) for pair in part.tolist()
    ]
    assert sorted(by_tail) == expected
