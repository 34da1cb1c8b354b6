"""The words before and after a span: read from its own sentence alone, however it is scored."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.nn import span_features
from spanloom.nn.candidates import Candidates, neighbors
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.spans import SpanAttention, SpanProjection, SpanScorer

LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def sentences_of(lengths):
    ends = torch.tensor(lengths).cumsum(0)
    return torch.stack([ends - torch.tensor(lengths), ends], dim=1)


@given(LENGTHS)
def test_neighbours_are_those_of_a_loop(lengths):
    expected = []
    for a, b in sentences_of(lengths).tolist():
        expected += [(w - 1 if w > a else -1, w + 1 if w + 1 < b else -1) for w in range(a, b)]
    assert neighbors(sentences_of(lengths)).tolist() == [list(each) for each in expected]


@settings(max_examples=20)
@given(LENGTHS, st.sampled_from([0, 10**9]), st.booleans())
def test_each_span_is_scored_as_by_itself(lengths, sparse, learning):
    torch.manual_seed(len(lengths))
    scorer = SpanScorer(
        SpanProjection(5, 8, 4, boundary_context=True), OutputFeedForward(8, 3, 0.5), num_labels=3
    ).eval()
    torch.nn.init.normal_(scorer.projection.edge_vectors)
    attention, sentences = SpanAttention(5), sentences_of(lengths)
    words, width = torch.randn(sum(lengths), 5), 5
    with pytest.MonkeyPatch.context() as patch, torch.set_grad_enabled(learning):
        patch.setattr(span_features, "_SPARSE", sparse)
        weights, beside = attention(words), neighbors(sentences)
        features = scorer.projection.features(words, weights, beside)
        found = scorer(features, Candidates(width).starts(sentences))
        bounds = Candidates(width).bounds(sentences)
        torch.testing.assert_close(found, scorer.score_bounds(features, bounds))
        linear = scorer.projection
        for row, (a, b) in enumerate(bounds.tolist()):
            first, last, content = linear.words(words).chunk(3, dim=-1)
            before, after = linear.boundary_context(words).chunk(2, dim=-1)
            left, right = beside[a, 0].item(), beside[b - 1, 1].item()
            share = weights[a:b] / weights[a:b].sum()
            z = first[a] + last[b - 1] + (content[a:b] * share).sum(0)
            z = z + (before[left] if left >= 0 else linear.edge_vectors[0])
            z = z + (after[right] if right >= 0 else linear.edge_vectors[1])
            z = z + linear.width_embedding.weight[min(b - a - 1, 3)]
            torch.testing.assert_close(found[row], scorer.output(z[None])[0], rtol=1e-4, atol=1e-5)
