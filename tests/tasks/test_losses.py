"""Both losses of SpanRel (section 3), where a task has a choice; and the limits of its table 8."""

import pytest
from sample_batches import head_of, lay, learn, make, predict, vectors_of

from spanloom.tasks import load

PAPER = {
    "entities": {"width": 10},
    "relations": {"width": 5, "keep": 5},
    "coreference": {"width": 10, "prune": 0.4},
    "openie": {"width": 30, "prune": 0.8},
    "roles": {"width": 30, "prune": 1.0},
    "aspects": {"width": 10},
    "opinions": {"width": 30, "prune": 0.3},
}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dependency", {"loss": "pairwise"}),
        ("dependency", {"loss": "pairwise", "decoder": "greedy"}),
        ("dependency", {"loss": "head", "decoder": "projective"}),
        ("relations", {"loss": "head"}),
        ("relations", {"loss": "pairwise", "negatives": 2.0}),
        ("constituency", {"decoder": "greedy"}),
    ],
)
def test_what_was_learnt_by_heart_is_found(name, options):
    kind = load(name)
    gold = [kind.sample]
    task = make(kind, gold, size=16, dropout=0.0, **options)
    laid, head = lay(task, gold), head_of(kind, task)
    vectors = vectors_of(kind, laid)
    losses = learn(task, head, vectors, laid)
    assert tuple(losses) == task.learns
    found = predict(task, head, laid, gold, vectors)
    assert set(task.figures(task.measure(gold, found)).values()) == {1.0}


@pytest.mark.parametrize("name", PAPER)
def test_limits_are_those_of_the_paper_where_a_recipe_asks_for_them(name):
    options = load(name).options
    chosen = options(limits="paper")
    assert {key: getattr(chosen, key) for key in PAPER[name]} == PAPER[name]
    assert options(limits="paper", width=3).width == 3
    assert options().width is None


def test_a_recipes_own_pruning_is_not_hidden_by_the_papers_fixed_number():
    chosen = load("relations").options(limits="paper", prune=0.3)
    assert (chosen.prune, chosen.keep) == (0.3, None)
