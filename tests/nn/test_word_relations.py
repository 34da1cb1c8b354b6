"""Scores of word pairs, against a loop over all of them that follows the paper's equation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from spanloom.nn import word_relations as room
from spanloom.nn.word_relations import WordPairs

DIM, LABELS = 4, 3
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def bench(lengths, seed=0):
    """A head with random weights, words, and the bounds of sentences."""
    torch.manual_seed(seed)
    made = WordPairs(DIM, num_labels=LABELS, hidden_size=5, dropout=0.0)
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    ends = torch.tensor([0, *lengths]).cumsum(0)
    return made, torch.randn(int(ends[-1]), DIM), torch.stack([ends[:-1], ends[1:]], dim=1)


def slow(made, words, sentences, able):
    """The scores of each pair of words, one after the other."""
    found = {}
    for a, b in sentences.tolist():
        mine = [word for word in range(a, b) if word in able]
        for i in mine:
            for j in mine:
                inner = made.tail.weight @ words[j] + made.head.weight @ words[i] + made.head.bias
                found[i, j] = made.labels.weight @ F.relu(inner) + made.labels.bias
    return found


def answers(made, words, sentences, able, threshold):
    """All parts of the answer, laid end to end: ends, labels, scores."""
    parts = list(made.best(words, sentences, able, threshold))
    columns = zip(*((part.pairs, part.labels, part.scores) for part in parts), strict=True)
    none = torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, dtype=torch.long), torch.zeros(0)
    return tuple(map(torch.cat, columns)) if parts else none


sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@settings(max_examples=40)
@given(lengths=sizes, seed=st.integers(0, 99), data=st.data())
def test_loss_and_answers_are_those_of_a_loop(lengths, seed, data):
    made, words, sentences = bench(lengths, seed)
    able = sorted(data.draw(st.sets(st.integers(0, len(words) - 1))))
    scores = slow(made, words, sentences, able)
    label = st.integers(0, LABELS - 1)
    triple = st.tuples(st.sampled_from(sorted(scores)), label) if scores else st.nothing()
    gold = data.draw(st.sets(triple))
    expected = sum(
        F.binary_cross_entropy_with_logits(
            each, torch.tensor([float((pair, k) in gold) for k in range(LABELS)]), reduction="sum"
        )
        for pair, each in scores.items()
    )
    rows = torch.tensor([(*pair, k) for pair, k in gold], dtype=torch.long).reshape(-1, 3)
    at = torch.tensor(able, dtype=torch.long)
    loss = made.loss(words, sentences, at, rows)
    torch.testing.assert_close(loss, torch.as_tensor(expected, dtype=torch.float), **CLOSE)
    found = answers(made, words, sentences, at, 0.3)
    likely = {
        (*pair, k): chance
        for pair, each in scores.items()
        for k, chance in enumerate(each.sigmoid().tolist())
    }
    for ends, k, chance in zip(*(each.tolist() for each in found), strict=True):
        assert chance == pytest.approx(likely.pop((*ends, k)), rel=1e-4)
        assert chance > 0.3
    assert all(chance < 0.3001 for chance in likely.values())


def test_chunks_give_the_same(monkeypatch):
    made, words, sentences = bench([3, 1, 6, 2])
    able = torch.arange(12)
    gold = torch.tensor([[0, 2, 1], [4, 9, 0], [4, 4, 2]])

    def every():
        return made.loss(words, sentences, able, gold), answers(made, words, sentences, able, 0.5)

    whole = every()
    monkeypatch.setattr(room, "_CHUNK", 20)
    chunks = []
    made.labels.register_forward_pre_hook(lambda _, inputs: chunks.append(len(inputs[0])))
    parts = every()
    assert max(chunks) == 6  # a word's pairs stay together; without bounds it would be 36
    torch.testing.assert_close(parts[0], whole[0])
    assert parts[1][0].equal(whole[1][0])
    assert parts[1][1].equal(whole[1][1])
    torch.testing.assert_close(parts[1][2], whole[1][2])


def test_the_hidden_layer_is_never_larger_than_a_chunk(monkeypatch):
    made, words, sentences = bench([40])
    monkeypatch.setattr(room, "_CHUNK", 5 * 100)
    seen = []
    made.labels.register_forward_hook(lambda part, given, out: seen.append(len(given[0])))
    answers(made, words, sentences, torch.arange(40), 0.5)
    assert max(seen) <= 100
    assert sum(seen) == 1600


def test_labels_are_rare_before_training():
    torch.manual_seed(0)
    made = WordPairs(DIM, num_labels=LABELS, hidden_size=8, dropout=0.0)
    words, sentences = torch.randn(20, DIM), torch.tensor([[0, 20]])
    assert not list(made.best(words, sentences, torch.arange(20), 0.5))


def test_no_words_that_can_no_pairs_no_loss():
    made, words, sentences = bench([3, 2])
    none = torch.zeros(0, dtype=torch.long), torch.zeros(0, 3, dtype=torch.long)
    loss = made.loss(words, sentences, *none)
    assert loss.item() == 0
    loss.backward()
    assert all(weight.grad is not None for weight in made.parameters())
    assert not list(made.best(words, sentences, none[0], 0.5))


def test_mixed_precision_adds_up_in_single():
    made, words, sentences = bench([6, 6])
    able, gold = torch.arange(12), torch.tensor([[0, 2, 1]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = made.loss(words, sentences, able, gold)
        scores = answers(made, words, sentences, able, 0.5)[2]
    assert (loss.dtype, scores.dtype) == (torch.float, torch.float)
    exact = made.loss(words, sentences, able, gold)
    torch.testing.assert_close(loss, exact, rtol=0.05, atol=0)
