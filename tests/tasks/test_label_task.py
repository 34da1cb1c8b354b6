"""Labels of whole texts: the head by its formula, two parts, shared heads, a whole training run."""

import json

import pytest
import tiny
import torch
from flat_bench import answer, collect, cuts, lay, learn, make
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

from spanloom.annotation.comparable import comparable
from spanloom.annotation.text_pairs import TEXT_PAIR, classification_of, classify, join_texts
from spanloom.config import recipe as recipes
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.formats import jsonl
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.nn.classifier import UNKNOWN, TextClassifier
from spanloom.tasks import HeadInputSpec, load
from spanloom.tensors import HeadInputs
from spanloom.training.train import train

KIND = load("text_classification")
ROWS = st.lists(st.sampled_from([UNKNOWN, 0, 1, 2]), min_size=1, max_size=5)


def told(document, label, layer="main"):
    return document.with_layer(classify(document, layer, label, None, document.id_generator()))


def texts(*labels):
    return [told(Document(f"text {row} .", name=str(row)), each) for row, each in enumerate(labels)]


def pairs(*labels):
    made = (join_texts(str(row), f"first {row} .", "second one .") for row in range(len(labels)))
    return [told(each, label) for each, label in zip(made, labels, strict=True)]


def opened(laid, dim=16):
    torch.manual_seed(2)
    words = int(laid.batch.instances[-1, 1])
    return HeadInputs(torch.randn(words, dim), torch.randn(len(laid.units), dim))


def untrained(task, dim=16):
    torch.manual_seed(1)
    return task.build_head(HeadInputSpec(dim))


@given(ROWS)
def test_the_loss_is_the_negative_log_likelihood_of_what_is_known(rows):
    torch.manual_seed(0)
    head, openings = TextClassifier(4, num_labels=3, dropout=0.0), torch.randn(len(rows), 4)
    loss = head.loss(openings, torch.tensor(rows))
    weight, bias = head.score.weight, head.score.bias
    total = 0.0
    for vector, row in zip(openings, rows, strict=True):
        if row != UNKNOWN:
            scores = weight @ vector + bias
            total -= float((scores[row] - scores.exp().sum().log()).detach())
    assert float(loss.detach()) == pytest.approx(total, abs=1e-5)
    loss.backward()
    assert torch.isfinite(weight.grad).all()


def test_only_allowed_labels_are_there_to_choose_from():
    torch.manual_seed(0)
    head, openings = TextClassifier(4, num_labels=3, dropout=0.0), torch.randn(40, 4)
    labels, chances = head.best(openings, torch.tensor([True, False, True]))
    scores = head(openings).detach()[:, [0, 2]]
    assert set(labels.tolist()) == {0, 2}
    assert ((labels == 2) == (scores[:, 1] > scores[:, 0])).all()
    torch.testing.assert_close(chances, scores.softmax(-1).amax(-1))


@pytest.mark.parametrize("gold", [texts("good", "bad", "so-so"), pairs("yes", "no", "no")])
@pytest.mark.parametrize("limit", [5, 100])
def test_one_batch_is_learnt_by_heart_and_then_decodes_to_gold(gold, limit):
    task = make(KIND, gold, dropout=0.0)
    laid = lay(task, gold, limit)
    head, vectors = untrained(task), opened(laid)
    losses = learn(task, head, vectors, laid)
    assert task.count_items(laid.batch, laid.targets) == 3
    assert losses["label"].item() < 0.1
    found = answer(task, head, laid, vectors)
    figures = task.metrics(task.compute_metrics(gold, found))
    assert figures == {"accuracy": 1.0, "macro_f1": 1.0, "mcc": 1.0}
    assert tuple(figures) == task.metric_names
    assert task.inputs == ((TEXT_PAIR,) if gold[0].has_layer(TEXT_PAIR) else ())
    for one, each in zip(gold, found, strict=True):
        beside = each.with_layer(one[TEXT_PAIR]) if one.has_layer(TEXT_PAIR) else each
        assert comparable(beside) == comparable(one)


def test_the_first_of_two_parts_is_read_ahead_of_the_second():
    (unit,) = lay(make(KIND, pairs("yes")), pairs("yes")).units
    assert (unit.prompt.tokens, unit.tokens) == (("first", "0", "."), ("second", "one", "."))
    assert unit.wants_cls


def test_gold_never_reaches_the_answer():
    gold = texts("good", "bad")
    blank = [each.unannotated().with_layer(Layer("main")) for each in gold]
    task = make(KIND, gold)
    one, two = (
        answer(task, untrained(task), laid, opened(laid))
        for laid in (lay(task, gold), lay(task, blank))
    )
    assert [comparable(each) for each in one] == [comparable(each) for each in two]


def test_what_is_unknown_or_silent_teaches_nothing():
    gold = texts("good", "bad")
    task = make(KIND, gold)
    dev = [*texts("fine", "bad"), Document("x", (Layer("main"),), "x")]
    assert task.unseen_labels(dev) == {"fine"}
    assert lay(task, dev).targets.tolist() == [UNKNOWN, 0, UNKNOWN]
    assert [len(task.encode_gold(*each)) for each in zip(dev, cuts(dev), strict=True)] == [0, 1, 0]


def test_of_no_text_nothing_is_said():
    task = make(KIND, texts("good", "bad"))
    laid = lay(task, [Document(" \n", (Layer("main"),), "d")])
    (found,) = answer(task, untrained(task), laid, opened(laid))
    assert classification_of(found, "main") is None


