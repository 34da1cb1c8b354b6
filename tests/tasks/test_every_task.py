"""The contract of a task, over every file in ``tasks/``."""

import pytest
import torch
from oracle_head import OracleHead, lay, make, predict, train_of
from torch import nn

from spanloom.document import content
from spanloom.errors import NameNotFound
from spanloom.tasks import load, names

EVERY = pytest.mark.parametrize("name", names())


def _sample(name):
    kind = load(name)
    return kind, [kind.sample]


def _perfect(report):
    scores = report.spans.micro, report.relations.micro, report.relations_typed.micro
    return [each.f1 for each in scores if each.gold]


def _same(one, two):
    return [content(each) for each in one] == [content(each) for each in two]


@EVERY
def test_perfect_scores_decode_to_gold(name):
    kind, gold = _sample(name)
    task = make(kind, gold)
    laid = lay(task, gold)
    assert _same(predict(task, OracleHead(task, laid.targets), laid, gold), gold)


@EVERY
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_documents_are_told_apart_in_one_batch_whatever_the_windows(name, limit):
    kind, (one,) = _sample(name)
    gold = [one, one.bare().with_layer(type(one.layers[0])(one.layers[0].name)), one]
    task = make(kind, gold)
    laid = lay(task, gold, limit)
    assert _same(predict(task, OracleHead(task, laid.targets), laid, gold), gold)


@EVERY
def test_no_evidence_decodes_to_nothing(name):
    kind, gold = _sample(name)
    task = make(kind, gold)
    laid = lay(task, gold)
    blind = OracleHead(task, laid.targets, spans=False, links=False)
    (found,) = predict(task, blind, laid, gold)
    assert not list(found[task.layer].annotations())


@EVERY
def test_gold_measures_one_against_itself(name):
    kind, gold = _sample(name)
    task = make(kind, gold)
    report = task.measure(gold, gold)
    assert set(_perfect(report)) == {1.0}
    assert set(task.figures(report).values()) == {1.0}


@EVERY
def test_nothing_measures_zero_against_gold(name):
    kind, gold = _sample(name)
    task = make(kind, gold)
    bare = [each.bare() for each in gold]
    assert set(task.figures(task.measure(gold, bare)).values()) == {0.0}


@EVERY
def test_gold_never_reaches_the_answer(name):
    kind, gold = _sample(name)
    task = make(kind, gold)
    head, vectors = _real_head(task), _vectors(lay(task, gold))
    blank = [each.bare().with_layer(type(each.layers[0])(task.layer)) for each in gold]
    with torch.no_grad():
        told, untold = (
            predict(task, head, lay(task, each), each, vectors) for each in (gold, blank)
        )
    assert _same(told, untold)


@EVERY
def test_spans_alone_bring_no_relations(name):
    kind, gold = _sample(name)
    task = make(kind, gold)
    laid = lay(task, gold)
    (found,) = predict(task, OracleHead(task, laid.targets, links=False), laid, gold)
    layer = found[task.layer]
    assert len(layer.spans) == len(gold[0][task.layer].spans)
    assert not layer.relations
    assert not any(event.arguments for event in layer.events)


def _real_head(task):
    torch.manual_seed(1)
    return task.head(16).eval()


def _vectors(laid):
    torch.manual_seed(2)
    return torch.randn(len(laid.batch.words), 16)


@EVERY
def test_one_batch_overfits_and_then_decodes_to_gold(name):
    kind, gold = _sample(name)
    task = make(kind, gold, size=16, dropout=0.0)
    laid = lay(task, gold)
    head, vectors = _real_head(task).train(), _vectors(laid)
    _learn(task, head, vectors, laid, steps=60)
    with torch.no_grad():
        losses = task.loss(head, vectors, laid.batch, laid.targets)
        assert all(each.total.item() / each.count < 0.1 for each in losses.values())
        assert all(each.count == len(laid.batch.sentences) for each in losses.values())
        assert _same(predict(task, head.eval(), laid, gold, vectors), gold)


def _learn(task, head, vectors, laid, steps):
    optimiser = torch.optim.Adam(head.parameters(), lr=0.02)
    for _ in range(steps):
        optimiser.zero_grad()
        losses = task.loss(head, vectors, laid.batch, laid.targets)
        sum(each.total for each in losses.values()).backward()
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimiser.step()


@EVERY
def test_every_parameter_of_a_head_learns(name):
    kind, gold = _sample(name)
    task = make(kind, gold, size=16, dropout=0.0)
    laid = lay(task, gold)
    head = _real_head(task).train()
    losses = task.loss(head, _vectors(laid), laid.batch, laid.targets)
    sum(each.total for each in losses.values()).backward()
    assert [key for key, each in head.named_parameters() if each.grad is None] == []


@EVERY
def test_gold_wider_than_the_limit_is_missed_without_an_error(name):
    kind, gold = _sample(name)
    task = make(kind, gold, width=1)
    laid = lay(task, gold)
    (found,) = predict(task, OracleHead(task, laid.targets), laid, gold)
    words = laid.units[0].words
    narrow = [each for each in gold[0][task.layer].spans if (each.start, each.end) in words]
    assert [each.fragments for each in found[task.layer].spans] == [e.fragments for e in narrow]
    losses = task.loss(_real_head(task), _vectors(laid), laid.batch, laid.targets)
    assert all(torch.isfinite(each.total) for each in losses.values())
    assert task.measure(gold, [found]).spans.micro.f1 < 1


@EVERY
def test_what_was_collected_comes_back_from_plain_data(name):
    kind, gold = _sample(name)
    chosen = kind.options()
    layer = gold[0].layers[0].name
    collected = kind.collect(chosen, train_of(gold, layer))
    task = kind.make("task", layer, chosen, collected)
    assert task.inventory.to_dict() == collected
    assert collected["spans"] == sorted(set(collected["spans"]))
    assert (task.name, task.layer) == ("task", layer)


def test_an_unknown_kind_is_named_with_the_choices():
    with pytest.raises(NameNotFound, match="did you mean 'entities'"):
        load("entitis")
