"""A cheap look before spans are scored in full: which are, what the others get, what is learnt."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from spanloom.nn.candidates import Candidates
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.span_relation_parts import SpanParts
from spanloom.nn.spans import CoarseSpanScorer, SpanAttention, SpanProjection, SpanScorer
from spanloom.tensors import SpanTargets

DIM, WIDTH, LABELS = 6, 4, 3
SENTENCES = torch.tensor([[0, 5], [5, 6], [6, 12]])
GOLD = SpanTargets(
    torch.tensor([[0, 2], [6, 9], [7, 12]]),  # the last is wider than any candidate
    torch.tensor([1, 2, 1]),
    torch.zeros(0, 3, dtype=torch.long),
)


def made(ratio):
    torch.manual_seed(3)
    scorer = SpanScorer(
        SpanProjection(DIM, 8, 3), OutputFeedForward(8, LABELS, 0.0), num_labels=LABELS
    )
    attention, coarse = SpanAttention(DIM), None
    if ratio:
        coarse = CoarseSpanScorer(DIM, num_width_embeddings=3, spans_per_word=ratio)
    spans = SpanParts(Candidates(WIDTH), attention, scorer, coarse_scorer=coarse)
    return SpanRelation(spans, None, dropout=0.0)


@pytest.fixture
def words():
    return torch.randn(12, DIM, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("learning", [True, False])
def test_a_gate_that_lets_all_pass_changes_no_score(words, learning):
    plain, gated = made(None), made(9.0)
    gated.load_state_dict(plain.state_dict(), strict=False)
    with torch.set_grad_enabled(learning):
        one, two = (head.score_spans(head.span_inputs(words, SENTENCES)) for head in (plain, gated))
    torch.testing.assert_close(one, two)


def test_the_likeliest_of_each_sentence_are_scored_and_the_others_are_none(words):
    head = made(1.5)
    view = head.span_inputs(words, SENTENCES)
    bounds = head.candidates.bounds(SENTENCES)
    looks = head.score_coarse(view, bounds)
    scores = head.score_spans(view)
    for (first, last), budget in zip(SENTENCES.tolist(), (8, 2, 9), strict=True):
        inside = [r for r, (a, b) in enumerate(bounds.tolist()) if first <= a and b <= last]
        best = sorted(inside, key=lambda row: -looks[row].item())[:budget]
        full = head.score_bounds(view, bounds[best])
        torch.testing.assert_close(scores[best], full)
        others = [row for row in inside if row not in best]
        assert (scores[others].softmax(-1)[:, 0] == 1).all()


def test_gold_is_scored_however_unlikely_and_the_gate_learns_where_it_is(words):
    head = made(0.01)  # one candidate a sentence
    view = head.span_inputs(words, SENTENCES)
    losses = head.loss(view, GOLD)
    bounds = head.candidates.bounds(SENTENCES).tolist()
    rows = [bounds.index([0, 2]), bounds.index([6, 9])]
    there = torch.zeros(len(bounds))
    there[rows] = 1.0
    looks = head.score_coarse(view, head.candidates.bounds(SENTENCES))
    expected = F.binary_cross_entropy_with_logits(looks, there, reduction="sum")
    torch.testing.assert_close(losses["coarse"], expected)
    scores = head.score_spans(view, gold=torch.tensor(rows))
    target = torch.zeros(len(bounds), dtype=torch.long)
    target[rows] = torch.tensor([1, 2])
    torch.testing.assert_close(losses["span"], F.cross_entropy(scores, target, reduction="sum"))
    sum(each for each in losses.values()).backward()
    assert head.coarse_scorer.linear.words.weight.grad.abs().sum() > 0
    assert head.spans.output.labels.weight.grad.abs().sum() > 0


def test_where_a_label_was_not_looked_for_the_gate_learns_of_gold_alone(words):
    head = made(1.0)
    view = head.span_inputs(words, SENTENCES)
    looked = torch.ones(12, LABELS, dtype=torch.bool)
    looked[6:, 1] = False
    bounds = head.candidates.bounds(SENTENCES)
    looks, bounds = head.score_coarse(view, bounds), bounds.tolist()
    there = [bounds.index([0, 2]), bounds.index([6, 9])]
    others = [row for row, (a, _) in enumerate(bounds) if a < 6 and row not in there]
    expected = F.softplus(-looks[there]).sum() + F.softplus(looks[others]).sum()
    losses = head.loss(view, replace(GOLD, label_mask=looked))
    torch.testing.assert_close(losses["coarse"], expected)


def test_unsure_spans_teach_the_gate_nothing(words):
    head = made(1.0)
    view = head.span_inputs(words, SENTENCES)
    unsure = SpanTargets(GOLD.bounds, torch.zeros_like(GOLD.labels), GOLD.pairs)
    bounds = head.candidates.bounds(SENTENCES)
    looks, bounds = head.score_coarse(view, bounds), bounds.tolist()
    known = [row for row, each in enumerate(bounds) if each not in ([0, 2], [6, 9])]
    expected = F.softplus(looks[known]).sum()
    torch.testing.assert_close(head.loss(view, unsure)["coarse"], expected)


def test_candidates_to_decode_are_those_that_were_scored_in_full(words):
    head = made(1.5)
    view = head.span_inputs(words, SENTENCES)
    every, bounds = head.score_spans(view), head.candidates.bounds(SENTENCES)
    kept = every[:, 1:].amax(1) > -1e4
    spans = head.scored_candidates(view)
    assert 0 < kept.sum() < len(bounds)
    torch.testing.assert_close(spans.bounds, bounds[kept])
    torch.testing.assert_close(spans.scores, every[kept])
    plain = made(None)
    spans = plain.scored_candidates(plain.span_inputs(words, SENTENCES))
    torch.testing.assert_close(spans.bounds, bounds)
