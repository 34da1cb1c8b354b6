"""The linear head of numbers: learnt standardized, written as they were, scored by correlation."""

import numpy as np
import pytest
import torch
from flat_bench import answer, collect, lay, learn, make
from test_extract_tasks import pairs, told

from spanloom.annotation.text_pairs import TEXT_PAIR, classification_of
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.nn.regressor import TextRegressor
from spanloom.tasks import HeadInputSpec, TaskSetup, load
from spanloom.tensors import HeadInputs

KIND = load("text_regression")


def rated(*values):
    return [
        told(Document(f"text {row}", name=str(row)), "likeness", value)
        for row, value in enumerate(values)
    ]


def opened(laid, dim=16):
    torch.manual_seed(3)
    num_words = int(laid.batch.instances[-1, 1])
    return HeadInputs(torch.zeros(num_words, dim), torch.randn(len(laid.units), dim))


def test_numbers_are_learnt_by_heart_whatever_their_scale():
    gold = rated(1000.0, 1300.0, 1700.0, 1100.0)
    task = make(KIND, gold, dropout=0.0)
    laid = lay(task, gold)
    head, vectors = task.build_head(HeadInputSpec(16)), opened(laid)
    before = answer(task, head, laid, vectors)
    assert {classification_of(each, "main").value for each in before} == {1275.0}  # the mean
    (loss,) = learn(task, head, vectors, laid, steps=300).values()
    assert loss < 1e-3
    report = task.compute_metrics(gold, answer(task, head, laid, vectors))
    assert task.metrics(report)["pearson"] == pytest.approx(1, abs=1e-3)
    assert task.metrics(report)["spearman"] == pytest.approx(1)


def test_the_loss_is_the_squared_error_of_what_is_known():
    head = TextRegressor(3, dropout=0.0)
    torch.nn.init.normal_(head.score.weight)
    vectors, target = torch.randn(4, 3), torch.tensor([1.0, -2.0, 0.0, 9.0])
    known = torch.tensor([True, True, True, False])
    loss = head.loss(vectors, target, known)
    numbers = vectors.numpy() @ head.score.weight.detach().numpy()[0]
    assert loss.item() == pytest.approx(
        float(np.square(numbers - target.numpy())[:3].sum()), rel=1e-4
    )
    loss.backward()
    assert torch.isfinite(head.score.weight.grad).all()


def test_what_has_no_number_teaches_nothing_and_blank_text_gets_none():
    gold = [
        *rated(1.0, 3.0),
        Document("b", (Layer("main"),), "b"),
        Document(" ", (Layer("main"),), "c"),
    ]
    task = make(KIND, gold)
    laid = lay(task, gold)
    assert task.count_items(laid.batch, laid.targets) == 2
    found = answer(task, task.build_head(HeadInputSpec(16)), laid, opened(laid))
    assert classification_of(found[2], "main").value == 2.0
    assert classification_of(found[3], "main") is None


def test_two_texts_are_one_number_between_them():
    gold = pairs("like", "like", value=2.5)
    task = make(KIND, gold)
    assert task.inputs == (TEXT_PAIR,)
    laid = lay(task, gold)
    found = answer(task, task.build_head(HeadInputSpec(16)), laid, opened(laid))
    assert task.compute_metrics(gold, found).pairs == ((2.5, 2.5), (2.5, 2.5))


def test_train_without_numbers_is_refused():
    with pytest.raises(DataError, match="expected a number to learn, train has none"):
        collect(KIND, pairs("no"))


@pytest.mark.parametrize("broken", [{"mean": "nan"}, {"scale": 0}, {"scale": -1}])
def test_a_vocabulary_without_sense_is_refused(broken):
    own = collect(KIND, rated(1.0, 2.0)) | broken
    with pytest.raises(DataError, match="expected a finite mean and a positive scale"):
        KIND.build(TaskSetup("task", "main", KIND.options(), own, own))
