"""Which batch comes when: pure, complete, proportional."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.recipe import StageSpec
from spanloom.training.plan import Draw, epoch, share

STAGE = StageSpec(tasks=("steps", "names"), batch=20)


@pytest.fixture(scope="module")
def data(bench):
    return bench.fresh()[1].data


def words(draw):
    """Which words of which documents a batch holds."""
    return [(unit.document, unit.first + i) for unit in draw.units for i in range(len(unit.forms))]


@pytest.mark.parametrize("accumulate", [1, 2, 100])
@pytest.mark.parametrize("number", [0, 1, 7])
def test_every_word_of_every_task_comes_once(data, accumulate, number):
    stage = STAGE.model_copy(update={"accumulate": accumulate})
    updates = epoch(stage, data, seed="1", number=number, window=64)
    for name, mine in data.items():
        seen = Counter(
            word
            for update in updates
            for draw in update
            if draw.task == name
            for word in words(draw)
        )
        every = {(row, i) for row in mine.gold for i in range(len(mine.cuts[row].forms))}
        assert seen == Counter(every)
    assert all(len(update) == accumulate for update in updates[:-1])
    assert 1 <= len(updates[-1]) <= accumulate


def test_the_same_question_has_the_same_answer(data):
    asked = [epoch(STAGE, data, seed="1", number=3, window=64) for _ in range(2)]
    assert asked[0] == asked[1]


def test_epochs_seeds_and_tasks_differ(data):
    one = epoch(STAGE, data, seed="1", number=0, window=64)
    assert epoch(STAGE, data, seed="1", number=1, window=64) != one
    assert epoch(STAGE, data, seed="2", number=0, window=64) != one
    assert [d.task for update in one for d in update] != sorted(d.task for u in one for d in u)


def test_a_stage_draws_its_own_tasks_alone(data):
    stage = STAGE.model_copy(update={"tasks": ("names",)})
    updates = epoch(stage, data, seed="1", number=0, window=64)
    assert {draw.task for update in updates for draw in update} == {"names"}


def test_tasks_come_in_proportion_to_their_words(data):
    small = dict(data)
    mine = data["names"]
    gold = {row: each for row, each in mine.gold.items() if row < 2}
    small["names"] = type(mine)(mine.task, mine.cuts, gold, mine.dev)
    updates = epoch(STAGE, small, seed="1", number=0, window=64)
    said = Counter(draw.task for update in updates for draw in update)
    assert said["steps"] / said["names"] == pytest.approx(len(mine.gold) / 2, rel=0.4)


@given(st.lists(st.integers(), max_size=9), st.integers(1, 5))
def test_shares_cover_a_batch_and_no_unit_twice(units, ranks):
    draw = Draw("any", tuple(units))
    shares = [share(draw, rank, ranks) for rank in range(ranks)]
    assert Counter(each for mine in shares for each in mine) == Counter(units)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
