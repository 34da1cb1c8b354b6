"""The contract of a task, over every file in ``tasks/``."""

import gc
import json
from dataclasses import replace
from functools import _lru_cache_wrapper, lru_cache

import pytest
import torch
from sample_batches import (
    SMALL,
    head_of,
    lay,
    layer_of,
    learn,
    make,
    predict,
    small,
    train_of,
    vectors_of,
)

from spanloom.annotation.comparable import comparable
from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.document import Document, Layer
from spanloom.errors import NameNotFound
from spanloom.model.serialization import is_valid_vocabulary
from spanloom.tasks import load, names
from spanloom.tasks._base import TaskSetup

EVERY = pytest.mark.parametrize("name", names())
ANNOTATING = pytest.mark.parametrize(
    "name", [name for name in names() if make(load(name), [load(name).example]).predicts]
)


@lru_cache
def learnt(name):
    """Kind, task, a head that knows the sample by heart, and its losses."""
    kind = load(name)
    task = small(kind, [kind.example])
    laid = lay(task, [kind.example])
    head, vectors = head_of(kind, task), vectors_of(kind, laid)
    return kind, task, head, learn(task, head, vectors, laid)


def _blank(document):
    """The document with its gold layer empty."""
    return document.unannotated((TEXT_PAIR,)).with_layer(Layer(layer_of(document)))


def _said(documents):
    return [comparable(each) for each in documents]


@ANNOTATING
def test_gold_measures_one_against_itself(name):
    gold = [load(name).example]
    task = make(load(name), gold)
    report = task.compute_metrics(gold, gold)
    figures = task.metrics(report)
    assert tuple(figures) == task.metric_names
    assert set(figures.values()) == {1.0}
    assert json.loads(json.dumps(report.to_json()))
    assert report.to_table()


@ANNOTATING
def test_nothing_measures_less_than_gold(name):
    gold = [load(name).example]
    task = make(load(name), gold)
    for nothing in (gold[0].unannotated((TEXT_PAIR,)), _blank(gold[0])):
        figures = task.metrics(task.compute_metrics(gold, [nothing]))
        assert tuple(figures) == task.metric_names
        assert all(0 <= value < 1 for value in figures.values())


@ANNOTATING
@pytest.mark.parametrize("seed", range(3))
def test_gold_never_reaches_the_answer(name, seed):
    kind = load(name)
    gold, task = [kind.example], small(kind, [kind.example])
    laid, head = lay(task, gold), head_of(kind, task, seed)
    vectors = vectors_of(kind, laid)
    told = predict(task, head, laid, gold, vectors)
    untold = predict(task, head, laid, [_blank(gold[0])], vectors)
    assert _said(told) == _said(untold)


