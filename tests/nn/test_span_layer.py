"""A span layer and the heads on it, against loops that build every span."""

import pytest
import torch
from torch.nn import functional as F

from spanloom.nn.antecedents import AntecedentSearch
from spanloom.nn.candidates import Candidates
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.pairs import PairScorer, PairSizes
from spanloom.nn.span_layer import SharedSpanProjection, SpanLayer
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.span_relation_parts import PairParts, SpanParts
from spanloom.nn.spans import SpanScorer

DIM, HIDDEN, LABELS = 6, 8, 3
SENTENCES = torch.tensor([[0, 5], [5, 6], [6, 11]])
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
BOTH = pytest.mark.parametrize("boundary_context", [False, True])
WAYS = pytest.mark.parametrize("learning", [False, True])


def layer_of(*, boundary_context=False, dropout=0.0):
    torch.manual_seed(1)
    made = SpanLayer(DIM, HIDDEN, dropout=dropout, boundary_context=boundary_context)
    if boundary_context:
        torch.nn.init.normal_(made.projection.edge_vectors)
    return made.eval()


def head_of(width, seed=2, pairs=False):
    torch.manual_seed(seed)
    scorer = SpanScorer(None, OutputFeedForward(HIDDEN, LABELS, 0.0), num_labels=LABELS)
    sizes = PairSizes(
        word_dim=DIM,
        num_types=LABELS,
        num_labels=2,
        num_width_embeddings=width,
        hidden_size=HIDDEN,
        dropout=0.0,
        span_dim=HIDDEN,
    )
    parts = PairParts(PairScorer(sizes)) if pairs else None
    return SpanRelation(SpanParts(Candidates(width), None, scorer), parts, dropout=0.0).eval()


@pytest.fixture
def words():
    torch.manual_seed(3)
    return torch.randn(11, DIM)


def slow_vector(layer, words, a, b):
    """The vector of one span, by the definition: no sums of words are shared."""
    first, last, content = (
        F.linear(words, weight, bias)
        for weight, bias in zip(
            layer.projection.words.weight.chunk(3),
            layer.projection.words.bias.chunk(3),
            strict=True,
        )
    )
    share = layer.attention.score(words[a:b])[:, 0].softmax(0)
    vector = first[a] + last[b - 1] + (share[:, None] * content[a:b]).sum(0)
    vector = vector + layer.projection.width_embedding.weight[b - a - 1]
    if layer.projection.boundary_context is None:
        return vector
    before, after = layer.projection.boundary_context(words).chunk(2, dim=-1)
    left, right = layer.projection.edge_vectors
    starts, ends = SENTENCES.T.tolist()
    vector = vector + (left if a in starts else before[a - 1])
    return vector + (right if b in ends else after[b])


@BOTH
@WAYS
@pytest.mark.parametrize("width", [1, 3, 9])
def test_heads_of_every_width_score_the_vectors_of_the_layer(
    words, boundary_context, learning, width
):
    layer, head = layer_of(boundary_context=boundary_context), head_of(width)
    bounds = head.candidates.bounds(SENTENCES)
    with torch.set_grad_enabled(learning):
        inputs = head.span_inputs(words, SENTENCES, shared=layer(words, SENTENCES))
        scores = head.score_spans(inputs)
        vectors = torch.stack([slow_vector(layer, words, a, b) for a, b in bounds.tolist()])
        torch.testing.assert_close(scores, head.spans.output(vectors), **CLOSE)
        torch.testing.assert_close(head.score_bounds(inputs, bounds), scores, **CLOSE)


@WAYS
def test_ends_of_pairs_are_projected_from_the_vectors_of_the_layer(words, learning):
    layer, head, bounds = layer_of(), head_of(4, pairs=True), torch.tensor([[0, 2], [3, 4]])
    vectors = torch.stack([slow_vector(layer, words, a, b) for a, b in bounds.tolist()])
    with torch.set_grad_enabled(learning):
        inputs = head.span_inputs(words, SENTENCES, shared=layer(words, SENTENCES))
        for end in (head.pairs.head, head.pairs.tail):
            expected = end.linear(F.gelu(end.norm(vectors)))
            torch.testing.assert_close(end.project(inputs, bounds), expected, **CLOSE)
    assert not head.pairs.head.linear.weight.equal(head.pairs.tail.linear.weight)


