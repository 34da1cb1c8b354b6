"""A small model with random weights, and the folder it is saved in."""

import pytest
import tiny
import torch

from spanloom.config import recipe as recipes
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training.train import new_model

TASKS = {
    "steps": {"data": "corpus", "kind": "relations", "hidden_size": 16},
    "names": {"data": "corpus", "kind": "entities", "hidden_size": 16},
    "links": {"data": "corpus", "kind": "relations", "gold_spans": True, "hidden_size": 16},
}


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    tiny.recipe(place, tasks=TASKS, trunk=[{"transformer": str(place / "encoder")}, {"casing": 4}])
    return place


@pytest.fixture(scope="session")
def model(home):
    """Weights so large that it says much, and different things of different texts."""
    made, _ = new_model(resolve(recipes.load(home / "recipe.yaml"), home), "cpu")
    torch.manual_seed(3)
    with torch.no_grad():
        for each in made.network.heads.parameters():
            each.normal_(std=0.7)
    return made


@pytest.fixture(scope="session")
def saved(home, model):
    serialization.save(model, home / "saved", figures={"steps.span_f1": 0.5})
    return home / "saved"
