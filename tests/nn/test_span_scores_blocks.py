"""Wide spans gathered or made of slices: the same scores and gradients, wherever the line is."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.nn import span_features, spans
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.candidates import Candidates
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.spans import SpanAttention, SpanProjection, SpanScorer

ALL_GATHERED, NONE_GATHERED = 0, 10**9
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def _sentences(lengths):
    ends = torch.tensor(lengths).cumsum(0)
    return torch.stack([ends - torch.tensor(lengths), ends], dim=1)


def _scored(sparse, lengths, width, seed, *, learning=True):
    """Scores, how many blocks they were made in, and all gradients."""
    torch.manual_seed(seed)
    scorer = SpanScorer(
        SpanProjection(5, 8, 4),
        OutputFeedForward(8, 5, 0.5),
        num_labels=3,
        attribute_sizes=AttributeSizes((2,)),
    ).eval()
    attention = SpanAttention(5)
    words = torch.randn(sum(lengths), 5, requires_grad=True)
    some = Candidates(width).starts(_sentences(lengths))
    with pytest.MonkeyPatch.context() as patch, torch.set_grad_enabled(learning):
        patch.setattr(span_features, "_SPARSE", sparse)
        features = scorer.projection.features(words, attention(words))
        blocks = sum(1 for _ in features.blocks(some))
        scores = scorer(features, some)
    if not learning:
        return scores, blocks, ()
    way = torch.randn(scores.shape, generator=torch.Generator().manual_seed(seed))
    inputs = [words, *attention.parameters(), *scorer.parameters()]
    return scores.detach(), blocks, torch.autograd.grad((scores * way).sum(), inputs)


@settings(max_examples=25)
@given(lengths=LENGTHS, width=st.integers(1, 9), line=st.integers(1, 12), seed=st.integers(0, 99))
def test_wide_spans_score_and_learn_alike_gathered_or_not(lengths, width, line, seed):
    wanted, many, theirs = _scored(NONE_GATHERED, lengths, width, seed)
    assert many == len(Candidates(width).starts(_sentences(lengths)))
    for sparse in (ALL_GATHERED, line):
        found, blocks, mine = _scored(sparse, lengths, width, seed)
        assert blocks == 1 if sparse == ALL_GATHERED else 1 <= blocks <= many
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        for one, two in zip(mine, theirs, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("sparse", [ALL_GATHERED, 3, NONE_GATHERED])
def test_in_use_they_are_scored_as_in_training_whatever_is_held_at_a_time(
    monkeypatch, chunk, sparse
):
    lengths = [9, 2, 5]
    wanted, _, _ = _scored(NONE_GATHERED, lengths, 6, 4)
    for room in (span_features, spans):
        monkeypatch.setattr(room, "CHUNK", chunk)
    found, _, _ = _scored(sparse, lengths, 6, 4, learning=False)
    assert len(found) == len(Candidates(6).bounds(_sentences(lengths)))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
