"""Recipes whose keys get in each other's way: names, dropped tasks, blanking beside masking."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch

from spanloom.config import recipe as recipes
from spanloom.data.instances import Instance
from spanloom.document import Document
from spanloom.errors import RecipeError
from spanloom.model.plan import resolve
from spanloom.training import batch_schedule, loop
from spanloom.training.distributed import ProcessGroup
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.train import new_model

TINY = Path(__file__).parents[2] / "recipes" / "tiny"
TASK = {"data": "corpus", "kind": "entities", "hidden_size": 16}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("odd")
    tiny.recipe(place)
    return place


def load(home, *names, **changes):
    stage = {"tasks": list(names), "epochs": 1, "batch_words": 32, "precision": "fp32"}
    stage |= changes.pop("stage", {})
    tasks = changes.pop("tasks", dict.fromkeys(names, TASK))
    return recipes.load(tiny.recipe(home, tasks=tasks, stages=[stage], **changes))


@pytest.mark.parametrize("name", ["type", "train", "keys", "forward"])
def test_a_task_or_a_level_may_not_have_a_name_that_torch_uses(home, name):
    with pytest.raises(RecipeError, match=f"tasks.{name}: the name '{name}' is taken"):
        new_model(resolve(load(home, name), home), "cpu")
    levels = [{"name": name, "hidden_size": 4}]
    with pytest.raises(RecipeError, match=f"levels.0: the name '{name}' is taken"):
        new_model(resolve(load(home, "names", levels=levels), home), "cpu")


def test_a_level_may_not_be_called_pieces(home):
    with pytest.raises(RecipeError, match="levels.0.name: 'pieces' is taken"):
        load(home, "names", levels=[{"name": "pieces", "hidden_size": 4}])


def test_a_saved_recipe_trains_again_the_tasks_that_were_dropped(home):
    model, prepared = new_model(resolve(load(home, "names", removed_tasks=["names"]), home), "cpu")
    assert list(model.tasks) == ["names"]
    assert prepared.plan.recipe.removed_tasks == ()
    assert next(model.annotate([Document("add water .")])).has_layer("main")


def test_what_is_guessed_is_the_text_whatever_is_blanked(tmp_path, monkeypatch):
    recipe = recipes.load(TINY / "spanbert.yaml", ["stages.0.word_dropout=0.9"])
    model, prepared = new_model(resolve(recipe, TINY), "cpu")
    journal = MetricsLog(tmp_path / "m", print, active=False)
    stage = loop.StageTrainer(
        loop.Run(model, prepared, tmp_path, ProcessGroup("cpu"), journal), recipe.stages[0]
    )
    (draw,) = stage.draw_epoch()[0]
    guess = model.tasks[draw.tasks[0]]
    labels, loss = [], type(guess).loss

    def noted(task, head, vectors, batch, targets):
        labels.extend(targets.masked.labels.tolist())
        return loss(task, head, vectors, batch, targets)

    monkeypatch.setattr(type(guess), "loss", noted)
    torch.manual_seed(0)
    stage.backward((draw,))
    there = {piece for unit in draw.instances for word in unit.pieces for piece in word}
    assert labels
    assert model.subword_tokenizer.unknown not in there
    assert set(labels) <= there


def test_a_text_that_is_judged_as_a_whole_counts_as_one():
    sentences = tuple((row, row + 1) for row in range(40))
    words = ((0, 1),) * 40
    alone = Instance(0, 0, words, ("a",) * 40, ((5,),) * 40, sentences, ((0, 40),))
    assert batch_schedule.TrainBatch(("tags",), (alone, alone)).num_sentences == 80
    assert (
        batch_schedule.TrainBatch(("label",), (replace(alone, wants_cls=True),) * 2).num_sentences
        == 2
    )
    assert (
        batch_schedule.TrainBatch(("tags",), (Instance(0, 0, (), (), (), (), ()),)).num_sentences
        == 1
    )


def test_the_key_that_names_an_embedder_stands_first_and_the_error_says_so():
    """A program may have sorted the keys of a recipe."""
    raw = {"trunk": [{"dropout": 0.1, "transformer": "minilm"}]}
    raw |= {"tasks": {"a": {"data": "a", "kind": "pos"}}, "stages": [{"tasks": ["a"]}]}
    problem = r"trunk.0: no embedder 'dropout' .*put 'transformer' before 'dropout'"
    with pytest.raises(RecipeError, match=problem):
        resolve(recipes.loads(json.dumps(raw)))
