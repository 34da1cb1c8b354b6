"""Arcs between words: against loops over words and heads, one pair and one sentence at a time."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from spanloom.nn import dependency_arcs as room
from spanloom.nn.dependency_arcs import UNKNOWN, ArcLabeler, ArcScorer, DependencyHead

DIM, LABELS = 5, 3
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)
SEEDS = st.integers(0, 999)


def _tree(seed):
    torch.manual_seed(seed)
    arcs = ArcScorer(DIM, hidden_size=4, dropout=0.5)
    return DependencyHead(
        arcs, ArcLabeler(DIM, num_labels=LABELS, hidden_size=4, dropout=0.5)
    ).eval()


def _runs(lengths):
    ends = torch.tensor(lengths, dtype=torch.long).cumsum(0)
    return torch.stack([ends - torch.tensor(lengths, dtype=torch.long), ends], dim=1)


def _score(arcs, words, head, dependent):
    """The score of one pair, from two vectors; a word that heads itself is the root."""
    below = F.gelu(arcs.dependent(words[dependent]))
    if head == dependent:
        return arcs.root(below)[0]
    hidden = F.gelu(arcs.head(words[head]))
    pairs = zip(arcs.bilinear(hidden), below, strict=True)
    return sum((a * b for a, b in pairs), torch.zeros(())) + arcs.prior(hidden)[0]


def _found(arcs, words, runs):
    """Scores by pair of rows, and whatever stands where a word heads from the padding."""
    scores, outside = {}, []
    for places, lengths, made in arcs(words, runs):
        for run, length in enumerate(lengths.tolist()):
            for dependent in range(length):
                for head in range(made.shape[1]):
                    value = made[run, head, dependent]
                    if head >= length:
                        outside.append(float(value))
                    else:
                        at = int(places[run, head]), int(places[run, dependent])
                        scores[at] = value
    return scores, outside


@settings(max_examples=20)
@given(lengths=LENGTHS, seed=SEEDS, chunk=st.sampled_from([1, 40, 1 << 20]))
def test_scores_are_those_of_pairs_one_at_a_time_and_padding_heads_nothing(lengths, seed, chunk):
    arcs, words = _tree(seed).arcs, torch.randn(sum(lengths), DIM)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(room, "_CHUNK", chunk)
        scores, outside = _found(arcs, words, _runs(lengths))
        every = [
            (h, d) for a, b in _runs(lengths).tolist() for h in range(a, b) for d in range(a, b)
        ]
        assert sorted(scores) == every
        wanted = torch.stack([_score(arcs, words, *pair) for pair in every])
    torch.testing.assert_close(torch.stack([scores[pair] for pair in every]), wanted, **CLOSE)
    assert all(value == -math.inf for value in outside)


def _expected(tree, words, runs, heads, labels):
    """Both losses by plain loops: each known word chooses among the words of its run."""
    arcs, named = torch.zeros(()), torch.zeros(())
    for first, last in runs.tolist():
        for word in range(first, last):
            if first <= heads[word] < last:
                scores = [_score(tree.arcs, words, head, word) for head in range(first, last)]
                right = scores[int(heads[word]) - first]
                arcs = arcs + torch.stack(scores).exp().sum().log() - right
    for word, head in enumerate(heads.tolist()):
        if head != UNKNOWN:
            (scored,) = tree.labels(words, torch.tensor([[head, word]]))
            named = named + scored.exp().sum().log() - scored[int(labels[word]) - 1]
    return {"arcs": arcs, "labels": named}


@st.composite
def gold(draw):
    """Lengths of runs, a head a word (none, its own, or of any run), and labels."""
    lengths = draw(LENGTHS)
    words = sum(lengths)
    heads = draw(st.lists(st.integers(UNKNOWN, words - 1), min_size=words, max_size=words))
    labels = draw(st.lists(st.integers(1, LABELS), min_size=words, max_size=words))
    return lengths, torch.tensor(heads), torch.tensor(labels)


@settings(max_examples=25)
@given(drawn=gold(), seed=SEEDS, chunk=st.sampled_from([1, 40, 1 << 20]))
def test_the_loss_is_that_of_plain_loops_and_so_are_its_gradients(drawn, seed, chunk):
    lengths, heads, labels = drawn
    tree, runs = _tree(seed), _runs(lengths)
    words = torch.randn(sum(lengths), DIM, requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_CHUNK", chunk)
        found = tree.loss(words, runs, heads, labels)
    wanted = _expected(tree, words, runs, heads, labels)
    assert found.keys() == wanted.keys()
    inputs = [words, *tree.parameters()]
    for name, loss in wanted.items():
        torch.testing.assert_close(found[name], loss, **CLOSE)
    mine = sum(each for each in found.values()) + 0 * sum(each.sum() for each in inputs)
    theirs = sum(wanted.values()) + 0 * sum(each.sum() for each in inputs)
    both = (torch.autograd.grad(each, inputs) for each in (mine, theirs))
    for one, two in zip(*both, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


def _taught(tree, teacher, words, theirs, runs):
    """Both losses against a teacher's probabilities, by plain loops over words and heads."""
    arcs, named = torch.zeros(()), torch.zeros(())
    for first, last in runs.tolist():
        for word in range(first, last):
            mine, likely = (
                torch.stack([_score(each.arcs, read, head, word) for head in range(first, last)])
                for each, read in ((tree, words), (teacher, theirs))
            )
            likely = likely.exp() / likely.exp().sum()
            for score, probability in zip(mine, likely.detach(), strict=True):
                arcs = arcs + probability * (mine.exp().sum().log() - score)
            arc = torch.tensor([[first + int(likely.argmax()), word]])
            (scores,), (target,) = tree.labels(words, arc), teacher.labels(theirs, arc)
            target = target.exp() / target.exp().sum()
            for score, probability in zip(scores, target.detach(), strict=True):
                named = named + probability * (scores.exp().sum().log() - score)
    return {"arcs": arcs, "labels": named}


