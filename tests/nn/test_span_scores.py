"""Candidates, pooling and factorised layers, against loops that build every span."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from spanloom.nn import segment_means as segment_means_module
from spanloom.nn import span_features, spans
from spanloom.nn.candidates import Candidates, neighbors
from spanloom.nn.feedforward import OutputFeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.segment_means import prefix_sums, segment_means
from spanloom.nn.span_features import WordMeans
from spanloom.nn.spans import SpanAttention, SpanInputs, SpanProjection, SpanScorer

LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=5)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def _sentences(lengths):
    ends = torch.tensor(lengths).cumsum(0)
    return torch.stack([ends - torch.tensor(lengths), ends], dim=1)


def _listed(lengths, width):
    """Every run of words inside one sentence."""
    return [
        (start, end)
        for first, last in _sentences(lengths).tolist()
        for start in range(first, last)
        for end in range(start + 1, min(start + width, last) + 1)
    ]


@given(lengths=LENGTHS, width=st.integers(1, 9))
def test_candidates_are_all_runs_of_words_in_a_sentence(lengths, width):
    found = [tuple(each) for each in Candidates(width).bounds(_sentences(lengths)).tolist()]
    assert sorted(found) == _listed(lengths, width)


@given(lengths=LENGTHS, width=st.integers(1, 9), extra=st.integers(0, 3))
def test_each_pair_of_bounds_is_found_among_the_candidates_or_not_at_all(lengths, width, extra):
    sentences = _sentences(lengths)
    total = sum(lengths)
    every = [(a, b) for a in range(total) for b in range(a + 1, total + 1 + extra)]
    listed = [tuple(each) for each in Candidates(width).bounds(sentences).tolist()]
    found = Candidates(width).index(torch.tensor(every), sentences).tolist()
    assert found == [listed.index(each) if each in listed else -1 for each in every]


def test_no_gold_has_no_row():
    assert Candidates(2).index(torch.zeros(0, 2, dtype=torch.long), _sentences([3, 2])).shape == (
        0,
    )


def _mean(values, weights, start, end):
    total = weights[start:end].double().sum()
    return (values[start:end].double() * weights[start:end].double()).sum(0) / total


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 999), scale=st.sampled_from([0.0, 1.0, 100.0]))
def test_pool_is_the_weighted_mean_of_each_stretch(seed, scale):
    torch.manual_seed(seed)
    values, attention = torch.randn(12, 3), SpanAttention(3)
    with torch.no_grad():
        weights = attention(values * scale)
        bounds = torch.tensor([(a, b) for a in range(12) for b in range(a + 1, 13)])
        expected = torch.stack([_mean(values, weights, a, b) for a, b in bounds.tolist()])
    torch.testing.assert_close(
        segment_means(prefix_sums(values, weights), bounds), expected.float(), **CLOSE
    )


@pytest.mark.parametrize("rows", [1, 7, 512])
def test_the_gradient_of_means_is_that_of_a_loop(rows, monkeypatch):
    monkeypatch.setattr(segment_means_module, "_CELLS", 4 * rows)
    torch.manual_seed(rows)
    values = torch.randn(12, 3, requires_grad=True)
    weights = torch.rand(12, 1).add(0.1).requires_grad_()
    bounds = torch.tensor([(a, b) for a in range(12) for b in range(a, 13)])
    way = torch.randn(len(bounds), 3)
    means = segment_means(prefix_sums(values, weights), bounds)
    grads = torch.autograd.grad((means * way).sum(), (values, weights))
    filled = [(row, a, b) for row, (a, b) in enumerate(bounds.tolist()) if a < b]
    expected = sum((_mean(values, weights, a, b) * way[row]).sum() for row, a, b in filled)
    for grad, wanted in zip(grads, torch.autograd.grad(expected, (values, weights)), strict=True):
        torch.testing.assert_close(grad, wanted, **CLOSE)


@pytest.mark.parametrize("token_dim", [None, 3])
@pytest.mark.parametrize("bounds", [[], [(3, 4)], [(9, 12), (1, 3), (2, 3)], [(0, 12)]])
def test_a_few_spans_are_projected_without_the_words_outside(bounds, token_dim, monkeypatch):
    projection = SpanProjection(5, 16, 2, token_dim=token_dim)
    words, weights, tokens = torch.randn(12, 5), torch.rand(12, 1) + 0.1, torch.randn(12, 3)
    sentences = torch.tensor([[0, 12]])
    tokens = None if token_dim is None else tokens
    inputs = SpanInputs(words, weights, sentences, sentences, neighbors(sentences), tokens=tokens)
    bounds = torch.tensor(bounds, dtype=torch.long).reshape(-1, 2)
    num_words, linear = [], projection.words.forward
    monkeypatch.setattr(
        projection.words, "forward", lambda x: num_words.append(len(x)) or linear(x)
    )
    expected = projection.project(inputs, bounds).detach()
    with torch.no_grad():
        torch.testing.assert_close(projection.project(inputs, bounds), expected, **CLOSE)
    inside = {word for start, end in bounds.tolist() for word in range(start, end)}
    assert num_words == [12, len(inside)]


def test_a_light_word_among_thousands_of_heavy_ones_keeps_its_vector():
    values, weights = torch.randn(4000, 2), torch.full((4000, 1), 10.0).exp()
    weights[2000] = torch.tensor(-10.0).exp()
    found = segment_means(prefix_sums(values, weights), torch.tensor([[2000, 2001]]))
    torch.testing.assert_close(found[0], values[2000], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("widest", [3, 40])
def test_means_of_words_are_equal_with_and_without_gradients(widest):
    torch.manual_seed(widest)
    values, means = torch.randn(60, 5), []
    start = torch.randint(0, 60 - widest, (30,))
    bounds = torch.stack([start, start + torch.arange(30) % (widest + 1)], dim=1)
    for keeps_gradients in (True, False):
        with torch.set_grad_enabled(keeps_gradients):
            means.append(WordMeans(values)(bounds))
    expected = [values[a:b].mean(0) if a < b else torch.zeros(5) for a, b in bounds.tolist()]
    for found in means:
        torch.testing.assert_close(found, torch.stack(expected), **CLOSE)
    with torch.no_grad():
        assert WordMeans(values)(torch.tensor([[3, 3]])).equal(torch.zeros(1, 5))
        assert WordMeans(values)(bounds[:0]).shape == (0, 5)


def test_attention_weights_are_positive_and_finite_whatever_the_words():
    words = torch.tensor([[1e30, -1e30], [-1e30, 1e30], [0.0, 0.0]])
    weights = SpanAttention(2)(words)
    assert torch.isfinite(weights).all()
    assert (weights > 0).all()


def test_nothing_pooled_is_zero():
    values = torch.randn(4, 3)
    found = segment_means(
        prefix_sums(values, torch.ones(4, 1)), torch.tensor([[0, 0], [4, 4], [2, 2]])
    )
    assert found.equal(torch.zeros(3, 3))


def _concatenated(layer, size):
    """The plain layer over ``[content; start; end; width]`` that has the same weights."""
    start, end, content = layer.words.weight.chunk(3)
    start_bias, end_bias, content_bias = layer.words.bias.chunk(3)
    weight = torch.cat([content, start, end, torch.eye(size)], dim=1)
    return weight, start_bias + end_bias + content_bias


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 999))
def test_a_span_layer_is_a_linear_layer_over_the_concatenation(seed):
    torch.manual_seed(seed)
    layer, attention, words = SpanProjection(5, 4, 3), SpanAttention(5), torch.randn(9, 5)
    bounds = Candidates(4).bounds(torch.tensor([[0, 5], [5, 9]]))
    weights = attention(words)
    weight, bias = _concatenated(layer, 4)
    z = [
        torch.cat(
            [
                _mean(words, weights, a, b).float(),
                words[a],
                words[b - 1],
                layer.width_embedding.weight[min(b - a, 3) - 1],
            ]
        )
        for a, b in bounds.tolist()
    ]
    expected = F.linear(torch.stack(z), weight, bias)
    torch.testing.assert_close(layer(words, weights, bounds), expected, **CLOSE)


def test_a_span_layer_has_the_gradients_of_the_concatenation():
    torch.manual_seed(3)
    layer, attention = SpanProjection(5, 4, 3), SpanAttention(5)
    words = torch.randn(6, 5, requires_grad=True)
    bounds = Candidates(4).bounds(torch.tensor([[0, 6]]))
    fast = layer(words, attention(words), bounds)
    way = torch.randn_like(fast)
    mine = torch.autograd.grad((fast * way).sum(), [words, attention.score.weight])
    weight, bias = _concatenated(layer, 4)
    weights = attention(words)
    z = [
        torch.cat([_mean(words, weights, a, b).float(), words[a], words[b - 1],
                   layer.width_embedding.weight[min(b - a, 3) - 1]])
        for a, b in bounds.tolist()
    ]  # fmt: skip
    slow = F.linear(torch.stack(z), weight, bias)
    theirs = torch.autograd.grad((slow * way).sum(), [words, attention.score.weight])
    for one, two in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


@settings(deadline=None, max_examples=20)
@given(lengths=LENGTHS, width=st.integers(1, 9), chunk=st.sampled_from([1, 5, 1000]))
def test_all_candidates_are_scored_as_each_is_by_itself(lengths, width, chunk):
    torch.manual_seed(0)
    sentences, words = _sentences(lengths), torch.randn(sum(lengths), 5)
    scorer = SpanScorer(SpanProjection(5, 8, 9), OutputFeedForward(8, 3, 0.5), num_labels=3).eval()
    weights = SpanAttention(5)(words)
    alone = scorer.output(scorer.projection(words, weights, Candidates(width).bounds(sentences)))
    starts = Candidates(width).starts(sentences)
    learnt = scorer(scorer.projection.features(words, weights), starts)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        for room in (span_features, spans):
            patch.setattr(room, "CHUNK", chunk)
        chunked = scorer(scorer.projection.features(words, weights), starts)
    torch.testing.assert_close(learnt, alone, **CLOSE)
    torch.testing.assert_close(chunked, alone, **CLOSE)


@pytest.mark.parametrize("index", [[], [0], [3, 3, 1]])
def test_taking_rows_is_indexing_with_its_gradient(index):
    rows_of = torch.tensor(index, dtype=torch.long)
    one, two = (torch.arange(8.0).reshape(4, 2).requires_grad_() for _ in range(2))
    assert gather_rows(one, rows_of).equal(two[rows_of])
    gather_rows(one, rows_of).square().sum().backward()
    two[rows_of].square().sum().backward()
    assert one.grad.equal(two.grad)


@pytest.mark.parametrize("num_widths", [0, 3])
@pytest.mark.parametrize("longest", [5, 40])
def test_sums_without_gradients_are_those_of_training(num_widths, longest):
    torch.manual_seed(11)
    layer = SpanProjection(6, 8, num_widths)
    words, weights = torch.randn(60, 6), torch.rand(60, 1) + 0.1
    start = torch.randint(0, 60 - longest, (200,))
    bounds = torch.stack([start, start + torch.randint(1, longest + 1, (200,))], dim=1)
    learning = layer(words, weights, bounds)
    with torch.no_grad():
        torch.testing.assert_close(layer(words, weights, bounds), learning, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            layer(words, weights, bounds[:1]), learning[:1], rtol=1e-4, atol=1e-5
        )
        assert layer(words, weights, bounds[:0]).shape == (0, 8)
