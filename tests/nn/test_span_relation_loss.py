"""The head's loss and pruning, against a plain loop over spans and pairs."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from spanloom.nn import pairs as pairs_room
from spanloom.nn.candidates import Candidates, Pruner, top_k_mask, top_k_non_null
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.losses import (
    HardNegativesLoss,
    HeadSelectionLoss,
    all_spans_loss,
    label_loss,
    soft_loss,
)
from spanloom.nn.pairs import PairScorer, PairSizes
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.span_relation_parts import PairParts, SpanParts
from spanloom.nn.spans import SpanAttention, SpanProjection, SpanScorer
from spanloom.tensors import SpanTargets

DIM, LABELS, LINKS = 5, 3, 4
SENTENCES = torch.tensor([[0, 6], [6, 7], [7, 12]])
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
# the third is too wide, the last crosses sentences: neither is a candidate
GOLD = SpanTargets(
    torch.tensor([[0, 2], [3, 4], [0, 5], [6, 7], [8, 10], [11, 12], [5, 7]]),
    torch.tensor([1, 2, 1, 1, 2, 2, 1]),
    torch.tensor([[0, 1, 3], [1, 0, 1], [4, 5, 2], [0, 2, 1], [0, 3, 2], [3, 4, 1], [1, 1, 2]]),
)


def _soft(mine, likely):
    """The loss of one row by its definition; what the teacher rules out costs nothing."""
    probabilities = likely.exp() / likely.exp().sum()
    norm = mine.exp().sum().log()
    return sum(
        probability * (norm - score)
        for score, probability in zip(mine.tolist(), probabilities.tolist(), strict=True)
        if probability
    )


def test_a_teachers_probabilities_take_the_place_of_gold(head):
    torch.manual_seed(5)
    teacher = _head(Pruner(0.5)).requires_grad_(False)
    words, others = torch.randn(12, DIM), torch.randn(12, DIM)
    view, theirs = head.span_inputs(words, SENTENCES), teacher.span_inputs(others, SENTENCES)
    scores, likely = head.score_spans(view).detach(), teacher.score_spans(theirs)
    expected = sum(_soft(*rows) for rows in zip(scores, likely, strict=True))
    assert head.soft_loss(view, teacher, theirs).item() == pytest.approx(float(expected), rel=1e-4)


def test_a_label_that_both_rule_out_costs_nothing():
    mine, likely = torch.tensor([[-torch.inf, 1.0, 2.0]]), torch.tensor([[-torch.inf, 0.5, 0.0]])
    mine.requires_grad_()
    loss = soft_loss(mine, likely).sum()
    assert loss.item() == pytest.approx(float(_soft(mine[0].detach(), likely[0])), rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, mine)
    expected = mine.detach().softmax(-1) - likely.softmax(-1)
    torch.testing.assert_close(gradient, expected, **CLOSE)


@pytest.fixture
def head():
    torch.manual_seed(4)
    return _head(Pruner(0.5))


def _head(prune, confusing=None, pair_loss=label_loss):
    sizes = {"num_width_embeddings": 3, "hidden_size": 6, "dropout": 0.0}
    attention = SpanAttention(DIM)
    scorer = SpanScorer(
        SpanProjection(DIM, 6, 3), OutputFeedForward(6, LABELS, 0.0), num_labels=LABELS
    )
    loss = all_spans_loss if confusing is None else HardNegativesLoss(Pruner(confusing))
    spans = SpanParts(Candidates(3), attention, scorer, loss, pruner=prune)
    pairs = PairScorer(PairSizes(word_dim=DIM, num_types=LABELS, num_labels=LINKS, **sizes))
    return SpanRelation(spans, PairParts(pairs, loss=pair_loss), dropout=0.0)


def _gold_spans():
    return {(a, b): label for (a, b), label in zip(GOLD.bounds.tolist(), GOLD.labels, strict=True)}


def _hardest(scores, bounds, a, b, count):
    """Rows of a sentence's spans, least probably none first, as many as asked."""
    mine = [row for row, (start, _) in enumerate(bounds) if a <= start < b]
    none = scores.log_softmax(-1)[:, 0]
    return sorted(mine, key=lambda row: none[row].item())[:count]


