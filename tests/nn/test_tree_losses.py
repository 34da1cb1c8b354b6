"""Losses over trees, against a list of all binary trees with all labels of their spans."""

import math
import time
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from spanloom.decoding.span_selection import cky_decode
from spanloom.nn.candidates import Candidates, ScoredSpans
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.losses import UNKNOWN
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.span_relation_parts import SpanParts
from spanloom.nn.spans import CoarseSpanScorer, SpanAttention, SpanProjection, SpanScorer
from spanloom.nn.tree_losses import tree_crf_loss, tree_margin_loss
from spanloom.tensors import SpanTargets

LABELS = 2
SENTENCES = torch.tensor([[0, 4], [4, 5], [5, 8], [8, 10]])
BOUNDS = Candidates(256).bounds(SENTENCES)
GOLD = {(0, 4): 1, (0, 1): 2, (2, 4): 1, (4, 5): 2, (5, 8): 2, (8, 10): 1, (8, 9): 1}
BOTH = pytest.mark.parametrize("loss", [tree_margin_loss, tree_crf_loss])


def spans_of(scores, bounds=BOUNDS, sentences=SENTENCES):
    return ScoredSpans(scores, bounds, sentences)


def target_of(gold, bounds=BOUNDS):
    return torch.tensor([gold.get(tuple(pair), 0) for pair in bounds.tolist()])


def random_scores(seed, scale=2.0):
    torch.manual_seed(seed)
    return (scale * torch.randn(len(BOUNDS), 1 + LABELS)).requires_grad_()


def binary_trees(start, end):
    """All sets of spans of binary trees over some words."""
    if end - start == 1:
        yield ((start, end),)
        return
    for split in range(start + 1, end):
        for left, right in product(binary_trees(start, split), binary_trees(split, end)):
            yield ((start, end), *left, *right)


def labelings(tree):
    """All ways to label a binary tree; 0 is no label, which the whole sentence must not have."""
    for labels in product(range(1 + LABELS), repeat=len(tree)):
        if labels[0]:
            yield dict(zip(tree, labels, strict=True))


def margin_of(scores, span, label):
    row = scores[BOUNDS.tolist().index(list(span))]
    return row[label] - row[0]


def tree_score(scores, labels):
    return sum(margin_of(scores, span, label) for span, label in labels.items() if label)


def slow_margin(scores, gold, start, end):
    inside = {span: label for span, label in gold.items() if start <= span[0] and span[1] <= end}
    best = max(
        tree_score(scores, labels) + sum(inside.get(s, 0) != n for s, n in labels.items())
        for tree in binary_trees(start, end)
        for labels in labelings(tree)
    )
    return best - tree_score(scores, inside)


def slow_crf(scores, gold, start, end):
    inside = {span: label for span, label in gold.items() if start <= span[0] and span[1] <= end}
    trees = {  # each once, however many binary trees have its labelled spans
        frozenset((span, label) for span, label in labels.items() if label)
        for tree in binary_trees(start, end)
        for labels in labelings(tree)
    }
    assert frozenset(inside.items()) in trees
    total = torch.stack([tree_score(scores, dict(tree)) for tree in trees]).logsumexp(0)
    return total - tree_score(scores, inside)


SLOW = {tree_margin_loss: slow_margin, tree_crf_loss: slow_crf}


@BOTH
@pytest.mark.parametrize("seed", range(6))
def test_losses_and_gradients_are_those_of_a_list_of_all_trees(loss, seed):
    scores = random_scores(seed)
    fast = loss(spans_of(scores), target_of(GOLD))
    fast_gradient = torch.autograd.grad(fast, scores)[0]
    slow = sum(SLOW[loss](scores, GOLD, a, b) for a, b in SENTENCES.tolist())
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast_gradient, torch.autograd.grad(slow, scores)[0])


@BOTH
def test_gold_that_scores_far_above_all_costs_nothing_and_decodes_to_itself(loss):
    scores = torch.zeros(len(BOUNDS), 1 + LABELS)
    target = target_of(GOLD)
    scores[torch.arange(len(target)), target] = 30.0
    assert loss(spans_of(scores), target) < 1e-6
    for start, end in SENTENCES.tolist():
        assert decode(scores, start, end) == {
            span for span in GOLD if start <= span[0] and span[1] <= end
        }


def decode(scores, start, end):
    chart = np.full((end - start, end - start + 1), -np.inf)
    for (a, b), row in zip(BOUNDS.tolist(), scores, strict=True):
        if start <= a and b <= end:
            chart[a - start, b - start] = float(row[1:].max() - row[0])
    return {(a + start, b + start) for a, b in cky_decode(chart)}