GOLD_INPUTS = ("gold_spans", "gold_predicates", "gold_mentions")
GIVEN = {
    name: option
    for name in names()
    for option in GOLD_INPUTS
    if option in load(name).options.model_fields
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("seed", range(3))
def test_gold_never_reaches_the_answer_where_some_of_it_is_given(name, seed):
    kind = load(name)
    known = kind.options.model_fields
    task = make(
        kind, [kind.example], **{GIVEN[name]: True}, **{k: SMALL[k] for k in SMALL if k in known}
    )
    bared, head = task.without_gold(kind.example), head_of(kind, task, seed)
    layer = kind.example[task.layer]
    strange = kind.example.with_layer(
        replace(layer, spans=tuple(replace(span, label=f"{span.label}x") for span in layer.spans))
    )
    laid = lay(task, [bared])
    vectors = vectors_of(kind, laid)
    assert _said(predict(task, head, laid, [kind.example], vectors)) == _said(
        predict(task, head, laid, [bared], vectors)
    )
    assert predict(task, head, laid, [strange], vectors)  # labels that train lacks are no error


@EVERY
def test_every_parameter_of_a_head_learns(name):
    kind = load(name)
    task = small(kind, [kind.example])
    laid, head = lay(task, [kind.example]), head_of(kind, task).train()
    losses = task.loss(head, vectors_of(kind, laid), laid.batch, laid.targets)
    assert tuple(losses) == task.loss_names
    assert all(torch.isfinite(each) for each in losses.values())
    assert task.count_items(laid.batch, laid.targets) > 0
    sum(losses.values()).backward()
    assert [key for key, each in head.named_parameters() if each.grad is None] == []


@EVERY
def test_a_head_is_whole_where_the_first_one_was_a_mere_shape(name):
    """A model is built on the meta device before it is loaded; no tensor may be kept from there."""
    kind = load(name)
    for kept in gc.get_objects():
        if type(kept) is _lru_cache_wrapper and kept.__module__.startswith("spanloom"):
            kept.cache_clear()  # as in a process of its own
    with torch.device("meta"):
        head_of(kind, make(kind, [kind.example]))
    head = head_of(kind, make(kind, [kind.example]))
    assert [
        key for key, each in (*head.named_parameters(), *head.named_buffers()) if each.is_meta
    ] == []


@EVERY
def test_one_batch_overfits(name):
    _, _, _, losses = learnt(name)
    assert max(losses.values()) < 0.1


@ANNOTATING
def test_what_was_learnt_by_heart_decodes_to_gold(name):
    kind, task, head, _ = learnt(name)
    gold = [kind.example]
    laid = lay(task, gold)
    found = predict(task, head, laid, gold, vectors_of(kind, laid))
    assert set(task.metrics(task.compute_metrics(gold, found)).values()) == {1.0}
    assert [layer.name for layer in found[0].unannotated([task.layer]).layers] == [task.layer]


@ANNOTATING
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_documents_are_told_apart_in_one_batch_whatever_the_windows(name, limit):
    kind, task, head, _ = learnt(name)
    one = kind.example
    other = Document(
        "Bob slept .\n\nAdd 5 ml .", (Layer(task.layer),), "other", queries=one.queries
    )
    documents = [one, other, _blank(one), one]
    laid = lay(task, documents, limit)
    together = predict(task, head, laid, documents, vectors_of(kind, laid))
    for document, among in zip(documents, together, strict=True):
        laid = lay(task, [document], limit)
        alone = predict(task, head, laid, [document], vectors_of(kind, laid))
        assert _said(alone) == _said([among])


@ANNOTATING
def test_a_document_without_words_is_no_error(name):
    kind, task, head, _ = learnt(name)
    empty = Document("", (Layer(task.layer),), "empty", queries=kind.example.queries)
    documents = [empty, kind.example, empty]
    laid = lay(task, documents)
    found = predict(task, head, laid, documents, vectors_of(kind, laid))
    laid = lay(task, [kind.example])
    alone = predict(task, head, laid, [kind.example], vectors_of(kind, laid))
    assert _said(found[1:2]) == _said(alone)
    assert _said(found[:1]) == _said(found[2:])


@EVERY
def test_what_was_collected_comes_back_from_plain_data(name):
    kind = load(name)
    chosen, layer = kind.options(), layer_of(kind.example)
    collected = kind.infer_vocabulary(chosen, layer, train_of([kind.example]))
    again = json.loads(json.dumps(collected))
    assert again == collected
    task = kind.build(TaskSetup("task", layer, chosen, collected, collected))
    assert kind.build(TaskSetup("task", layer, chosen, again, again)) == task
    assert (task.name, task.layer) == ("task", layer)
    assert [key for key, value in collected.items() if not is_valid_vocabulary(value)] == []


@EVERY
def test_tasks_that_share_a_head_make_the_same_one(name):
    kind = load(name)
    if kind.merge_vocabularies is None:
        return
    chosen, layer = kind.options(), layer_of(kind.example)
    collected = kind.infer_vocabulary(chosen, layer, train_of([kind.example]))
    united = kind.merge_vocabularies([collected, collected])
    assert json.loads(json.dumps(united)) == united
    assert kind.family
    heads = [
        head_of(kind, kind.build(TaskSetup("task", layer, chosen, collected, each)))
        for each in (united, kind.merge_vocabularies([united]))
    ]
    one, two = ({key: each.shape for key, each in h.state_dict().items()} for h in heads)
    assert one == two


def test_an_unknown_kind_is_named_with_the_choices():
    with pytest.raises(NameNotFound, match="did you mean 'entities'"):
        load("entitis")