def _slow_spans(scores, bounds, confusing):
    total = 0.0
    for a, b in SENTENCES.tolist():
        count = len(bounds) if confusing is None else max(1, -int(-confusing * (b - a) // 1))
        hard = _hardest(scores, bounds, a, b, count)
        for row, (start, end) in enumerate(bounds):
            label = _gold_spans().get((start, end), 0)
            if a <= start < b and (row in hard or label):
                total += F.cross_entropy(scores[row], torch.tensor(int(label))).item()
    return total


def _slow_pairs(head, view, kept, types, given):
    total = 0.0
    relation = {
        (tuple(GOLD.bounds[i].tolist()), tuple(GOLD.bounds[j].tolist())): label
        for i, j, label in GOLD.pairs.tolist()
    }
    for a, b in SENTENCES.tolist():
        mine = [row for row, (start, _) in enumerate(kept) if a <= start < b]
        for i in mine:
            for j in mine:
                if i != j:
                    two = torch.tensor([kept[i], kept[j]])
                    score = head.pair_scorer(view, two, types[[i, j]])(torch.tensor([[0, 1]]))
                    label = relation.get((tuple(kept[i]), tuple(kept[j])), 0)
                    total += F.cross_entropy(score[0], torch.tensor(label)).item()
    return total


@pytest.mark.parametrize(
    ("prune", "confusing"),
    [
        *product([Pruner(0.5), Pruner(0.2), Pruner(spans_per_sentence=1)], [None, 1.0, 0.4]),
        (Pruner(3.0), 1.0),  # keeps every span: hundreds of pairs
        pytest.param(Pruner(3.0), None, marks=pytest.mark.slow),
        pytest.param(Pruner(3.0), 0.4, marks=pytest.mark.slow),
    ],
)
def test_the_loss_is_that_of_a_loop(prune, confusing):
    torch.manual_seed(4)
    head = _head(prune, confusing)
    view = head.span_inputs(torch.randn(12, DIM), SENTENCES)
    losses = head.loss(view, GOLD)
    scores, bounds = head.score_spans(view), head.candidates.bounds(SENTENCES).tolist()
    expected = _slow_spans(scores, bounds, confusing)
    assert losses["span"].item() == pytest.approx(expected, rel=1e-4)
    kept = _kept(scores, bounds, prune)
    slow = _slow_pairs(head, view, [bounds[r] for r in kept], scores[kept].softmax(-1), given=False)
    assert losses["relation"].item() == pytest.approx(slow, rel=1e-4)


def _kept(scores, bounds, prune):
    kept = {row for row, each in enumerate(bounds) if tuple(each) in _gold_spans()}
    for a, b in SENTENCES.tolist():
        count = prune.spans_per_sentence or max(1, -int(-prune.spans_per_word * (b - a) // 1))
        kept.update(_hardest(scores, bounds, a, b, count))
    return sorted(kept)


def test_given_spans_are_not_learnt_and_alone_form_pairs(head):
    view = head.span_inputs(torch.randn(12, DIM), SENTENCES)
    order = sorted(range(len(GOLD.bounds)), key=lambda row: GOLD.bounds[row].tolist())
    back = torch.tensor(order).argsort()
    gold = SpanTargets(
        GOLD.bounds[order],
        GOLD.labels[order],
        torch.cat([back[GOLD.pairs[:, :2]], GOLD.pairs[:, 2:]], dim=1),
    )
    losses = head.given_spans_loss(view, gold)
    types = F.one_hot(gold.labels, LABELS).float()
    slow = _slow_pairs(head, view, gold.bounds.tolist(), types, given=True)
    assert list(losses) == ["relation"]
    assert losses["relation"].item() == pytest.approx(slow, rel=1e-4)


def test_a_tail_whose_head_is_out_of_reach_is_not_taught_to_have_none():
    """The head stands in another sentence; all other tails have none indeed."""
    torch.manual_seed(4)
    head = _head(Pruner(0.5), pair_loss=HeadSelectionLoss(dummy=True))
    bounds = torch.tensor([[0, 2], [3, 4], [8, 10], [10, 11], [11, 12]])
    gold = SpanTargets(bounds, torch.ones(5, dtype=torch.long), torch.tensor([[0, 2, 3]]))
    view = head.span_inputs(torch.randn(12, DIM), SENTENCES)
    types = F.one_hot(gold.labels, LABELS).float()
    tails = {1: [0], 0: [1], 3: [2, 4], 4: [2, 3]}  # without 2
    scores = head.pair_scorer(view, bounds, types)
    expected = 0.0
    for tail, heads in tails.items():
        labels = scores(torch.tensor([[each, tail] for each in heads]))[:, 1:]
        expected += labels.flatten().exp().sum().add(1).log().item()
    assert head.given_spans_loss(view, gold)["relation"].item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("given", [True, False])
def test_no_gold_is_learnt_as_none(head, given):
    empty = SpanTargets(*(torch.zeros(shape, dtype=torch.long) for shape in ((0, 2), 0, (0, 3))))
    view = head.span_inputs(torch.randn(12, DIM, requires_grad=True), SENTENCES)
    losses = (head.given_spans_loss if given else head.loss)(view, empty)
    sum(each for each in losses.values()).backward()
    if given:
        assert losses["relation"].item() == 0
    else:
        none = head.score_spans(view).log_softmax(-1)[:, 0]
        torch.testing.assert_close(losses["span"], -none.sum(), **CLOSE)


def test_the_least_none_of_each_sentence_are_kept():
    torch.manual_seed(0)
    scores, group = torch.randn(20, 3), torch.tensor([0] * 8 + [1] * 1 + [3] * 11)
    budget = torch.tensor([3, 2, 5, 4])
    kept = top_k_non_null(scores, group, budget)
    none = scores.log_softmax(-1)[:, 0]
    for row in range(4):
        mine = (group == row).nonzero()[:, 0].tolist()
        best = sorted(mine, key=lambda each: none[each].item())[: budget[row]]
        assert [each for each in mine if kept[each]] == sorted(best)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-torch.inf, -2.5, -1.0, -0.0, 0.0, 1e-9, 1.0, 3e8, torch.inf]),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.integers(0, 4), min_size=4, max_size=4),
)
def test_the_highest_values_of_each_group_are_kept_and_of_equal_ones_the_first(items, budget):
    values, groups = torch.tensor([value for value, _ in items]), [group for _, group in items]
    expected = set()
    for group in range(4):
        mine = [i for i in range(len(items)) if groups[i] == group]
        expected |= {*sorted(mine, key=lambda i: -items[i][0])[: budget[group]]}
    kept = top_k_mask(values, torch.tensor(groups), torch.tensor(budget))
    assert {*kept.nonzero()[:, 0].tolist()} == expected


