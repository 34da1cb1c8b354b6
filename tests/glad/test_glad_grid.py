"""A grid of tiny runs: what is in each recipe, what each starts from, what is not done twice."""

import json
import shutil

import pytest
import tiny
import torch
import yaml

from spanloom.errors import NameNotFound, RecipeError
from spanloom.glad.grid import COLUMNS, read, run
from spanloom.training import train

TASKS = {
    "steps": {"data": "corpus", "kind": "relations", "hidden_size": 16, "level": "top"},
    "names": {"data": "whole", "kind": "entities", "layer": "main", "hidden_size": 16},
}
STAGE = {
    "tasks": ["steps", "names"],
    "loss_weights": {"names": 0.5},
    "epochs": 1,
    "batch_words": 64,
}
GRID = {
    "joint": "recipe.yaml",
    "single_task": {"all_tasks": ["stages.0.epochs=2"], "tasks": {"names": ["seed=5"]}},
    "fine_tuned": {"all_tasks": ["stages.0.lr.task=0.001"]},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("grid")
    tiny.recipe(
        place,
        tasks=TASKS,
        corpora={"whole": [{"data": "corpus"}]},
        levels=[
            {"name": "low", "rnn": "lstm", "hidden_size": 4},
            {"name": "top", "rnn": "gru", "hidden_size": 4, "inputs": ["low"]},
        ],
        stages=[{**STAGE, "precision": "fp32", "save_best_per_task": True, "share_batches": True}],
    )
    shutil.copytree(place / "corpus/dev", place / "corpus/test")
    return place


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(home, said, name="grid.yaml"):
    (home / name).write_text(json.dumps(said), encoding="utf-8")
    return home / name


def test_each_run_has_its_task_alone_and_what_it_needs(home, tmp_path):
    cells = {
        each.folder.name: each
        for each in read(written(home, GRID), home, tmp_path, ["embedding_dropout=0.1"]).cells
    }
    assert list(cells) == [
        "alone-steps",
        "alone-names",
        "joint",
        "steps",
        "names",
        "joint-tuned-steps",
        "joint-tuned-names",
    ]
    steps, names = cells["alone-steps"].plan.recipe, cells["alone-names"].plan.recipe
    assert (list(steps.tasks), [each.name for each in steps.levels], dict(steps.corpora)) == (
        ["steps"],
        ["low", "top"],
        {},
    )
    assert (list(names.tasks), names.levels, list(names.corpora)) == (["names"], (), ["whole"])
    assert (steps.stages[0].epochs, steps.seed, names.seed, names.embedding_dropout) == (
        2,
        1,
        5,
        0.1,
    )
    assert dict(names.stages[0].loss_weights) == {"names": 0.5}
    assert not any(
        (names.stages[0].save_best_per_task, names.stages[0].share_batches, names.init_from)
    )
    tuned = cells["joint-tuned-names"].plan.recipe
    assert (tuned.init_from, tuned.stages[0].lr.task) == (str(tmp_path / "joint"), 0.001)
    assert cells["joint"].tasks == ("steps", "names")


def test_some_runs_can_be_asked_for(home, tmp_path):
    path = written(home, GRID)
    some = read(path, home, tmp_path, only=["joint-tuned-names", "alone-steps"]).cells
    assert [each.name for each in some] == ["alone-steps", "joint-tuned-names"]
    with pytest.raises(NameNotFound, match="no run of this grid 'alone-step'; .* 'alone-steps'"):
        read(path, home, tmp_path, only=["alone-step"])


def test_a_task_may_come_to_the_joint_model_afterwards(home, tmp_path):
    more = {"late": {"data": "corpus", "kind": "entities", "hidden_size": 16}}
    cells = read(written(home, {**GRID, "extra_tasks": more}), home, tmp_path).cells
    late = {each.column: each.plan.recipe for each in cells if each.tasks == ("late",)}
    assert list(late) == ["alone", "joint-tuned"]
    assert late["joint-tuned"].init_from == str(tmp_path / "joint")
    assert not any("late" in each.plan.recipe.tasks for each in cells if each.column == "joint")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({**GRID, "joint_only": ["stps"]}, "no task 'stps'; did you mean 'steps'"),
        ({**GRID, "singel_task": {}}, "did you mean 'single_task'"),
        ({**GRID, "extra_tasks": {"names": {}}}, "recipe.yaml has a task of this name"),
        ({**GRID, "extra_tasks": {"x": {"kind": "entities"}}}, "data"),
        ({**GRID, "joint": "two.yaml"}, "expected a recipe of one stage, got 2"),
    ],
)
def test_what_is_no_grid(home, tmp_path, said, told):
    two = yaml.safe_load((home / "recipe.yaml").read_text(encoding="utf-8"))
    written(home, {**two, "stages": two["stages"] * 2}, "two.yaml")
    with pytest.raises(RecipeError, match=told):
        read(written(home, said, "wrong.yaml"), home, tmp_path)


@pytest.mark.slow
def test_a_grid_is_trained_once_and_told_as_rows(home, tmp_path, monkeypatch):
    grid = read(written(home, {**GRID, "joint_only": ["names"]}), home, tmp_path / "runs")
    said = []
    rows = list(run(grid, home, said.append))
    assert [(row.recipe, row.task) for row in rows] == [(name, "steps") for name in COLUMNS]
    assert any(line.startswith("starting from") and line.endswith("anew: nothing") for line in said)
    assert all(row.per_document_counts["span_f1"] for row in rows)
    assert len({row.key for row in rows}) == 1
    monkeypatch.setattr(train, "train", None)  # nothing is trained again
    again = list(run(read(grid.path, home, tmp_path / "runs"), home, said.append))
    assert [row.metrics for row in again] == [row.metrics for row in rows]
