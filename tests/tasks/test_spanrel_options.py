"""Options that make a model SpanRel as written: every kind learns its sample by heart with them."""

from dataclasses import replace

import pytest
import torch
from sample_batches import DIM, lay, learn, make, predict, vectors_of

from spanloom.config import recipe as recipes
from spanloom.model.build import network
from spanloom.model.plan import resolve
from spanloom.nn.candidates import ScoredSpans
from spanloom.nn.feedforward import OutputFeedForward, PlainFeedForward
from spanloom.nn.pairs import PairScorer
from spanloom.nn.product_pairs import ProductArcLabeler, ProductPairScorer
from spanloom.tasks import HeadInputSpec, load
from spanloom.tasks._span_parts import labeled_spans

TOKEN_DIM = 7
WRITTEN = {"span_content": "trunk", "perceptron": "plain", "hidden_size": 32, "dropout": 0.0}
SPANS = {**WRITTEN, "span_attention": "trunk", "width_embedding": False}
GREEDY = {"span_decoding": "greedy"}
PAIRS = {"pair_scorer": "spanrel"}
OPTIONS = {
    "entities": {**SPANS, **GREEDY, "limits": "spanrel"},
    "aspects": {**SPANS, **GREEDY, "limits": "spanrel"},
    "relations": {**SPANS, **GREEDY, **PAIRS, "max_span_width": 10},
    "coreference": {**SPANS, **PAIRS, "limits": "spanrel", "add_mention_scores": False},
    "srl": {**SPANS, **PAIRS, "limits": "spanrel"},
    "openie": {**SPANS, **PAIRS, "limits": "spanrel"},
    "opinions": {**SPANS, **PAIRS, "max_span_width": 30},
    "pos": SPANS,
    "constituency": {**SPANS, "decoder": "greedy"},
    "dependency": {**WRITTEN, **PAIRS, "loss": "pairwise", "decoder": "greedy"},
}


def _head(task):
    torch.manual_seed(1)
    return task.build_head(HeadInputSpec(DIM, token_dim=TOKEN_DIM)).eval()


def _with_tokens(vectors):
    drawn = torch.Generator().manual_seed(9)
    tokens = torch.randn(len(vectors.word_vectors), TOKEN_DIM, generator=drawn)
    return replace(vectors, token_vectors=tokens)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_task_with_spanrels_own_parts_is_learnt_by_heart(name):
    kind = load(name)
    task = make(kind, [kind.example], **OPTIONS[name])
    laid, head = lay(task, [kind.example]), _head(task)
    vectors = _with_tokens(vectors_of(kind, laid))
    learn(task, head, vectors, laid)
    found = predict(task, head, laid, [kind.example], vectors)
    assert set(task.metrics(task.compute_metrics([kind.example], found)).values()) == {1.0}


@pytest.mark.parametrize("loss", ["pairwise", "head-selection"])
def test_both_losses_take_the_literal_pair_scorer(loss):
    kind = load("relations")
    task = make(kind, [kind.example], **OPTIONS["relations"], loss=loss)
    laid, head = lay(task, [kind.example]), _head(task)
    vectors = _with_tokens(vectors_of(kind, laid))
    learn(task, head, vectors, laid)
    found = predict(task, head, laid, [kind.example], vectors)
    assert task.metrics(task.compute_metrics([kind.example], found))["relation_f1"] == 1.0


def test_each_option_changes_its_part_and_no_other():
    kind = load("relations")

    def head_of(**options):
        return _head(make(kind, [kind.example], dropout=0.5, **options))

    plain = head_of()
    assert isinstance(plain.pairs, PairScorer)
    assert isinstance(plain.spans.output, OutputFeedForward)
    assert isinstance(head_of(pair_scorer="spanrel").pairs, ProductPairScorer)
    assert isinstance(head_of(perceptron="plain").pairs.output, PlainFeedForward)
    assert head_of(width_embedding=False).spans.projection.width_embedding is None
    assert head_of(span_content="trunk").spans.projection.tokens.in_features == TOKEN_DIM
    assert plain.attention.score.in_features == DIM
    assert head_of(span_attention="trunk").attention.score.in_features == TOKEN_DIM
    assert (plain.dropout.p, head_of(input_dropout=0.0).dropout.p) == (0.5, 0.0)
    assert head_of(input_dropout=0.0).spans.output.dropout.p == 0.5
    tree = _head(make(load("dependency"), [load("dependency").example], pair_scorer="spanrel"))
    assert isinstance(tree.labels, ProductArcLabeler)


def test_greedy_spans_may_overlap_and_cross():
    scores = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [0.0, 0.5]])
    bounds = torch.tensor([[0, 3], [1, 2], [2, 5], [1, 3]])
    kept = labeled_spans(ScoredSpans(scores, bounds, torch.tensor([[0, 5]])))
    assert bounds[kept].tolist() == [[0, 3], [1, 3], [2, 5]]


def test_a_head_reads_the_trunk_beside_its_level():
    recipe = recipes.loads(
        """
trunk: [{casing: 6}]
levels: [{name: context, rnn: lstm, hidden_size: 4, dropout: 0.0}]
tasks: {ner: {data: x, kind: entities, level: context, span_content: trunk, hidden_size: 8}}
stages: [{tasks: [ner]}]
"""
    )
    kind = load("entities")
    plan = resolve(recipe)
    task = make(kind, [kind.example], span_content="trunk", hidden_size=8)
    trunk = [lengths_of_words(6)]
    made = network(plan, {"ner": task}, trunk).eval()
    laid = lay(task, [kind.example])
    inputs = made.head_inputs(laid.batch, ["ner"])["ner"]
    assert inputs.token_vectors.equal(trunk[0](laid.batch))
    assert inputs.word_vectors.shape == (len(inputs.token_vectors), 8)
    assert task.loss(made.head("ner"), inputs, laid.batch, laid.targets)["span"] > 0


def lengths_of_words(dim):
    """An embedder whose vectors follow from the length of a word."""
    part = torch.nn.Module()
    part.dim = dim
    part.forward = lambda batch: torch.tensor([[float(len(word))] * dim for word in batch.words])
    return part
