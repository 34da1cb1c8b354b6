"""A trained model teaches: what is learnt from it, what is noted, what is refused."""

import json
import shutil

import pytest
import torch

from spanloom.errors import RecipeError, TrainingError
from spanloom.model import serialization
from spanloom.training.loop import StageTrainer

STAGE = {"tasks": ["names"], "epochs": 12, "batch_words": 40, "precision": "fp32"}
NAMES = {"data": "corpus", "kind": "entities", "hidden_size": 16}
ALONE = {"tasks": {"names": NAMES}, "levels": [], "embedding_dropout": 0}


@pytest.fixture(scope="module")
def teacher_folder(bench, tmp_path_factory):
    """A model that learnt a little."""
    out = tmp_path_factory.mktemp("teacher") / "model"
    bench.train(out, **ALONE, stages=[STAGE | {"epochs": 1}])
    return out


def _first_losses(bench, out, **teacher):
    """The losses of a run's first update, and its gradient."""
    changes = {} if not teacher else {"teacher": teacher | {"tasks": ["names"]}}
    run = bench.run(out, **ALONE, stages=[STAGE | changes])
    stage = StageTrainer(run, run.recipe.stages[0])
    losses = stage.backward(stage.draw_epoch()[0])
    weights = [weight.grad.flatten() for weight in run.model.network.parameters()]
    return losses, torch.cat(weights)


def test_the_teacher_has_its_share_of_the_losses_that_it_teaches(bench, teacher_folder, tmp_path):
    """Losses and gradients lie on a line between those of gold and those of the teacher."""
    gold, gradient = _first_losses(bench, tmp_path / "gold")
    for weight in (0.25, 0.75):
        name = str(weight)
        some, moved = _first_losses(
            bench, tmp_path / name, model=str(teacher_folder), weight=weight
        )
        assert some.keys() == gold.keys()
        if weight == 0.25:
            steps = {term: some[term] - gold[term] for term in gold}
            change = moved - gradient
    assert steps["names.span"].abs() > 0.001
    for term, step in steps.items():
        torch.testing.assert_close(some[term], gold[term] + 3 * step, msg=term)
    torch.testing.assert_close(moved, gradient + 3 * change, rtol=1e-3, atol=1e-5)
    assert change.abs().max() > 0.001


def test_a_model_that_teaches_itself_moves_nothing(bench, teacher_folder, tmp_path):
    """Where both agree, the gradient of the teacher's share is zero."""
    start = {"init_from": str(teacher_folder)}
    trunk = {"trunk": [{"transformer": str(bench.home / "encoder"), "dropout": 0}]}
    tasks = {"tasks": {"names": NAMES | {"dropout": 0}}}
    teacher = {"model": str(teacher_folder), "tasks": ["names"], "weight": 0.999999}
    run = bench.run(
        tmp_path, **ALONE | start | trunk | tasks, stages=[STAGE | {"teacher": teacher}]
    )
    stage = StageTrainer(run, run.recipe.stages[0])
    stage.backward(stage.draw_epoch()[0])
    gradients = [
        weight.grad for weight in run.model.network.parameters() if weight.grad is not None
    ]
    assert max(gradient.abs().max() for gradient in gradients) < 1e-4


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_file_says_how_much_a_teacher_weighs(bench, teacher_folder, share):
    teacher = {"model": str(teacher_folder), "tasks": ["names"], "weight": share}
    with pytest.raises(RecipeError, match="stages.0.teacher.weight"):
        bench.fresh(**ALONE, stages=[STAGE | {"teacher": teacher}])


def test_the_data_of_the_teacher_are_noted_and_a_run_goes_on_with_it_alone(bench, teacher_folder):
    teacher = {"model": str(teacher_folder), "tasks": ["names"]}
    model, taught = bench.fresh(**ALONE, stages=[STAGE | {"teacher": teacher}])
    plain = bench.fresh(**ALONE, stages=[STAGE])[1]
    assert model.recipe.pretraining_data == ("corpus",)
    assert taught.fingerprint == f"{plain.fingerprint} {serialization.digest_of(teacher_folder)}"
    (only,) = taught.teachers.values()
    assert not any(weight.requires_grad for weight in only.model.network.parameters())


@pytest.mark.parametrize(
    ("changes", "teacher", "problem"),
    [
        ({}, {"tasks": ["name"]}, r"no task of this stage 'name'; did you mean 'names'\?"),
        (
            {"tasks": {"others": NAMES}, "stage": ["others"]},
            {"tasks": ["others"]},
            r"teacher\.tasks: .*model has no task 'others'",
        ),
        (
            {"tasks": {"names": {"data": "corpus", "kind": "sequence_tagging"}}},
            {"tasks": ["names"]},
            "expected a task that learns spans each by itself, .* 'names' of kind sequence_tagging",
        ),
        (
            {"tasks": {"names": NAMES | {"kind": "dependency"}}},
            {"tasks": ["names"]},
            "expected a task 'names' of kind dependency in .*model, got one of kind entities",
        ),
        (
            {"tasks": {"names": NAMES | {"kind": "pos"}}},
            {"tasks": ["names"]},
            "expected a task 'names' of kind pos in .*model, got one of kind entities",
        ),
        (
            {"tasks": {"names": NAMES | {"kind": "constituency", "loss": "max-margin"}}},
            {"tasks": ["names"]},
            "got 'names' of kind constituency",
        ),
        (
            {"tasks": {"names": NAMES | {"data": "fewer"}}},
            {"tasks": ["names"]},
            r"the labels of task 'names' in .*, got others \(only .*model: Place\)",
        ),
        ({}, {"tasks": ["names"], "model": "/no/where"}, "teacher.model: no model '/no/where'"),
        ({"trunk": [{"casing": 4}]}, {"tasks": ["names"]}, "an encoder with the pieces of this"),
    ],
)
def test_who_cannot_teach_is_refused(bench, teacher_folder, changes, teacher, problem):
    fewer = bench.home / "fewer"
    if not fewer.exists():
        shutil.copytree(bench.home / "corpus", fewer)
        for path in fewer.rglob("*.ann"):
            path.write_text(path.read_text().replace("\tPlace ", "\tReagent "))
    changes = dict(changes)
    stage = STAGE | {"tasks": changes.pop("stage", ["names"])}
    stage |= {"teacher": {"model": str(teacher_folder), **teacher}}
    with pytest.raises(RecipeError, match=problem):
        bench.fresh(**ALONE | changes, stages=[stage])