def test_equal_scores_are_kept_in_order():
    kept = top_k_non_null(torch.zeros(6, 2), torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([2, 1]))
    assert kept.tolist() == [True, True, False, True, False, False]


@pytest.mark.parametrize("chunk", [1, 7])
def test_scores_in_chunks_are_scores_at_once(head, monkeypatch, chunk):
    view = head.span_inputs(torch.randn(12, DIM), SENTENCES)
    bounds = head.candidates.bounds(SENTENCES)[:6]
    types = torch.rand(6, LABELS)
    pairs = torch.tensor([(i, j) for i in range(6) for j in range(6) if i != j])
    whole = head.pair_scorer(view, bounds, types)(pairs)
    monkeypatch.setattr(pairs_room, "_CHUNK", chunk)
    with torch.no_grad():
        torch.testing.assert_close(head.pair_scorer(view, bounds, types)(pairs), whole, **CLOSE)
        assert head.pair_scorer(view, bounds, types)(pairs[:0]).shape == (0, LINKS)


def test_labels_nobody_looked_for_and_unsure_spans_are_not_learnt(head):
    """In the first sentence label 2 was not looked for; what the second span is nobody knows."""
    looked = torch.ones(12, LABELS, dtype=torch.bool)
    looked[:6, 2] = False
    gold = SpanTargets(
        torch.tensor([[0, 2], [3, 4], [8, 10]]),
        torch.tensor([1, 0, 2]),
        torch.zeros(0, 3, dtype=torch.long),
        label_mask=looked,
    )
    view = head.span_inputs(torch.randn(12, DIM), SENTENCES)
    bounds, scores = head.candidates.bounds(SENTENCES).tolist(), head.score_spans(view)
    expected = torch.zeros(())
    for (start, end), row in zip(bounds, scores, strict=True):
        label = {(0, 2): 1, (8, 10): 2}.get((start, end), 0)
        if (start, end) != (3, 4):
            able = row[:2] if start < 6 else row
            expected = expected - able.log_softmax(-1)[label]
    found = head.loss(view, gold)["span"]
    torch.testing.assert_close(found, expected, **CLOSE)
    found.backward()
    assert all(torch.isfinite(each.grad).all() for each in head.spans.parameters())
