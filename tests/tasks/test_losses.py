"""Both losses of SpanRel (section 3), where a task has a choice; and the limits of its table 8."""

import pytest
from sample_batches import head_of, lay, learn, make, predict, vectors_of

from spanloom.tasks import load

PAPER = {
    "entities": {"max_span_width": 10},
    "relations": {"max_span_width": 5, "spans_per_sentence": 5},
    "coreference": {"max_span_width": 10, "spans_per_word": 0.4},
    "openie": {"max_span_width": 30, "argument_spans_per_word": 0.8},
    "srl": {"max_span_width": 30, "argument_spans_per_word": 1.0},
    "aspects": {"max_span_width": 10},
    "opinions": {"max_span_width": 30, "argument_spans_per_word": 0.3},
}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dependency", {"loss": "pairwise"}),
        ("dependency", {"loss": "pairwise", "decoder": "greedy"}),
        ("dependency", {"loss": "head-selection", "decoder": "projective"}),
        ("relations", {"loss": "head-selection"}),
        ("relations", {"loss": "pairwise", "hard_negatives_per_word": 2.0}),
        ("constituency", {"decoder": "greedy"}),
        ("constituency", {"loss": "max-margin"}),
        ("constituency", {"loss": "inside"}),
        ("constituency", {"loss": "max-margin", "coarse_spans_per_word": 2.0}),
        ("constituency", {"loss": "inside", "coarse_spans_per_word": 2.0}),
    ],
)
def test_what_was_learnt_by_heart_is_found(name, options):
    kind = load(name)
    gold = [kind.example]
    task = make(kind, gold, hidden_size=16, dropout=0.0, **options)
    laid, head = lay(task, gold), head_of(kind, task)
    vectors = vectors_of(kind, laid)
    losses = learn(task, head, vectors, laid)
    assert tuple(losses) == task.loss_names
    found = predict(task, head, laid, gold, vectors)
    assert set(task.metrics(task.compute_metrics(gold, found)).values()) == {1.0}


@pytest.mark.parametrize("name", PAPER)
def test_limits_are_those_of_the_paper_where_a_recipe_asks_for_them(name):
    options = load(name).options
    chosen = options(limits="spanrel")
    assert {key: getattr(chosen, key) for key in PAPER[name]} == PAPER[name]
    assert options(limits="spanrel", max_span_width=3).max_span_width == 3
    assert options().max_span_width is None


def test_a_recipes_own_pruning_is_not_hidden_by_the_papers_fixed_number():
    chosen = load("relations").options(limits="spanrel", spans_per_word=0.3)
    assert (chosen.spans_per_word, chosen.spans_per_sentence) == (0.3, None)