@pytest.mark.parametrize("seed", range(4))
def test_the_best_tree_by_these_scores_is_what_decoding_finds(seed):
    scores = random_scores(seed).detach()
    for start, end in SENTENCES.tolist():
        best = max(
            (labels for tree in binary_trees(start, end) for labels in labelings(tree)),
            key=lambda labels: float(tree_score(scores, labels)),
        )
        assert decode(scores, start, end) == {span for span, label in best.items() if label}


@BOTH
def test_sentences_do_not_see_each_other(loss):
    scores = random_scores(1)
    together = loss(spans_of(scores), target_of(GOLD))
    alone = []
    for start, end in SENTENCES.tolist():
        inside = (BOUNDS[:, 0] >= start) & (BOUNDS[:, 1] <= end)
        bounds = BOUNDS[inside] - start
        gold = {(a - start, b - start): label for (a, b), label in GOLD.items()}
        sentence = spans_of(scores[inside], bounds, torch.tensor([[0, end - start]]))
        alone.append(loss(sentence, target_of(gold, bounds)))
    torch.testing.assert_close(together, sum(alone))


@BOTH
def test_labels_that_nobody_knows_are_not_learnt(loss):
    scores, target = random_scores(2), target_of(GOLD)
    rows = [BOUNDS.tolist().index([0, 4]), BOUNDS.tolist().index([1, 3])]
    target[rows[0]] = 0  # a sentence without a label of its whole
    target[rows[1]] = UNKNOWN
    (gradient,) = torch.autograd.grad(loss(spans_of(scores), target), scores)
    assert gradient.isfinite().all()
    assert not gradient[rows].any()
    assert gradient.any()


@BOTH
def test_gold_that_is_no_tree_is_not_learnt(loss):
    scores = torch.zeros(len(BOUNDS), 1 + LABELS)
    crossing = target_of(GOLD | {(0, 3): 1})
    scores[torch.arange(len(crossing)), crossing] = 30.0
    scores.requires_grad_()
    value = loss(spans_of(scores), crossing)
    (gradient,) = torch.autograd.grad(value, scores)
    assert 0 <= value.item() < 1e-6
    assert gradient.isfinite().all()


class _Coarse(CoarseSpanScorer):
    """Keeps what it is told to."""

    kept: tuple = ()

    def forward(self, words, weights, starts, tokens=None):
        bounds = Candidates(256).bounds(SENTENCES).tolist()
        return torch.tensor([float(tuple(pair) in self.kept) for pair in bounds])


@BOTH
def test_spans_that_the_coarse_scorer_prunes_are_none(loss):
    torch.manual_seed(7)
    coarse = _Coarse(6, num_width_embeddings=4, spans_per_word=0.5, keep_sentences=True)
    coarse.kept = ((1, 4), (1, 2), (6, 8), (7, 8), (9, 10))
    scorer = SpanScorer(
        SpanProjection(6, 8, 4), OutputFeedForward(8, 1 + LABELS, 0.0), num_labels=1 + LABELS
    )
    parts = SpanParts(Candidates(256), SpanAttention(6), scorer, loss, coarse)
    head = SpanRelation(parts, None, dropout=0.0)
    inputs = head.span_inputs(nn.init.normal_(torch.empty(10, 6)), SENTENCES)
    gold = SpanTargets(
        torch.tensor(list(GOLD)), torch.tensor(list(GOLD.values())), torch.zeros(0, 3).long()
    )
    fast = head.loss(inputs, gold)["span"]
    target = target_of(GOLD)
    scores = scorer(scorer.spans_of(inputs), head.candidates.starts(SENTENCES))
    is_whole = [pair in SENTENCES.tolist() for pair in BOUNDS.tolist()]
    kept = torch.tensor([tuple(pair) in coarse.kept for pair in BOUNDS.tolist()])
    kept |= (target > 0) | torch.tensor(is_whole)
    scores = torch.where(kept[:, None], scores, torch.tensor([0.0] + [-math.inf] * LABELS))
    assert not kept.all()
    slow = sum(SLOW[loss](scores, GOLD, a, b) for a, b in SENTENCES.tolist())
    torch.testing.assert_close(fast, slow)


@pytest.mark.slow
@BOTH
def test_the_chart_is_cheap_for_many_sentences(loss):
    """Time is linear in the number of sentences: no loop goes over sentences or spans."""

    def seconds(count):
        ends = 20 * torch.arange(1, count + 1)
        sentences = torch.stack([ends - 20, ends], dim=1)
        bounds = Candidates(256).bounds(sentences)
        target = (bounds[:, 1] - bounds[:, 0] == 20).long()
        scores = torch.randn(len(bounds), 4, requires_grad=True)
        times = []
        for _ in range(3):
            begin = time.process_time()
            loss(spans_of(scores, bounds, sentences), target).backward()
            times.append(time.process_time() - begin)
        return min(times)

    seconds(4)
    assert seconds(64) < 16 * 2 * seconds(4)
