"""Every pair of words by itself, against plain loops."""

import pytest
import torch
from torch.nn import functional as F

from spanloom.nn import dependency_pairs
from spanloom.nn.dependency_arcs import UNKNOWN, ArcLabeler
from spanloom.nn.dependency_pairs import ArcPairs

RUNS = torch.tensor([[0, 3], [3, 4], [4, 9]])
HEADS = torch.tensor([1, 1, 1, 3, 5, 5, UNKNOWN, 5, 7])
LABELS = torch.tensor([2, 1, 3, 1, 2, 1, 0, 3, 2])


@pytest.fixture
def head():
    torch.manual_seed(1)
    return ArcPairs(ArcLabeler(6, num_labels=4, hidden_size=8, dropout=0.0)).eval()


def _words():
    return torch.randn(9, 6, generator=torch.Generator().manual_seed(2))


def _plain(head, words):
    """Scores of "none" and labels, for each pair within a run."""
    return {
        (a, b): head.scorer(words, torch.tensor([[a, b]]))[0]
        for start, end in RUNS.tolist()
        for a in range(start, end)
        for b in range(start, end)
    }


@pytest.mark.parametrize("chunk", [1, 20, 1000])
def test_odds_are_those_of_pairs_one_at_a_time(head, chunk, monkeypatch):
    monkeypatch.setattr(dependency_pairs, "_CHUNK", chunk)
    words, found = _words(), {}
    for places, lengths, scores in head.arcs(words, RUNS):
        for rows, n, table in zip(places.tolist(), lengths.tolist(), scores, strict=True):
            for i in range(n):
                for j in range(n):
                    found[rows[i], rows[j]] = table[i, j]
            assert (table[n:] == -torch.inf).all()
    wanted = _plain(head, words)
    assert found.keys() == wanted.keys()
    for pair, scores in wanted.items():
        related = 1 - scores.softmax(0)[0]
        torch.testing.assert_close(found[pair], related.logit(), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(head.labels(words, torch.tensor([pair]))[0], scores[1:])


@pytest.mark.parametrize("chunk", [1, 20, 1000])
def test_the_loss_is_that_of_all_pairs_of_words_whose_head_is_known(head, chunk, monkeypatch):
    monkeypatch.setattr(dependency_pairs, "_CHUNK", chunk)
    words = _words()
    wanted = sum(
        F.cross_entropy(scores, LABELS[b] if int(HEADS[b]) == a else torch.tensor(0))
        for (a, b), scores in _plain(head, words).items()
        if int(HEADS[b]) != UNKNOWN
    )
    found = head.loss(words, RUNS, HEADS, LABELS)
    assert list(found) == ["relation"]
    torch.testing.assert_close(found["relation"], wanted, rtol=1e-4, atol=1e-4)


def test_a_head_in_another_run_teaches_nothing(head):
    """The part of a long sentence in which a word's head is not counts as unknown."""
    across, unknown = HEADS.clone(), HEADS.clone()
    across[7], unknown[7] = 1, UNKNOWN
    across[0], unknown[0] = 4, UNKNOWN
    words = _words()
    found, wanted = (head.loss(words, RUNS, heads, LABELS) for heads in (across, unknown))
    torch.testing.assert_close(found, wanted)


def test_no_words_are_no_error(head):
    nothing = head.loss(
        torch.zeros(0, 6), torch.zeros(0, 2, dtype=torch.long), HEADS[:0], LABELS[:0]
    )
    assert float(nothing["relation"]) == 0