def test_a_shared_head_knows_all_labels_and_each_task_says_its_own():
    ours, theirs = texts("b", "d"), texts("a", "b", "e")
    united = KIND.merge_vocabularies([collect(KIND, each) for each in (ours, theirs)])
    assert united == {"labels": ["a", "b", "d", "e"]}
    for gold in (ours, theirs):
        task = make(KIND, gold, united, dropout=0.0)
        laid = lay(task, gold)
        head, vectors = untrained(task), opened(laid)
        assert head.score.out_features == 4
        before = answer(task, head, laid, vectors)
        assert {classification_of(each, "main").label for each in before} <= set(task.labels)
        learn(task, head, vectors, laid)
        after = answer(task, head, laid, vectors)
        assert [classification_of(a, "main").label for a in after] == [
            classification_of(each, "main").label for each in gold
        ]


def test_two_tasks_of_one_head_train_are_saved_and_annotate(tmp_path):
    torch.set_num_threads(1)
    warm = [told(Document(f"add {w} water .", name=w + "s"), f"is-{w}") for w in ("warm", "cold")]
    couples = [
        told(join_texts(f"{a}-{b}", f"mix {a} .", f"mix {b} ."), "same" if a == b else "is-other")
        for a in ("water", "cells")
        for b in ("water", "cells")
    ]
    for name, documents in (("texts", warm), ("couples", couples)):
        (tmp_path / name).mkdir()
        for split in ("train", "dev"):
            written = jsonl.dumps(documents)
            (tmp_path / name / f"{split}.jsonl").write_text(written, encoding="utf-8")
    tasks = {name: {"data": name, "kind": "text_classification"} for name in ("texts", "couples")}
    stage = {"tasks": list(tasks), "epochs": 2, "batch_words": 32, "precision": "fp32"}
    levels = [{"name": "context", "rnn": "gru", "hidden_size": 4}]
    tasks["texts"]["level"] = tasks["couples"]["level"] = "context"
    path = tiny.recipe(tmp_path, tasks=tasks, levels=levels, sharing="shared-head", stages=[stage])
    progress = train(resolve(recipes.load(path), tmp_path), tmp_path / "model", str, device="cpu")
    assert len(progress.metrics) == 6
    model = serialization.load(tmp_path / "model", device="cpu")
    assert list(model.network.heads) == ["labels"]
    assert model.encoder_passes() == [("texts", "couples")]
    serialization.save(model, tmp_path / "again", figures={})
    again = serialization.load(tmp_path / "again", device="cpu")
    for name, documents in (("texts", warm), ("couples", couples)):
        bare = [each.unannotated([TEXT_PAIR]) for each in documents]
        one, two, three = (
            list(made.annotate(each, [name]))
            for made, each in ((model, documents), (model, bare), (again, bare))
        )
        assert [repr(each) for each in one] == [repr(each) for each in two]
        assert [repr(each) for each in one] == [repr(each) for each in three]
        report = model.tasks[name].compute_metrics(documents, list(model.predict(documents, name)))
        assert {label for _, label in report.pairs} <= set(model.tasks[name].labels)
        assert json.loads(json.dumps(report.to_json()))["documents"] == len(documents)


def test_a_class_that_says_that_nothing_holds_is_no_class_to_score():
    gold = texts("cause", "none", "none", "none")
    task = make(KIND, gold, negative_label="none")
    found = texts("cause", "none", "cause", "none")
    assert task.metric_names[0] == "micro_f1"
    metrics = task.metrics(task.compute_metrics(gold, found))
    assert metrics == pytest.approx({"micro_f1": 2 / 3, "macro_f1": 2 / 3, "accuracy": 0.75})
    with pytest.raises(DataError, match="expected a class that train has, got 'no'; classes are"):
        make(KIND, gold, negative_label="no")
    by_mean = make(KIND, gold, negative_label="none", metric="macro_f1")
    assert by_mean.metric_names == ("macro_f1", "micro_f1", "accuracy")


@pytest.mark.parametrize("name", ["text_classification", "extractive_classification"])
def test_the_main_metric_comes_first_and_is_scikit_learns(name):
    gold, predicted = texts("a", "a", "a", "b"), texts("a", "a", "b", "b")
    expected = matthews_corrcoef(list("aaab"), list("aabb"))
    for metric, value in (("mcc", expected), ("accuracy", 0.75)):
        task = make(load(name), gold, metric=metric)
        values = task.metrics(task.measure.compute(gold, predicted, task.layer))
        assert next(iter(values.items())) == (metric, pytest.approx(value))
        assert set(values) == {"accuracy", "macro_f1", "mcc"}


@pytest.mark.parametrize("name", ["text_classification", "extractive_classification"])
def test_f1_of_single_labels_is_a_metric_and_scikit_learns(name):
    gold, predicted = texts("a", "a", "a", "b"), texts("a", "a", "b", "b")
    task = make(load(name), gold, label_metrics=("b",))
    report = task.measure.compute(gold, predicted, task.layer)
    expected = f1_score(list("aaab"), list("aabb"), pos_label="b")
    assert task.metrics(report)["f1_b"] == pytest.approx(expected)
    assert report.per_document_counts()["f1_b"].value == pytest.approx(expected)
    with pytest.raises(DataError, match="label_metrics: expected a class that train has, got 'c'"):
        make(load(name), gold, label_metrics=("c",))
