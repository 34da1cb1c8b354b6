"""The model that ships: its card is what its results make, its licence is there, its layers."""

import tomllib
from pathlib import Path

import pytest

from spanloom.atomic_io import verify_folder
from spanloom.config import recipe as recipes
from spanloom.corpora import card as cards
from spanloom.document import Document
from spanloom.glad import release
from spanloom.glad.result import load_results
from spanloom.model import serialization

ROOT = Path(__file__).parents[2]
NAME = "spanloom-en"
ROWS = ROOT / "benchmarks" / "results" / NAME


@pytest.fixture(scope="module")
def model():
    return serialization.load(device="cpu")


@pytest.fixture(scope="module")
def recipe(model):
    return model.recipe


def test_the_card_and_the_licence_are_those_of_its_results(model, recipe):
    rows = {(row.dataset, row.task): row for row in load_results(ROWS)}
    ordered = release.sort_results(recipe, rows)
    assert len(ordered) == len(rows)
    made = release.card_texts(NAME, model, release.known_cards(recipe), ordered)
    for name, text in made.items():
        assert (serialization.default() / name).read_text(encoding="utf-8") == text
    assert verify_folder(serialization.default()).keys() >= made.keys()


def test_its_licence_is_the_strictest_of_its_data_and_told_wherever_one_looks(recipe):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == f"Apache-2.0 AND {release.LICENSE.upper()}"
    for pattern in project["license-files"]:
        assert list(ROOT.glob(pattern)), pattern
    whole = (serialization.default() / serialization.LICENSE).read_text(encoding="utf-8")
    assert whole.startswith("Attribution-ShareAlike 4.0 International\n")
    assert "Section 8 -- Interpretation." in whole
    assert all(cards.load(Path(each).name).may_share_weights for each in recipe.all_sources)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "Apache-2.0" in readme
    assert "CC BY-SA 4.0" in readme


def test_its_recipe_says_of_each_task_what_the_one_to_learn_it_anew_says(recipe):
    source = recipes.load(ROOT / "recipes" / f"{NAME}.yaml")
    assert recipe.tasks == source.tasks
    assert recipe.card == source.card


def test_its_layers_have_one_name_each_and_relations_wait_to_be_asked_for(model, recipe):
    tasks = model.tasks
    assert model.layers == {name: name for name in tasks}
    assert [name for name in tasks if recipe.tasks[name].on_request] == ["relations"]
    assert tasks["relations"].unwritten == {"Other"}


@pytest.mark.slow
def test_its_relations_are_ones_and_lead_from_one_end_to_the_other(model):
    text = "The fire was caused by a short circuit. The wheel of the car is broken. She slept."
    assert "relations" not in [layer.name for layer in model(text).layers]
    (layer,) = next(model.annotate([Document(text)], ["relations"])).layers
    assert layer.name == "relations"
    label = {span.id: span.label for span in layer.spans}
    labels = {each.label for each in layer.relations}
    assert "Cause-Effect" in labels
    assert "Other" not in labels
    assert all({label[each.head], label[each.tail]} == {"e1", "e2"} for each in layer.relations)
    assert len(layer.spans) == 2 * len(layer.relations)
    assert min(span.score for span in layer.spans) >= 0.4
