"""What training collected, made up by someone else: refused before a network is built."""

import hashlib
import json
import math
from pathlib import Path

import pytest

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.errors import ModelError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training.train import new_model

TINY = Path(__file__).parents[2] / "recipes" / "tiny"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Untrained models of all five recipes, saved; each is made when it is first asked for."""
    place, made = tmp_path_factory.mktemp("models"), {}

    def get(name):
        if name not in made:
            made[name], _ = new_model(resolve(recipes.load(TINY / f"{name}.yaml"), TINY), "cpu")
            serialization.save(made[name], place / name, figures={})
        return place / name

    return get


def told(source, target, change):
    """Load a copy whose recipe says something else was collected; the error's text."""
    serialization.copy(source, target)
    path = target / "recipe.yaml"
    plain = recipes.to_plain(recipes.load(path))
    change(plain)
    path.write_text(yaml.dump(plain), encoding="utf-8")
    manifest = json.loads((target / "manifest.json").read_text())
    data = path.read_bytes()
    mine = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    manifest["files"]["recipe.yaml"] = mine
    (target / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError) as caught:
        serialization.load(target)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "task", "key", "value"),
    [
        ("spanbert", "sentiment", "labels", []),
        ("spanbert", "sentiment", "labels", 5),
        ("spanbert", "sentiment", "labels", ["good", "good"]),
        ("spanbert", "sentiment", "text_pairs", [1]),
        ("spex", "sentiment", "labels", []),
        ("spex", "sentiment", "labels", {"good": 1}),
        ("spex", "likeness", "min", math.nan),
        ("spex", "likeness", "max", 1e300),
        ("spex", "likeness", "step", 1e-9),
        ("spex", "likeness", "step", 0),
        ("spex", "likeness", "step", [1.0]),
        ("spex", "likeness", "min", 10**400),
        ("spex", "likeness", "min", None),
        ("spanrel", "dep", "relation_labels", []),
        ("spanrel", "dep", "roots", 1),
        ("spanrel", "steps", "attributes", ["x"]),
        ("spanrel", "steps", "attributes", {"x": [1]}),
        ("spanrel", "steps", "attributes", {"x": "abc"}),
        ("spanrel", "steps", "attributes", None),
        ("spanrel", "coref", "max_span_width", math.inf),
        ("tagging", "pos", "BIO", 7),
        ("tagging", "pos", "XYZ", ["a"]),
    ],
)
def test_what_was_not_collected_is_refused(models, tmp_path, name, task, key, value):
    def change(plain):
        plain["vocabulary"][task][key] = value

    message = told(models(name), tmp_path / "victim", change)
    assert "recipe.yaml" in message


def test_tags_that_the_weights_lack_are_refused(models, tmp_path):
    def change(plain):
        plain["sharing"] = "task-embedding"
        plain["vocabulary"]["pos"] = {"BIOES": ["a"]}

    message = told(models("tagging"), tmp_path / "victim", change)
    assert "heads.chunks" in message
    assert "expected shape" in message
