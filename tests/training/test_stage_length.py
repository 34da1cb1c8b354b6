"""The length of a stage in epochs of several kinds, and in updates per task; samples of train."""

from collections import Counter

import pytest
from workbench import SECOND, TASKS, events

from spanloom.config.specs import StageSpec
from spanloom.errors import RecipeError
from spanloom.training import batch_schedule
from spanloom.training.batch_schedule import TrainBatch, num_groups
from spanloom.training.checkpoint import Progress
from spanloom.training.interrupt import Stopped
from spanloom.training.loop import StageTrainer
from spanloom.training.stage_length import StageLength, num_updates

BOTH = {"tasks": ["steps", "names"], "batch_words": 24, "precision": "fp32"}
FEW = {"names": TASKS["names"] | {"examples": 2}, "steps": TASKS["steps"]}


def steps(out):
    return [event["step"] for event in events(out) if "losses" in event]


def draw(bench, stage, **changes):
    """Return the tasks of each update of the first epoch."""
    model, prepared = bench.fresh(stages=[stage], **changes)
    updates = batch_schedule.draw_epoch(
        model.recipe.stages[0],
        prepared.data,
        seed="5/0",
        epoch=0,
        window=64,
        tokenize_prompt=model.tokenize_prompt,
    )
    return [tuple(name for batch in update for name in batch.tasks) for update in updates]


@pytest.mark.parametrize(
    ("changes", "num_updates"),
    [
        ({"updates_per_task": 5}, 10),
        ({"updates_per_task": 5, "gradient_accumulation_steps": 2}, 6),  # 5 batches an epoch: 3
        ({"updates_per_task": 5, "sampler": "balanced"}, 5),
        ({"updates_per_task": 1, "tasks": ["names"]}, 1),
        ({"updates_per_task": 23, "tasks": ["names"]}, 23),
    ],
)
def test_a_stage_has_as_many_updates_as_its_tasks_need(bench, tmp_path, changes, num_updates):
    bench.train(tmp_path / "out", stages=[BOTH | changes])
    assert steps(tmp_path / "out") == list(range(1, num_updates + 1))
    looks = [event for event in events(tmp_path / "out") if "dev" in event]
    assert looks[-1]["step"] == num_updates


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ({"updates_per_task": 5, "num_evaluations": 2}, [5, 10]),
        ({"updates_per_task": 5, "num_evaluations": 3}, [4, 7, 10]),
        ({"updates_per_task": 5, "num_evaluations": 1}, [10]),
    ],
)
def test_dev_is_scored_as_often_whatever_an_epoch_is(bench, tmp_path, length, expected):
    bench.train(tmp_path / "out", stages=[BOTH | {"eval_every_epochs": 0.2} | length])
    assert [step for step, _ in dev_of(tmp_path / "out")] == expected


def test_evaluations_are_spread_over_epochs_too(bench, tmp_path):
    bench.train(tmp_path / "out", stages=[BOTH | {"epochs": 1.5, "num_evaluations": 4}])
    looks, last = [step for step, _ in dev_of(tmp_path / "out")], steps(tmp_path / "out")[-1]
    assert looks == pytest.approx([last / 4, last / 2, last * 3 / 4, last], abs=1)
    assert len(looks) == 4


def test_rates_fall_to_zero_at_the_last_update(bench, tmp_path):
    stage = BOTH | {"updates_per_task": 9, "warmup_updates": 0}
    bench.train(tmp_path / "out", stages=[stage])
    rates = [event["learning_rates"][-1] for event in events(tmp_path / "out") if "losses" in event]
    assert rates == pytest.approx([2e-3 * (18 - step) / 18 for step in range(18)], rel=1e-6)