@settings(max_examples=25)
@given(lengths=LENGTHS, seed=SEEDS, chunk=st.sampled_from([1, 40, 1 << 20]))
def test_a_teachers_probabilities_take_the_place_of_gold(lengths, seed, chunk):
    tree, teacher, runs = _tree(seed), _tree(seed + 1).requires_grad_(False), _runs(lengths)
    words, theirs = (torch.randn(sum(lengths), DIM) for _ in range(2))
    words.requires_grad_()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_CHUNK", chunk)
        found = tree.soft_loss(words, runs, teacher, theirs)
    wanted = _taught(tree, teacher, words, theirs, runs)
    assert found.keys() == wanted.keys()
    for name, loss in wanted.items():
        torch.testing.assert_close(found[name], loss, **CLOSE)
        one, two = (
            torch.autograd.grad(each, words, retain_graph=True)[0] for each in (found[name], loss)
        )
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


def test_padding_gets_no_gradient():
    """A run beside a longer one learns as it does alone, and words of no run learn nothing."""
    tree = _tree(1)
    words = torch.randn(9, DIM)
    heads, labels = torch.tensor([1, 1, 2, 2, 2, 5, 5, -1, -1]), torch.ones(9, dtype=torch.long)
    runs = torch.tensor([[0, 2], [2, 7]])
    gradients = []
    for some in (runs, runs[:1], runs[1:]):
        mine = words.clone().requires_grad_()
        tree.loss(mine, some, heads, labels)["arcs"].backward()
        assert torch.isfinite(mine.grad).all()
        gradients.append(mine.grad)
    torch.testing.assert_close(gradients[0], gradients[1] + gradients[2], **CLOSE)
    assert gradients[0][7:].equal(torch.zeros(2, DIM))
    assert gradients[1][2:].equal(torch.zeros(7, DIM))


@settings(max_examples=20)
@given(lengths=LENGTHS, seed=SEEDS, data=st.data())
def test_the_order_of_sentences_in_a_batch_is_no_matter(lengths, seed, data):
    tree, runs = _tree(seed), _runs(lengths)
    words = torch.randn(sum(lengths), DIM)
    heads = torch.cat([torch.randint(a, b, (b - a,)) for a, b in runs.tolist()])
    labels = torch.randint(1, LABELS + 1, (len(words),))
    order = data.draw(st.permutations(range(len(lengths))))
    rows = torch.cat([torch.arange(*runs[run].tolist()) for run in order])
    place = rows.argsort()
    moved = place[heads[rows]]
    one = tree.loss(words, runs, heads, labels)
    two = tree.loss(words[rows], _runs([lengths[run] for run in order]), moved, labels[rows])
    for name in one:
        torch.testing.assert_close(one[name], two[name], **CLOSE)


def test_labels_of_many_arcs_are_those_of_each_alone():
    tree, words = _tree(2), torch.randn(6, DIM)
    arcs = torch.tensor([(head, word) for head in range(6) for word in range(6)])
    alone = [tree.labels(words[pair], torch.tensor([[0, 1]])) for pair in arcs]
    torch.testing.assert_close(tree.labels(words, arcs), torch.cat(alone), **CLOSE)


def test_no_sentence_costs_nothing():
    nothing = torch.zeros(0, dtype=torch.long)
    found = _tree(3).loss(torch.zeros(0, DIM), nothing.view(0, 2), nothing, nothing)
    assert {name: loss.item() for name, loss in found.items()} == {"arcs": 0.0, "labels": 0.0}
