"""A trained model teaches: what is learnt from it, what is noted, what is refused."""

import shutil

import pytest
import torch

from spanloom.errors import RecipeError
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
            "task 'names' cannot learn from a model; spans that are not given, and trees",
        ),
        (
            {"tasks": {"names": NAMES | {"kind": "dependency"}}},
            {"tasks": ["names"]},
            "task 'names' of .*model is of another kind",
        ),
        (
            {"tasks": {"names": NAMES | {"data": "fewer"}}},
            {"tasks": ["names"]},
            "task 'names' of .*model has other labels: Place",
        ),
        ({"trunk": [{"casing": 4}]}, {"tasks": ["names"]}, "its encoder cuts words into other"),
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
