"""Whose batch comes next: shares of every sampler, against counts and expectations."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config import recipe as recipes
from spanloom.config.specs import StageSpec
from spanloom.errors import RecipeError
from spanloom.training.samplers import SAMPLERS, Size, check

SIZES = st.dictionaries(
    st.sampled_from("abcd"), st.builds(Size, st.integers(1, 30), st.integers(1, 900)), min_size=1
)
EVERY = pytest.mark.parametrize("name", sorted(SAMPLERS))
LARGE = {"a": Size(4000, 64_000), "b": Size(1000, 1000), "c": Size(3000, 8000)}


def drawn(name, sizes, seed=0, temperature=5.0):
    return SAMPLERS[name](sizes, Random(seed), temperature)


def test_a_stage_can_name_every_sampler():
    for name in SAMPLERS:
        assert StageSpec(tasks=("a",), sampler=name).sampler == name
    description = StageSpec.model_fields["sampler"].description
    assert set(description.split(" | ")) == set(SAMPLERS)


def test_a_sampler_that_no_one_has_is_refused_at_its_line():
    text = "trunk: [{casing: 4}]\ntasks: {a: {data: a, kind: pos}}\nstages:\n- tasks: [a]\n"
    recipe = recipes.loads(f"{text}  sampler: unifrom\n")
    with pytest.raises(RecipeError, match="recipe:5: .*'unifrom'; did you mean 'uniform'"):
        check(recipe)
    check(recipes.loads(f"{text}  sampler: uniform\n"))


@EVERY
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_an_epoch_has_as_many_batches_as_all_tasks_together(name, sizes, seed):
    turns = drawn(name, sizes, seed)
    total = sum(size.batches for size in sizes.values())
    batches = sum(map(len, turns))
    assert {each for turn in turns for each in turn} <= set(sizes)
    if name == "balanced":
        assert abs(batches - total) <= len(sizes) / 2 or batches == len(sizes)
    else:
        assert batches == total


@EVERY
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_the_seed_decides(name, sizes, seed):
    assert drawn(name, sizes, seed) == drawn(name, sizes, seed)


@pytest.mark.parametrize("name", ["proportional", "examples", "temperature", "uniform"])
def test_seeds_differ(name):
    assert drawn(name, LARGE, 1) != drawn(name, LARGE, 2)


@given(sizes=SIZES, seed=st.integers(0, 99))
def test_proportional_has_each_batch_once(sizes, seed):
    turns = drawn("proportional", sizes, seed)
    expected = {task: size.batches for task, size in sizes.items()}
    assert Counter(task for (task,) in turns) == Counter(expected)


@given(sizes=SIZES)
def test_balanced_has_every_task_in_each_step(sizes):
    assert all(turn == tuple(sizes) for turn in drawn("balanced", sizes))


@given(sizes=SIZES)
def test_round_robin_goes_round(sizes):
    turns = [task for (task,) in drawn("round-robin", sizes)]
    names = list(sizes)
    assert all(task == names[row % len(names)] for row, task in enumerate(turns))


@pytest.mark.parametrize(
    ("name", "temperature", "weights"),
    [
        ("proportional", 5.0, {"a": 4, "b": 1, "c": 3}),
        ("examples", 5.0, {"a": 64, "b": 1, "c": 8}),
        ("temperature", 1.0, {"a": 64, "b": 1, "c": 8}),
        ("temperature", 3.0, {"a": 4, "b": 1, "c": 2}),
        ("temperature", 1e9, {"a": 1, "b": 1, "c": 1}),
        ("uniform", 5.0, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_tasks_are_drawn_in_their_shares(name, temperature, weights):
    turns = drawn(name, LARGE, 7, temperature)
    counts = Counter(task for (task,) in turns)
    for task, weight in weights.items():
        share = weight / sum(weights.values())
        spread = (share * (1 - share) / len(turns)) ** 0.5
        assert abs(counts[task] / len(turns) - share) < 4 * spread