def test_a_teacher_that_cannot_read_the_windows_is_refused(bench, teacher_folder, tmp_path):
    short = tmp_path / "encoder"
    shutil.copytree(bench.home / "encoder", short)
    config = json.loads((short / "config.json").read_text()) | {"max_position_embeddings": 20}
    (short / "config.json").write_text(json.dumps(config))
    trunk = [{"transformer": str(short), "init": "random"}]
    bench.train(tmp_path / "short", **ALONE | {"trunk": trunk}, window=18, stages=[STAGE])
    teacher = {"model": str(tmp_path / "short"), "tasks": ["names"]}
    with pytest.raises(
        RecipeError, match="teacher.model: .*short: expected .* windows of 64 pieces"
    ):
        bench.fresh(**ALONE, stages=[STAGE | {"teacher": teacher}])


def test_a_teacher_whose_pieces_have_other_numbers_is_refused(bench, teacher_folder, tmp_path):
    """Two encoders may cut all words alike, and mean other ids."""
    other = tmp_path / "encoder"
    shutil.copytree(bench.home / "encoder", other)
    raw = json.loads((other / "tokenizer.json").read_text())
    vocabulary = raw["model"]["vocab"]
    vocabulary["water"], vocabulary["cells"] = vocabulary["cells"], vocabulary["water"]
    (other / "tokenizer.json").write_text(json.dumps(raw))
    teacher = {"model": str(teacher_folder), "tasks": ["names"]}
    with pytest.raises(RecipeError, match="expected an encoder with the pieces of this recipe's"):
        bench.fresh(
            **ALONE | {"trunk": [{"transformer": str(other)}]},
            stages=[STAGE | {"teacher": teacher}],
        )


def test_a_model_that_teaches_twice_is_loaded_once(bench, teacher_folder):
    stages = [
        STAGE | {"teacher": {"model": str(teacher_folder), "tasks": ["names"], "weight": weight}}
        for weight in (0.2, 0.5)
    ]
    teachers = bench.fresh(**ALONE, stages=stages)[1].teachers
    first, second = teachers.values()
    assert first.model is second.model


def test_a_run_does_not_go_on_with_another_teacher(bench, teacher_folder, tmp_path):
    mine = tmp_path / "teacher"
    shutil.copytree(teacher_folder, mine)
    teacher = {"model": str(mine), "tasks": ["names"]}
    stages = [STAGE | {"teacher": teacher, "epochs": 1}]
    bench.train(tmp_path / "out", **ALONE, stages=stages)
    bench.train(tmp_path / "out", **ALONE, stages=stages, resume=True)
    shutil.rmtree(mine)
    bench.train(mine, **ALONE, stages=[STAGE | {"epochs": 2}])
    with pytest.raises(TrainingError, match="teacher"):
        bench.train(tmp_path / "out", **ALONE, stages=stages, resume=True)


def test_trees_and_tasks_without_a_teacher_learn_beside_taught_ones(bench, tmp_path):
    """With shared batches, word dropout and several batches an update."""
    folder = bench.home / "trees"
    for split in ("train", "dev"):
        (folder / split).mkdir(parents=True)
        for row in range(6):
            text = f"{'add mix spin wash add mix'.split()[row]} the buffer .\n"
            ends = [(0, text.index(" ")), *_bounds(text, ("the", "buffer", "."))]
            lines = [f"T{n}\tword {a} {b}\t{text[a:b]}" for n, (a, b) in enumerate(ends, 1)]
            arcs = [("root", 1, 1), ("det", 3, 2), ("obj", 1, 3), ("punct", 1, 4)]
            lines += [
                f"R{n}\t{label} Arg1:T{head} Arg2:T{tail}"
                for n, (label, head, tail) in enumerate(arcs, 1)
            ]
            (folder / split / f"{row}.txt").write_text(text)
            (folder / split / f"{row}.ann").write_text("\n".join(lines) + "\n")
    tree = {"data": "trees", "kind": "dependency", "hidden_size": 8}
    tasks = {"trees": tree, "words": {"data": "trees", "kind": "entities", "hidden_size": 8}}
    stage = STAGE | {"tasks": ["trees", "words"], "epochs": 8, "share_batches": True}
    stage |= {"gradient_accumulation_steps": 2, "word_dropout": 0.1, "batch_words": 8}
    changes = ALONE | {"tasks": tasks}
    bench.train(tmp_path / "teacher", **changes, stages=[stage])
    teacher = {"model": str(tmp_path / "teacher"), "tasks": ["trees"]}
    bench.train(tmp_path / "pupil", **changes, stages=[stage | {"teacher": teacher}])
    assert list(serialization.load(tmp_path / "pupil", device="cpu").tasks) == ["trees", "words"]


def _bounds(text, words):
    return [(text.index(f" {word}") + 1, text.index(f" {word}") + 1 + len(word)) for word in words]
