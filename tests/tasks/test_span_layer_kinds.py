"""Every kind that scores spans learns a batch by heart on a span layer, and decodes it to gold."""

from dataclasses import replace

import pytest
import torch
from sample_batches import DIM, lay, make, predict, vectors_of
from torch import nn

from spanloom.nn.span_layer import SpanLayer
from spanloom.tasks import HeadInputSpec, load, names

HIDDEN = 16
KINDS = [name for name in names() if load(name).scores_spans]


class _OnLayer(nn.Module):
    """A span layer and the head of a task that reads it; the vectors of words are constant."""

    def __init__(self, task):
        super().__init__()
        torch.manual_seed(1)
        self.layer = SpanLayer(DIM, HIDDEN, dropout=0.0)
        self.head = task.build_head(HeadInputSpec(DIM, span_dim=HIDDEN))

    def inputs(self, vectors, laid):
        spans = self.layer(vectors.word_vectors, laid.batch.sentences)
        return replace(vectors, span_vectors=spans)


def test_the_kinds_that_score_spans_are_those_with_a_span_relation_head():
    assert set(KINDS) == {
        *("aspects", "constituency", "coreference", "entities", "openie", "opinions", "pos"),
        *("relations", "srl"),
    }


@pytest.mark.parametrize("name", KINDS)
def test_one_batch_overfits_and_decodes_to_gold(name):
    kind = load(name)
    gold = [kind.example]
    task = make(kind, gold, dropout=0.0)
    laid = lay(task, gold)
    vectors, model = vectors_of(kind, laid), _OnLayer(task)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    limit = 0.004 * task.count_items(laid.batch, laid.targets)
    for _ in range(300):
        losses = task.loss(model.head, model.inputs(vectors, laid), laid.batch, laid.targets)
        if all(loss < limit for loss in losses.values()):
            break
        optimizer.zero_grad()
        sum(losses.values()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []
    with torch.no_grad():
        found = predict(task, model.eval().head, laid, gold, model.inputs(vectors, laid))
    assert set(task.metrics(task.compute_metrics(gold, found)).values()) == {1.0}
