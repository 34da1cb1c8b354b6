"""A model's card says which of its tasks are wrong more often than right."""

import pytest

from spanloom.model import model_card
from spanloom.model.card_scores import doubtful_layers, doubtful_tasks, language
from spanloom.model.serialization import card_of


def released(*rows):
    lines = "".join(f"| {task} | {dataset} | CC | {test} |\n" for task, dataset, test in rows)
    return f"| task | dataset | license | test |\n|---|---|---|---|\n{lines}"


GOOD = ("pos", "ewt", "span_f1 96.41")


@pytest.mark.parametrize(
    ("rows", "doubtful"),
    [
        ([("ner", "x", "span_f1 49.99")], {"ner": "span_f1 50.0 on x"}),
        ([("ner", "x", "span_f1 50.00")], {}),
        ([("ner", "x", "span_f1 42.62"), ("ner", "y", "span_f1 68.18")], {}),
        ([("ner", "x", "span_f1 30, precision 60")], {}),
        ([("ner", "x", "span_f1 60, precision 30")], {"ner": "precision 30.0 on x"}),
        (
            [("coref", "x", "conll_f1 38.41, span_f1 67.33")],
            {"coref": "conll_f1 38.4 on x"},
        ),
        ([("likeness", "x", "pearson 40.00, spearman 41.00")], {}),
        ([("mood", "x", "accuracy 30.00, mcc 2.00")], {"mood": "accuracy 30.0 on x"}),
        ([("mood", "x", "mcc 2.00, accuracy 30.00")], {}),
    ],
)
def test_a_task_below_half_is_doubtful(rows, doubtful):
    assert doubtful_tasks(released(GOOD, *rows)) == doubtful


def test_where_all_are_doubtful_none_is():
    assert doubtful_tasks(released(("a", "x", "span_f1 10.0"), ("b", "x", "span_f1 20.0"))) == {}


def test_the_dev_scores_of_a_model_of_ones_own_count(model):
    (name, *_) = model.tasks
    card = model_card.write(model, {f"{name}.span_f1": 0.123, "other.span_f1": 0.9})
    assert doubtful_tasks(card) == {name: "span_f1 12.3 on dev"}
    assert doubtful_layers(card, {name: "a layer", "gone": "b"}) == {
        "a layer": "span_f1 12.3 on dev"
    }
    assert language(card) is None


def test_the_bundled_model_reads_english_and_says_what_is_doubtful():
    card = card_of()
    assert language(card) == "en"
    assert set(doubtful_tasks(card)) == {"coreference", "openie"}


def test_a_card_without_scores_says_nothing():
    assert doubtful_tasks("") == {}
    assert doubtful_tasks("| task | dataset | test |\n|---|---|---|\n| a | b | |\n") == {}
