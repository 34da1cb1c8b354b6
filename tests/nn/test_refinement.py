"""Higher-order coreference, against loops over mentions and their antecedents."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.nn import span_relation
from spanloom.nn.antecedents import AntecedentSearch
from spanloom.nn.candidates import Candidates, Pruner
from spanloom.nn.losses import HeadSelectionLoss
from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.pairs import PairFeatures, PairScorer, PairSizes
from spanloom.nn.refinement import MentionRefinement, expected_antecedents
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.span_relation_parts import PairParts, SpanParts
from spanloom.nn.spans import SpanAttention, SpanScorer
from spanloom.tensors import SpanTargets

DIM, HIDDEN = 4, 6
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
SENTENCES = torch.tensor([[0, 9], [9, 12]])
BOUNDS = torch.tensor([[0, 1], [1, 3], [2, 3], [4, 6], [8, 9], [9, 10], [10, 12]])
TYPES = torch.tensor([[0.2, 0.8]]).repeat(len(BOUNDS), 1)


def slow_expected(vectors, pairs, scores):
    """One mention after the other: a softmax over its antecedents and itself, which scores 0."""
    rows = []
    for mention in range(len(vectors)):
        mine = [(a, s) for (a, m), s in zip(pairs, scores, strict=True) if m == mention]
        weights = torch.tensor([0.0, *(s for _, s in mine)], dtype=torch.double).softmax(0)
        choices = torch.stack([vectors[mention], *(vectors[a] for a, _ in mine)]).double()
        rows.append((weights[:, None] * choices).sum(0).float())
    return torch.stack(rows)


@settings(max_examples=40, deadline=None)
@given(
    num_spans=st.integers(1, 6),
    kept=st.integers(0, 3),
    scale=st.sampled_from([0, 1, 50]),
    seed=st.integers(0, 99),
)
def test_antecedents_are_expected_by_their_probability(num_spans, kept, scale, seed):
    torch.manual_seed(seed)
    vectors = torch.randn(num_spans, 3)
    pairs = [(a, m) for m in range(num_spans) for a in range(max(0, m - kept), m)]
    scores = torch.randn(len(pairs)) * scale
    tails = [m for _, m in pairs]
    cut = tails.index(num_spans - 1) if num_spans - 1 in tails else 0
    listed = torch.tensor(pairs).reshape(-1, 2)
    chunks = [(listed[:cut], scores[:cut]), (listed[cut:], scores[cut:])]
    found = expected_antecedents(vectors, [chunk for chunk in chunks if len(chunk[0])])
    torch.testing.assert_close(found, slow_expected(vectors, pairs, scores.tolist()), **CLOSE)


def make_head(order, search=None):
    torch.manual_seed(order)
    sizes = PairSizes(
        word_dim=DIM,
        num_types=2,
        num_labels=2,
        num_width_embeddings=3,
        hidden_size=HIDDEN,
        dropout=0.0,
    )
    spans = SpanScorer(sizes.projection(), sizes.feedforward(HIDDEN, 2, 0.0), num_labels=2)
    parts = SpanParts(Candidates(3), SpanAttention(DIM), spans, pruner=Pruner(1.0))
    pairs = PairParts(
        PairScorer(sizes, PairFeatures(context_between=False, add_mention_scores=True)),
        PairGenerator(antecedents_only=True, max_antecedents=3),
        HeadSelectionLoss(dummy=True),
        coarse_antecedents=None if search is None else search.build(DIM, 3),
        refinement=MentionRefinement(sizes, order) if order > 1 else None,
    )
    return SpanRelation(parts, pairs, dropout=0.0)


def inputs_of(head):
    torch.manual_seed(0)
    whole = torch.tensor([[0, 12]])
    return head.span_inputs(torch.randn(12, DIM), SENTENCES, whole)


def slow_scores(head, inputs, pairs):
    """The scores of pairs as the paper writes them: mix each mention's vector, then score anew."""
    first, part = head.pairs.prepare(inputs, BOUNDS, TYPES), head.refinement
    vectors = part.mention.project(inputs, BOUNDS)
    for _ in range(part.order - 1):
        spans = first.shifted(vectors @ part.head.weight.T, vectors @ part.tail.weight.T)
        scores = torch.stack([spans(pair[None])[0, 1] for pair in pairs])
        if head.coarse_antecedents is not None:
            scores = scores + head.coarse_antecedents.prepare(inputs, BOUNDS, TYPES)(pairs)
        expected = slow_expected(vectors, pairs.tolist(), scores.tolist())
        gate = part.gate(torch.cat([vectors, expected], dim=1)).sigmoid()
        vectors = gate * vectors + (1 - gate) * expected
    spans = first.shifted(vectors @ part.head.weight.T, vectors @ part.tail.weight.T)
    scores = spans(pairs)
    if head.coarse_antecedents is not None:
        scores = scores + head.coarse_antecedents.prepare(inputs, BOUNDS, TYPES)(pairs)[:, None]
    return scores


@torch.no_grad()
@pytest.mark.parametrize("search", [None, AntecedentSearch(3, 6, rank=4)])
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("chunk", [1, 1000])
def test_scores_of_a_higher_order_are_those_of_a_loop(order, chunk, search, monkeypatch):
    monkeypatch.setattr(span_relation, "MAX_PAIRS", chunk)
    head = make_head(order, search)
    inputs, group = inputs_of(head), torch.zeros(len(BOUNDS), dtype=torch.long)
    pairs = torch.cat([*head.pairs_by_tail(inputs, BOUNDS, TYPES, group)])
    found = head.pair_scorer(inputs, BOUNDS, TYPES)
    expected = slow_scores(head, inputs, pairs)
    torch.testing.assert_close(found(pairs), expected, **CLOSE)
    torch.testing.assert_close(found(pairs[4:7]), expected[4:7], **CLOSE)


@pytest.mark.parametrize("search", [None, AntecedentSearch(3, 6, rank=4)])
def test_the_refinement_is_learnt(search):
    head = make_head(2, search)
    gold = SpanTargets(BOUNDS, torch.ones(7, dtype=torch.long), torch.tensor([[0, 3, 1]]))
    losses = head.loss(inputs_of(head), gold)
    losses["relation"].backward()
    names = [name for name, _ in head.named_parameters() if name.startswith("refinement.")]
    assert len(names) == 7
    assert all(head.get_parameter(name).grad.abs().sum() > 0 for name in names)