@pytest.mark.parametrize("last", [3, 8, 9, 11])
def test_a_stage_of_updates_resumes_to_the_same_end(bench, tmp_path, monkeypatch, last):
    """8 and 11 are the last updates of their stages: only their evaluation is left."""
    stages = [BOTH | {"updates_per_task": 4}, SECOND | {"updates_per_task": 3}]
    bench.train(tmp_path / "whole", stages=stages)
    real, taken = StageTrainer.update, []

    def stop_at_last(self, *args):
        taken.append(1)
        return real(self, *args) or len(taken) == last

    with monkeypatch.context() as patch:
        patch.setattr(StageTrainer, "update", stop_at_last)
        with pytest.raises(Stopped):
            bench.train(tmp_path / "parts", stages=stages)
    bench.train(tmp_path / "parts", stages=stages, resume=True)
    one, two = (tmp_path / name / "model.safetensors" for name in ("whole", "parts"))
    assert one.read_bytes() == two.read_bytes()
    assert dev_of(tmp_path / "whole") == dev_of(tmp_path / "parts")


def dev_of(out):
    return [(event["step"], event["dev"]) for event in events(out) if "dev" in event]


def test_an_epoch_ends_with_the_smallest_task(bench):
    every = Counter(draw(bench, BOTH, tasks=FEW))
    assert every[("names",)] < every[("steps",)]
    least = Counter(draw(bench, BOTH | {"epoch_size": "smallest-task"}, tasks=FEW))
    assert least == {("names",): every[("names",)], ("steps",): every[("names",)]}


def sample(bench, examples, seed=5):
    tasks = {"names": TASKS["names"] | {"examples": examples}}
    stage = BOTH | {"tasks": ["names"]}
    _, prepared = bench.fresh(tasks=tasks, stages=[stage], seed=seed)
    return {document.tokens for document in prepared.data["names"].tokenized}, prepared


def test_smaller_samples_are_part_of_larger_ones(bench):
    texts = [sample(bench, size)[0] for size in (1, 5, "50%", "100%")]
    assert all(small <= large for small, large in zip(texts, texts[1:], strict=False))
    assert len(texts[0]) == 1
    assert len(texts[2]) < len(texts[3])
    assert texts[3] == sample(bench, 10**9)[0]


def test_another_seed_draws_another_sample(bench):
    assert len({frozenset(sample(bench, 1, seed)[0]) for seed in range(8)}) > 1


def test_a_sample_is_told_and_dev_stays_whole(bench):
    _, prepared = sample(bench, 5)
    assert any(note.startswith("names: ") and "examples in" in note for note in prepared.notes)
    assert len(prepared.data["names"].dev) == len(sample(bench, "100%")[1].data["names"].dev)


def test_only_the_sample_is_counted_among_the_words(bench):
    assert sample(bench, 1)[1].words < sample(bench, "100%")[1].words


@pytest.mark.parametrize("examples", [0, -1, "0.5", "101%", "some"])
def test_a_size_that_is_none_is_refused(bench, examples):
    with pytest.raises(RecipeError, match="examples"):
        sample(bench, examples)


@pytest.mark.parametrize("seed", range(4))
def test_a_task_that_was_never_drawn_counts(bench, seed):
    """Its length must not follow from the seed: all runs of a condition are as long."""
    stage = BOTH | {"updates_per_task": 5, "sampler": "temperature", "temperature": 1}
    model, prepared = bench.fresh(stages=[stage], seed=seed)
    spec = model.recipe.stages[0]
    epoch = [(TrainBatch(("steps",), ()),)] * 9
    assert num_updates(spec, epoch, num_groups(spec, prepared.data)) == 10


def test_shares_that_binary_numbers_lack_lose_no_evaluation():
    """.3 / .1 is less than 3: ten updates an epoch, dev after each."""
    length = StageLength(StageSpec(tasks=("a",), epochs=4, eval_every_epochs=0.1), 1)
    progress = Progress("", "", steps_per_epoch=10)
    looks = 0
    for epoch in range(4):
        for step in range(1, 11):
            progress.epoch, progress.step_in_epoch = epoch, step
            looks += length.is_evaluation_time(progress)
    assert looks == 40
