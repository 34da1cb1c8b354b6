"""Heads that tails choose, against a loop over tails that sums every probability."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.nn.head_selection import BestPair, select_heads
from spanloom.nn.losses import HeadSelectionLoss

DUMMY = pytest.mark.parametrize("dummy", [False, True])


@st.composite
def pairs(draw):
    """Scores of pairs, their gold labels, the tail of each, and how many spans there are."""
    spans = draw(st.integers(1, 5))
    tails = draw(st.lists(st.integers(0, spans - 1), min_size=1, max_size=12))
    labels = draw(st.integers(2, 4))
    target = draw(st.lists(st.integers(0, labels - 1), min_size=len(tails), max_size=len(tails)))
    torch.manual_seed(draw(st.integers(0, 999)))
    scores = torch.randn(len(tails), labels) * draw(st.sampled_from([1.0, 30.0]))
    return scores, torch.tensor(target), torch.tensor(tails), spans


def _weights(scores, tails, tail, dummy):
    """``exp`` of every choice that a tail has, by row and label, and of none at all."""
    rows = [row for row, each in enumerate(tails.tolist()) if each == tail]
    every = {(r, k): math.exp(scores[r, k]) for r in rows for k in range(1, scores.shape[1])}
    return every, (1.0 if dummy else 0.0)


@DUMMY
@settings(max_examples=80)
@given(drawn=pairs())
def test_the_loss_is_that_of_a_loop_over_tails(dummy, drawn):
    scores, target, tails, spans = drawn
    expected = 0.0
    for tail in set(tails.tolist()):
        every, none = _weights(scores.double(), tails, tail, dummy)
        gold = sum(weight for (row, label), weight in every.items() if target[row] == label)
        if not gold and not dummy:
            continue
        expected += math.log(sum(every.values()) + none) - math.log(gold or none)
    if expected > 80:  # beyond what fp32 tells from never
        return
    learnt = scores.clone().requires_grad_()
    # spans below the largest that are no tail of any pair choose nothing, and cost nothing
    found = HeadSelectionLoss(dummy=dummy)(learnt, target, tails)
    assert found.item() == pytest.approx(expected, rel=1e-3, abs=1e-3)
    found.backward()
    assert learnt.grad.isfinite().all()
    assert not learnt.grad[:, 0].any()


@DUMMY
@settings(max_examples=80)
@given(drawn=pairs())
def test_each_tail_chooses_its_best_head(dummy, drawn):
    scores, _, tails, spans = drawn
    chosen, sure = select_heads(scores, tails, spans, dummy=dummy)
    best = scores[:, 1:].amax(-1)
    for span in range(spans):
        mine = {r: best[r].item() for r, tail in enumerate(tails.tolist()) if tail == span}
        top = max(mine, key=mine.get, default=None)
        if top is None or (dummy and mine[top] <= 0):
            assert chosen[span] == -1
            continue
        assert chosen[span] == top
        every = scores[list(mine), 1:].flatten().tolist()
        others = sum(math.exp(score - mine[top]) for score in every)
        others += math.exp(-mine[top]) if dummy else 0.0
        assert sure[span].item() == pytest.approx(1 / others, rel=1e-3)


@DUMMY
def test_of_equals_the_first_is_chosen(dummy):
    scores = torch.tensor([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0], [0.0, 2.0]])
    chosen, _ = select_heads(scores, torch.tensor([0, 0, 0, 2]), 3, dummy=dummy)
    assert chosen.tolist() == [1, -1, 3]


@settings(deadline=None)
@given(drawn=pairs(), many=st.integers(1, 5))
def test_the_best_pair_of_each_owner_is_the_same_however_pairs_are_parted(drawn, many):
    scores, _, owners, size = drawn
    ends = torch.arange(2 * len(owners)).view(-1, 2)
    whole = BestPair.empty(size, scores.device).update(ends, scores, owners)
    parted = BestPair.empty(size, scores.device)
    for rows in torch.arange(len(owners)).split(many):
        parted = parted.update(ends[rows], scores[rows], owners[rows])
    for one, two in zip(whole.selected(), parted.selected(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)
    for owner, (found, label, sure) in zip(
        sorted(set(owners.tolist())), zip(*whole.selected(), strict=True), strict=True
    ):
        mine = scores[owners == owner][:, 1:]
        assert sure.item() == pytest.approx(mine.flatten().softmax(0).max().item(), abs=1e-4)
        assert scores[found[0] // 2, label] == mine.max()
