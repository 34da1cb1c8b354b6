"""The parts of SpanRel as its section 3 writes them, against loops over spans and pairs."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from spanloom.nn import product_pairs
from spanloom.nn.candidates import Candidates, neighbors
from spanloom.nn.feedforward import OutputFeedForward, PlainFeedForward
from spanloom.nn.pairs import PairFeatures, PairSizes
from spanloom.nn.product_pairs import ProductArcLabeler, ProductPairScorer
from spanloom.nn.recurrent import CELLS, Recurrent
from spanloom.nn.span_relation import SpanParts, SpanRelation
from spanloom.nn.spans import SpanAttention, SpanInputs, SpanProjection, SpanScorer, span_vectors

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
DIM, TOKEN_DIM, HIDDEN, LABELS, WIDTH = 6, 4, 5, 3, 4
SENTENCES = torch.tensor([[0, 5], [5, 6], [6, 13]])


def _drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + shape[-1]))


@pytest.fixture
def words():
    return _drawn(13, DIM)  # the level's vectors: u


@pytest.fixture
def tokens():
    return _drawn(13, TOKEN_DIM)  # the trunk's: c


def _vector(c, u, alpha, start, end):
    """``z = [content; u_start; u_end]``, the content a softmax average of ``c``."""
    shares = alpha[start:end].softmax(0)
    return torch.cat([(shares * c[start:end]).sum(0), u[start], u[end - 1]])


def _perceptron(output, first):
    hidden = F.relu(first) @ output.hidden.weight.T + output.hidden.bias
    return F.relu(hidden) @ output.labels.weight.T + output.labels.bias


def _first_layer(projection):
    """The weights and bias over ``z`` of a projection that reads tokens."""
    weights = [projection.tokens.weight, *projection.words.weight.chunk(2)]
    return torch.cat(weights, dim=1), sum(projection.words.bias.chunk(2))


def _head(*, attends_tokens):
    torch.manual_seed(4)
    scorer = SpanScorer(
        SpanProjection(DIM, HIDDEN, 0, token_dim=TOKEN_DIM),
        PlainFeedForward(HIDDEN, LABELS, 0.5),
        num_labels=LABELS,
    )
    attention = SpanAttention(TOKEN_DIM if attends_tokens else DIM)
    parts = SpanParts(
        Candidates(WIDTH), attention, scorer, reads_tokens=True, attends_tokens=attends_tokens
    )
    return SpanRelation(parts, None, dropout=0.5).eval()


@pytest.mark.parametrize("attends_tokens", [True, False])
def test_a_span_is_its_tokens_average_and_the_level_at_its_ends(words, tokens, attends_tokens):
    head = _head(attends_tokens=attends_tokens)
    inputs = head.span_inputs(words, SENTENCES, tokens=tokens)
    bounds = head.candidates.bounds(SENTENCES)
    alpha = head.attention.score(tokens if attends_tokens else words)
    z = torch.stack([_vector(tokens, words, alpha, *span) for span in bounds.tolist()])
    weight, bias = _first_layer(head.spans.projection)
    expected = _perceptron(head.spans.output, z @ weight.T + bias)
    torch.testing.assert_close(span_vectors(inputs, bounds), z, **CLOSE)
    torch.testing.assert_close(head.score_spans(inputs), expected, **CLOSE)
    with torch.no_grad():
        torch.testing.assert_close(head.score_spans(inputs), expected, **CLOSE)


def test_a_head_that_reads_tokens_gives_gradients_to_tokens_and_words(words, tokens):
    head = _head(attends_tokens=True)
    words.requires_grad_(), tokens.requires_grad_()
    head.score_spans(head.span_inputs(words, SENTENCES, tokens=tokens)).pow(2).sum().backward()
    assert words.grad.abs().sum(1).all()
    assert tokens.grad.abs().sum(1).all()


def _pair_scorer(features=PairFeatures(), token_dim=TOKEN_DIM):
    torch.manual_seed(5)
    sizes = PairSizes(
        word_dim=DIM,
        token_dim=token_dim,
        num_types=2,
        num_labels=LABELS,
        num_width_embeddings=0,
        hidden_size=HIDDEN,
        dropout=0.5,
        feedforward=PlainFeedForward,
    )
    return ProductPairScorer(sizes, features).eval()


def _span_inputs(words, tokens):
    weights = SpanAttention(TOKEN_DIM)(tokens)
    return SpanInputs(words, weights, SENTENCES, SENTENCES, neighbors(SENTENCES), None, tokens)


BOUNDS = torch.tensor([[0, 1], [0, 4], [2, 5], [3, 4]])
PAIRS = torch.cartesian_prod(torch.arange(4), torch.arange(4))  # with itself, as roots are
TYPES = torch.tensor([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1], [0.7, 0.3]])


def _slow_pairs(scorer, z):
    """Scores of a perceptron over the whole ``[zj; zk; zj * zk]`` of each pair."""
    (head, head_bias), (tail, tail_bias) = map(_first_layer, (scorer.head, scorer.tail))
    weight = torch.cat([head, tail, scorer.product.linear.weight], dim=1)
    rows = [torch.cat([z[j], z[k], z[j] * z[k]]) for j, k in PAIRS.tolist()]
    return _perceptron(scorer.output, torch.stack(rows) @ weight.T + head_bias + tail_bias)


@pytest.mark.parametrize("chunk", [1, 5, 1000])
def test_pairs_are_scored_by_both_vectors_and_their_product(words, tokens, chunk, monkeypatch):
    monkeypatch.setattr(product_pairs, "_CHUNK", chunk)
    scorer, inputs = _pair_scorer(), _span_inputs(words, tokens)
    scores = scorer.prepare(inputs, BOUNDS, TYPES)(PAIRS)
    expected = _slow_pairs(scorer, span_vectors(inputs, BOUNDS))
    torch.testing.assert_close(scores, expected, **CLOSE)
    with torch.no_grad():
        torch.testing.assert_close(scorer.prepare(inputs, BOUNDS, TYPES)(PAIRS), expected, **CLOSE)


def test_chunks_that_are_computed_again_give_the_same_gradients(words, tokens, monkeypatch):
    words.requires_grad_(), tokens.requires_grad_()
    gradients = []
    for chunk in (3, 1000):
        monkeypatch.setattr(product_pairs, "_CHUNK", chunk)
        scorer, inputs = _pair_scorer(), _span_inputs(words, tokens)
        total = scorer.prepare(inputs, BOUNDS, TYPES)(PAIRS).pow(2).sum()
        weights = words, tokens, *scorer.parameters()
        gradients.append(torch.autograd.grad(total, weights))
    slow_scorer, inputs = _pair_scorer(), _span_inputs(words, tokens)
    total = _slow_pairs(slow_scorer, span_vectors(inputs, BOUNDS)).pow(2).sum()
    slow = torch.autograd.grad(total, (words, tokens, *slow_scorer.parameters()))
    for few, many, literal in zip(*gradients, slow, strict=True):
        torch.testing.assert_close(few, many, **CLOSE)
        torch.testing.assert_close(few, literal, **CLOSE)


def test_mention_scores_are_added_where_they_are_asked_for(words, tokens):
    plain, added = _pair_scorer(), _pair_scorer(PairFeatures(add_mention_scores=True))
    inputs = _span_inputs(words, tokens)
    scores = [scorer.prepare(inputs, BOUNDS, TYPES)(PAIRS) for scorer in (plain, added)]
    mentions = torch.logit(1 - TYPES[:, 0])
    expected = mentions[PAIRS].sum(1, keepdim=True).expand(-1, LABELS)
    torch.testing.assert_close(scores[1] - scores[0], expected, **CLOSE)


def test_contents_may_be_made_of_the_level_too(words):
    scorer = _pair_scorer(token_dim=None)
    weights = SpanAttention(DIM)(words)
    inputs = SpanInputs(words, weights, SENTENCES, SENTENCES, neighbors(SENTENCES))
    assert scorer.prepare(inputs, BOUNDS, TYPES)(PAIRS).shape == (len(PAIRS), LABELS)
    assert span_vectors(inputs, BOUNDS).shape == (len(BOUNDS), 3 * DIM)


@pytest.mark.parametrize("chunk", [2, 1000])
def test_an_arc_is_a_pair_of_spans_of_one_word(words, tokens, chunk, monkeypatch):
    monkeypatch.setattr(product_pairs, "_CHUNK", chunk)
    torch.manual_seed(6)
    sizes = {"num_labels": LABELS, "hidden_size": HIDDEN, "dropout": 0.5}
    labeler = ProductArcLabeler(TOKEN_DIM + DIM, feedforward=PlainFeedForward, **sizes).eval()
    z = torch.cat([tokens, words, words], dim=1)  # [content; u_start; u_end]
    layers = labeler.head.weight, labeler.dependent.weight, labeler.product.linear.weight
    split = [_split(layer) for layer in layers]
    rows = [torch.cat([z[j], z[k], z[j] * z[k]]) for j, k in PAIRS.tolist()]
    first = torch.stack(rows) @ torch.cat(split, dim=1).T
    expected = _perceptron(labeler.output, first + labeler.head.bias + labeler.dependent.bias)
    torch.testing.assert_close(labeler(torch.cat([tokens, words], dim=1), PAIRS), expected, **CLOSE)


def _split(weight):
    """The weights over ``[c; u]`` as some over ``[c; u; u]`` that give the same sum."""
    content, level = weight.split([TOKEN_DIM, DIM], dim=1)
    start = torch.randn_like(level)
    return torch.cat([content, start, level - start], dim=1)


def test_no_pairs_have_no_scores(words, tokens):
    score = _pair_scorer().prepare(_span_inputs(words, tokens), BOUNDS, TYPES)
    assert score(PAIRS[:0]).shape == (0, LABELS)


def test_perceptrons_have_two_hidden_layers():
    for build in (PlainFeedForward, OutputFeedForward):
        names = [name for name, part in build(7, 2, 0.5).named_modules() if _is_linear(part)]
        assert names == ["hidden", "labels"]  # the first layer is applied before


def _is_linear(part):
    return isinstance(part, nn.Linear)


@pytest.mark.parametrize("cell", CELLS)
def test_each_vector_of_a_level_is_dropped_where_its_options_say(cell):
    runs = torch.tensor([[0, 400]])
    words = torch.ones(400, 8)
    sizes = {"hidden_size": 8, "num_layers": 3, "dropout": 0.5}
    level = Recurrent(CELLS[cell], 8, **sizes, input_dropout=0.0, output_dropout=0.5)
    read = []
    level.dropout.register_forward_hook(lambda _, __, output: read.append(output))
    dropped = (level(words, runs) == 0).float().mean()
    assert read[0].equal(words)
    assert 0.45 < dropped < 0.55
    before = Recurrent(CELLS[cell], 8, **sizes)
    before.dropout.register_forward_hook(lambda _, __, output: read.append(output))
    assert not (before(words, runs) == 0).any()
    assert 0.45 < (read[1] == 0).float().mean() < 0.55


@pytest.mark.parametrize("cell", CELLS)
def test_vectors_are_dropped_between_the_layers_of_a_level(cell):
    """All of them dropped, the second layer reads zeros, whatever the words are."""
    runs = torch.tensor([[0, 5]])
    level = Recurrent(CELLS[cell], 8, hidden_size=4, num_layers=2, dropout=0.0)
    level.rnn.dropout = 1.0
    assert level(torch.randn(5, 8), runs).equal(level(torch.randn(5, 8), runs))
    level.eval()
    assert not level(torch.randn(5, 8), runs).equal(level(torch.randn(5, 8), runs))