def test_coarse_antecedents_read_the_layer(words):
    inputs = head_of(3).span_inputs(words, SENTENCES, shared=layer_of()(words, SENTENCES))
    part, bounds = AntecedentSearch(2, 10, rank=4).build_shared(HIDDEN), torch.tensor([[0, 1]])
    scores = part.prepare(inputs, bounds, torch.tensor([[0.5, 0.3, 0.2]]))
    expected = part.antecedent.project(inputs, bounds)
    torch.testing.assert_close(scores.antecedents, expected)
    assert isinstance(part.antecedent, SharedSpanProjection)


def test_a_vector_added_to_all_words_shifts_all_spans(words):
    layer, vector, bounds = layer_of(), torch.randn(1, DIM), Candidates(5).bounds(SENTENCES)
    shift = layer.shift(vector).expand(len(words), -1)
    shifted = layer(words, SENTENCES).shifted(shift).gather(bounds)
    moved = layer(words + vector, SENTENCES).gather(bounds)
    torch.testing.assert_close(shifted, moved, **CLOSE)


def test_inside_a_sentence_words_around_a_span_shift_it_too(words):
    layer, vector = layer_of(boundary_context=True), torch.randn(1, DIM)
    bounds = torch.tensor([[1, 2], [1, 4], [7, 9]])
    shifted = layer(words, SENTENCES).shifted(layer.shift(vector).expand(len(words), -1))
    moved = layer(words + vector, SENTENCES)
    torch.testing.assert_close(shifted.gather(bounds), moved.gather(bounds), **CLOSE)


@WAYS
def test_spans_within_some_sentences_are_those_of_the_whole(words, learning):
    layer, bounds = layer_of(boundary_context=True), torch.tensor([[6, 7], [6, 11], [8, 10]])
    with torch.set_grad_enabled(learning):
        spans = layer(words, SENTENCES)
        part = spans.within(6, 11)
        torch.testing.assert_close(part.gather(bounds - 6), spans.gather(bounds), **CLOSE)


def test_every_head_trains_the_layer_and_its_own_scorer_alone(words):
    layer, heads = layer_of(), (head_of(3, seed=4), head_of(2, seed=5))
    for head, other in (heads, heads[::-1]):
        for module in (layer, *heads):
            module.zero_grad(set_to_none=True)
        inputs = head.span_inputs(words, SENTENCES, shared=layer(words, SENTENCES))
        head.score_spans(inputs).square().sum().backward()
        assert all(weight.grad.abs().sum() > 0 for weight in layer.projection.words.parameters())
        assert layer.attention.score.weight.grad.abs().sum() > 0
        assert all(weight.grad is not None for weight in head.spans.output.parameters())
        assert all(weight.grad is None for weight in other.parameters())
    weights = [head.spans.output.hidden.weight for head in heads]
    assert not weights[0].equal(weights[1])


def test_the_gradient_is_that_of_the_slow_vectors(words):
    layer, head = layer_of(boundary_context=True), head_of(9)
    bounds = head.candidates.bounds(SENTENCES)
    parameters = [*layer.projection.words.parameters(), layer.attention.score.weight]
    inputs = head.span_inputs(words, SENTENCES, shared=layer(words, SENTENCES))
    fast = torch.autograd.grad(head.score_spans(inputs).square().sum(), parameters)
    vectors = torch.stack([slow_vector(layer, words, a, b) for a, b in bounds.tolist()])
    slow = torch.autograd.grad(head.spans.output(vectors).square().sum(), parameters)
    for a, b in zip(fast, slow, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_dropout_is_drawn_once_for_all_heads(words):
    layer = layer_of(dropout=0.5).train()
    inputs = layer(words, SENTENCES)
    bounds = torch.tensor([[0, 2], [6, 9]])
    assert inputs.gather(bounds).equal(inputs.gather(bounds))
    assert not inputs.gather(bounds).equal(layer(words, SENTENCES).gather(bounds))
