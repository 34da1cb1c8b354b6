"""Coarse-to-fine antecedents, against a loop over mentions that sorts all that come before."""

import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.nn import antecedents
from spanloom.nn.antecedents import AntecedentSearch, CoarseScores, sort_pairs
from spanloom.nn.losses import HeadSelectionLoss
from spanloom.nn.pair_generator import match_pairs, without_lost_tails

SEARCH = AntecedentSearch(2, 3, rank=4)


def coarse_scores(num_spans, seed=0, rank=4, horizon=12):
    torch.manual_seed(seed)
    vectors = torch.randn(2, num_spans, rank)
    return CoarseScores(*vectors, torch.randn(num_spans), torch.randn(horizon))


def slow_score(scores, head, tail):
    return float(
        scores.antecedents[head] @ scores.anaphors[tail] + scores.distance[tail - head - 1]
    )


def slow_pairs(scores, groups, search):
    """The best antecedents of each mention, one mention after the other."""
    pairs = []
    for tail, group in enumerate(groups):
        heads = [h for h in range(max(0, tail - search.horizon), tail) if groups[h] == group]
        score = {h: slow_score(scores, h, tail) + float(scores.mention[h]) for h in heads}
        pairs += [(h, tail) for h in sorted(heads, key=lambda h: -score[h])[: search.num_kept]]
    return sorted(pairs)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    num_kept=st.integers(1, 4),
    horizon=st.integers(1, 12),
    block=st.sampled_from([1, 3, 512]),
    seed=st.integers(0, 99),
)
def test_the_best_of_the_horizon_are_chosen(sizes, num_kept, horizon, block, seed):
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    search = AntecedentSearch(num_kept, horizon, rank=4)
    part, scores = search.build(8, 3), coarse_scores(len(groups), seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(antecedents, "_BLOCK", block)
        chunks = list(part.iter_pairs(scores, torch.tensor(groups, dtype=torch.long)))
        pairs = sort_pairs(chunks, len(groups))
    assert pairs.tolist() == [list(pair) for pair in slow_pairs(scores, groups, search)]
    tails = [tail for chunk in chunks for tail in chunk[:, 1].tolist()]
    assert tails == sorted(tails)  # so no tail's pairs are divided


def test_a_pairs_score_is_the_product_of_its_vectors_and_its_distance():
    scores = coarse_scores(5)
    pairs = torch.tensor([(0, 1), (0, 4), (3, 4)])
    expected = [slow_score(scores, *pair) for pair in pairs.tolist()]
    torch.testing.assert_close(scores(pairs), torch.tensor(expected))


def test_near_mentions_come_first_until_something_is_learnt():
    part = AntecedentSearch(2, 100, rank=4).build(8, 3)
    vectors = torch.zeros(2, 40, 4)
    words = part.distance(torch.arange(7))[:, 0].detach()
    distance = words[torch.arange(1, 101).float().log2().long()]
    pairs = torch.cat(
        [
            *part.iter_pairs(
                CoarseScores(*vectors, torch.zeros(40), distance), torch.zeros(40).long()
            )
        ]
    )
    near = {(head, tail) for tail in range(40) for head in range(max(0, tail - 3), tail)}
    assert {tuple(pair) for pair in pairs.tolist()} <= near


def test_a_mention_whose_antecedents_are_out_of_reach_is_not_taught_to_be_new():
    # mention 3 refers to 0 alone, which is no candidate; 2 refers to 0 and 1; 1 is new
    pairs = torch.tensor([(0, 1), (1, 2), (1, 3), (2, 3)])
    gold = torch.tensor([(0, 2, 1), (1, 2, 1), (0, 3, 1)])
    gold_to_kept = torch.arange(4)
    left = without_lost_tails(pairs, gold, gold_to_kept, 4)
    assert left.tolist() == [[0, 1], [1, 2]]
    scores = torch.randn(len(left), 2, requires_grad=True)
    target = torch.zeros(len(left), dtype=torch.long)
    target[match_pairs(left, gold, gold_to_kept, 4)[0]] = 1
    loss = HeadSelectionLoss(dummy=True)(scores, target, left[:, 1])
    new, linked = scores[0, 1], scores[1, 1]
    expected = new.exp().add(1).log() + linked.exp().add(1).log() - linked
    torch.testing.assert_close(loss, expected)


def test_an_antecedent_that_was_pruned_is_out_of_reach():
    pairs, gold = torch.tensor([(0, 1)]), torch.tensor([(0, 1, 1)])
    assert not len(without_lost_tails(pairs, gold, torch.tensor([-1, 1]), 2))
    assert len(without_lost_tails(pairs, gold[:0], torch.tensor([-1, 1]), 2)) == 1


def test_time_is_linear_in_the_number_of_mentions():
    part = AntecedentSearch(20, 500, rank=16).build(8, 3)

    def seconds(num_spans):
        scores, group = (
            coarse_scores(num_spans, rank=16, horizon=500),
            torch.zeros(num_spans).long(),
        )
        begun = time.process_time()
        num_pairs = sum(len(pairs) for pairs in part.iter_pairs(scores, group))
        assert num_pairs > 19 * num_spans
        return time.process_time() - begun

    seconds(2_000)
    assert seconds(16_000) < 8 * seconds(4_000) + 0.1
