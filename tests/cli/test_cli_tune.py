"""``spanloom tune``: biases in the recipe, the weights as they were."""

import pytest
import tiny

from spanloom.config import recipe as recipes
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training import train


@pytest.fixture
def model(tmp_path):
    """Train a tiny model without biases; its data lie beside it."""
    tiny.corpus(tmp_path / "corpus", dev=8)
    path = tiny.recipe(tmp_path, epochs=2, tune_biases=False)
    train.train(resolve(recipes.load(path), tmp_path), tmp_path / "model", print)
    return tmp_path / "model"


def test_biases_are_found_and_weights_stay(spanloom, model, tmp_path):
    said = spanloom("tune", model, "-o", tmp_path / "tuned", "--data", tmp_path)
    assert "steps: biases span" in said.stdout
    assert not recipes.load(model / "recipe.yaml").biases
    biases = recipes.load(tmp_path / "tuned" / "recipe.yaml").biases["steps"]
    assert any(biases.values())
    weights = [
        (folder / serialization.WEIGHTS).read_bytes() for folder in (model, tmp_path / "tuned")
    ]
    assert weights[0] == weights[1]
    tuned = serialization.load(tmp_path / "tuned", device="cpu", precision="fp32")
    again = spanloom("tune", tmp_path / "tuned", "-o", tmp_path / "again", "--data", tmp_path)
    assert again.stdout.splitlines()[:-1] == said.stdout.splitlines()[:-1]
    assert tuned.recipe.biases["steps"] == biases


def test_an_unknown_task_is_refused(fails, home, tmp_path):
    options = "-o", tmp_path / "tuned", "--data", home, "--task", "stps"
    assert "did you mean 'steps'" in fails("tune", home / "model", *options, code=2)
    assert not (tmp_path / "tuned").exists()


def test_too_little_gold_is_said(spanloom, home, tmp_path):
    said = spanloom("tune", home / "model", "-o", tmp_path / "tuned", "--data", home)
    assert "steps: not tuned, its dev data have too few annotations" in said.stdout


def test_the_model_itself_is_not_replaced(fails, home, tmp_path):
    model, link = home / "model", tmp_path / "link"
    link.symlink_to(model)
    before = (model / serialization.WEIGHTS).read_bytes()
    for out in (model, link, home / "corpus" / ".." / "model", model / "small"):
        assert "is the model" in fails("quantize", model, "-o", out, code=2)
        assert "is the model" in fails("tune", model, "-o", out, "--data", home, code=2)
    assert (model / serialization.WEIGHTS).read_bytes() == before
