"""Which batch comes when: pure, complete, proportional."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.specs import StageSpec
from spanloom.data.instance_readers import InstanceReader, QuestionReader, TextReader
from spanloom.data.instances import Prompt
from spanloom.training.batch_schedule import TrainBatch, deal, draw_epoch

STAGE = StageSpec(tasks=("steps", "names"), batch_words=20)


@pytest.fixture(scope="module")
def ready(bench):
    return bench.fresh()


@pytest.fixture(scope="module")
def data(ready):
    return ready[1].data


@pytest.fixture(scope="module")
def draw(ready):
    """Draw an epoch of a stage with windows of 64 pieces."""

    def run(stage, data, seed="1", number=0):
        cutter = ready[0].tokenize_prompt
        return draw_epoch(stage, data, seed=seed, epoch=number, window=64, tokenize_prompt=cutter)

    return run


def words(draw):
    """Which words of which documents a batch holds."""
    return [
        (unit.document, unit.first_word + i)
        for unit in draw.instances
        for i in range(len(unit.tokens))
    ]


@pytest.mark.parametrize("accumulate", [1, 2, 100])
@pytest.mark.parametrize("number", [0, 1, 7])
def test_every_word_of_every_task_comes_once(data, draw, accumulate, number):
    stage = STAGE.model_copy(update={"gradient_accumulation_steps": accumulate})
    updates = draw(stage, data, number=number)
    for name, mine in data.items():
        seen = Counter(
            word
            for update in updates
            for each in update
            if each.tasks == (name,)
            for word in words(each)
        )
        every = {(row, i) for row in mine.gold for i in range(len(mine.tokenized[row].tokens))}
        assert seen == Counter(every)
    assert all(len(update) == accumulate for update in updates[:-1])
    assert 1 <= len(updates[-1]) <= accumulate


@pytest.mark.parametrize(("total", "shares"), [(7, (4, 3)), (2, (1, 1)), (1, (1, 1)), (9, (5, 4))])
def test_tasks_share_the_sentences_of_an_update(data, draw, total, shares):
    """As in Changpinyo et al. (2018, section 3.3): the numbers of two tasks differ by 1 at most."""
    changes = {"batch_sentences": total, "sampler": "balanced", "epoch_size": "smallest-task"}
    updates = draw(STAGE.model_copy(update=changes), data)
    sizes = {name: len([s for row in d.gold for s in d.tokenized[row].sentences])
             for name, d in data.items()}  # fmt: skip
    assert len(updates) == min(
        -(-sizes[name] // share) for name, share in zip(STAGE.tasks, shares, strict=True)
    )
    for update in updates[:-1]:
        assert tuple(batch.tasks for batch in update) == (("steps",), ("names",))
        assert tuple(len(batch.instances) for batch in update) == shares
        assert all(len(unit.sentences) == 1 for batch in update for unit in batch.instances)
    for name in STAGE.tasks:
        seen = [
            word
            for update in updates
            for batch in update
            if batch.tasks == (name,)
            for word in words(batch)
        ]
        assert len(set(seen)) == len(seen)


def test_batches_of_sentences_have_every_word_once_and_in_random_order(data, draw):
    stage = STAGE.model_copy(update={"batch_sentences": 6, "tasks": ("names",)})
    (first, *_), (second, *_) = draw(stage, data), draw(stage, data, number=1)
    assert first != second
    seen = Counter(word for update in draw(stage, data) for b in update for word in words(b))
    mine = data["names"]
    assert seen == Counter(
        (row, i) for row in mine.gold for i in range(len(mine.tokenized[row].tokens))
    )


@pytest.mark.parametrize("reader", [TextReader(), QuestionReader()])
def test_a_text_that_counts_as_one_sentence_has_the_windows_of_use(data, draw, reader):
    mine = data["names"]
    task = replace(mine.task, reader=InstanceReader(reader))
    asked = [replace(text, queries=(Prompt(("who",), ((9,),)),)) for text in mine.tokenized]
    whole = {"names": replace(mine, task=task, tokenized=asked)}
    stage = STAGE.model_copy(update={"batch_sentences": 6, "tasks": ("names",)})
    units = [unit for update in draw(stage, whole) for b in update for unit in b.instances]
    assert any(len(unit.sentences) > 1 for unit in units)
    assert {len(unit.windows) for unit in units} == {1}  # they fit
    texts = sum(len(text.sentences) > 0 for row, text in enumerate(asked) if row in mine.gold)
    assert len(units) == texts


def test_the_same_question_has_the_same_answer(data, draw):
    asked = [draw(STAGE, data, number=3) for _ in range(2)]
    assert asked[0] == asked[1]


def test_epochs_seeds_and_tasks_differ(data, draw):
    one = draw(STAGE, data)
    assert draw(STAGE, data, number=1) != one
    assert draw(STAGE, data, seed="2") != one
    assert [d.tasks for update in one for d in update] != sorted(d.tasks for u in one for d in u)


def test_a_stage_draws_its_own_tasks_alone(data, draw):
    stage = STAGE.model_copy(update={"tasks": ("names",)})
    updates = draw(stage, data)
    assert {each.tasks for update in updates for each in update} == {("names",)}


def test_tasks_come_in_proportion_to_their_words(data, draw):
    small = dict(data)
    mine = data["names"]
    gold = {row: each for row, each in mine.gold.items() if row < 2}
    small["names"] = replace(mine, gold=gold)
    updates = draw(STAGE, small)
    said = Counter(each.tasks for update in updates for each in update)
    assert said["steps",] / said["names",] == pytest.approx(len(mine.gold) / 2, rel=0.4)


def test_tasks_that_read_one_corpus_alike_share_their_batches(data, draw):
    mine = data["names"]
    part = dict(list(mine.gold.items())[1:])
    paged = replace(mine.task, reader=replace(mine.task.reader, max_windows=2))
    every = {
        **data,
        "again": mine,
        "elsewhere": replace(mine, corpus="other"),
        "rarer": replace(mine, gold=part),
        "longer": replace(mine, task=paged),
    }
    stage = STAGE.model_copy(update={"tasks": tuple(every)})
    apart = {each.tasks for update in draw(stage, every) for each in update}
    assert apart == {(name,) for name in every}
    both = [
        each
        for update in draw(stage.model_copy(update={"share_batches": True}), every)
        for each in update
    ]
    one, alone = ("steps", "names", "again"), {("elsewhere",), ("rarer",), ("longer",)}
    assert {each.tasks for each in both} == {one, *alone}
    seen = Counter(word for each in both if each.tasks == one for word in words(each))
    assert seen == Counter(
        (row, i) for row in mine.gold for i in range(len(mine.tokenized[row].tokens))
    )


@given(st.lists(st.lists(st.integers(), max_size=9), max_size=7), st.integers(1, 5))
def test_processes_get_whole_batches_and_divide_those_left_over(units, world_size):
    update = tuple(TrainBatch((f"of {row}",), tuple(batch)) for row, batch in enumerate(units))
    processes = [list(deal(update, rank, world_size)) for rank in range(world_size)]
    dealt = [
        (each.row, unit) for mine in processes for each in mine for unit in each.batch.instances
    ]
    assert Counter(dealt) == Counter(
        (row, unit) for row, batch in enumerate(units) for unit in batch
    )
    for row, batch in enumerate(update):
        parts = [[each for each in mine if each.row == row] for mine in processes]
        lengths = [sum(len(each.batch.instances) for each in mine) for mine in parts]
        if row < len(update) - len(update) % world_size:
            assert sorted(lengths) == [0] * (world_size - 1) + [len(batch.instances)]
        else:
            assert max(lengths) - min(lengths) <= 1
        found = [each for mine in parts for each in mine]
        assert all(each.batch.tasks == batch.tasks for each in found)
        assert len({each.part for each in found}) == len(found)
