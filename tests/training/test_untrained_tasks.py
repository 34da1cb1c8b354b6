"""Tasks of a recipe that no stage trains."""

import json
from pathlib import Path

import pytest

from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.model.serialization import load
from spanloom.training.train import left_out_note, train, trained_part

RECIPE = Path(__file__).parents[2] / "recipes" / "tiny" / "tagging.yaml"


def plan(*settings):
    return resolve(recipes.load(RECIPE, settings), RECIPE.parent)


def test_they_are_no_part_of_the_model(tmp_path):
    """Their heads would be random, and annotate all the same."""
    some = plan("stages.0.tasks=[pos]", "stages.0.epochs=1")
    lines = []
    train(some, tmp_path / "model", lines.append, device="cpu")
    assert lines[0] == left_out_note(some)
    model = load(tmp_path / "model", device="cpu")
    assert [*model.tasks] == [*model.network.heads] == ["pos"]
    assert left_out_note(some) == "left out, as no stage trains them: chunks, semantics"
    assert recipes.loads(recipes.dumps(model.recipe)).tasks.keys() == {"pos"}
    assert left_out_note(plan()) is None
    assert trained_part(whole := plan()) is whole


def test_what_an_earlier_model_knows_stays():
    assert left_out_note(plan("stages.0.tasks=[pos]", "init_from=runs/earlier")) is None


@pytest.mark.parametrize("kept", ["a", "b"])
def test_what_only_they_read_goes_with_them(kept):
    """A recipe with a corpus or a span layer that nothing reads would be refused."""
    task = {"kind": "entities", "layer": "main"}
    raw = {
        "trunk": [{"characters": "cnn"}],
        "span_layers": [{"name": f"spans_{name}", "level": "trunk"} for name in "ab"],
        "tasks": {
            name: {**task, "data": f"all_{name}", "span_layer": f"spans_{name}"} for name in "ab"
        },
        "corpora": {f"all_{name}": [{"data": name}] for name in "ab"},
        "stages": [{"tasks": [kept]}],
    }
    recipe = recipes.loads(json.dumps(raw))
    left = recipe.without_tasks(recipe.untrained_tasks)
    again = recipes.loads(recipes.dumps(left))
    assert [*again.tasks] == [kept]
    assert [*again.corpora] == [f"all_{kept}"]
    assert [layer.name for layer in again.span_layers] == [f"spans_{kept}"]
