"""What is passed on: small, scored as it is stored, its card true; what may not is refused."""

import json
import shutil
from types import SimpleNamespace

import pytest
import tiny
import torch

from spanloom.corpora import card as cards
from spanloom.corpora import prepare
from spanloom.errors import DataError, RecipeError
from spanloom.glad.release import release
from spanloom.model.folder import WEIGHTS, load
from spanloom.model.packing import Store

STAGE = {"tasks": ["names"], "epochs": 1, "batch": 64, "precision": "fp32"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("release")
    tasks = {"names": {"data": "corpus", "kind": "entities", "size": 16}}
    tiny.recipe(place, tasks=tasks, stages=[STAGE])
    shutil.copytree(place / "corpus/dev", place / "corpus/test")
    return place


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def carded(monkeypatch, **changes):
    """The tiny corpus has the card of another one."""
    card = cards.load("wlp").model_copy(update={"weights": True, **changes})
    monkeypatch.setattr(cards, "names", lambda: ["corpus"])
    monkeypatch.setattr(cards, "load", lambda name: card)
    monkeypatch.setattr(prepare, "already", lambda data, name: SimpleNamespace(key="k"))


def released(home, place, recipe="recipe.yaml"):
    store = Store("int8", "fp16")
    return release(home / recipe, home, place / "run", place / "out", store, lambda _: None)


def test_a_model_is_stored_small_scored_as_stored_and_described(home, tmp_path, monkeypatch):
    carded(monkeypatch, licence="CC BY 4.0")
    (row,) = released(home, tmp_path)
    assert (row.task, row.settings[0][:15]) == ("names", "stored: vectors")
    small, whole = ((tmp_path / name / WEIGHTS).stat().st_size for name in ("out", "run"))
    assert small < 0.7 * whole
    load(tmp_path / "out")  # its card is as its manifest says
    told = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"| names | corpus | CC BY 4.0 | spans {100 * row.figures['spans']:.2f} |" in told
    assert cards.load("corpus").cite in told
    assert "names, spans: `Action`" in told


def test_what_starts_from_another_model_is_not_passed_on(home, tmp_path, monkeypatch):
    carded(monkeypatch)
    said = json.loads((home / "recipe.yaml").read_text(encoding="utf-8"))
    (home / "later.yaml").write_text(json.dumps({**said, "start": "any"}), encoding="utf-8")
    with pytest.raises(RecipeError, match="starts from no other"):
        released(home, tmp_path, "later.yaml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"weights": False, "licence": "research only"}, "research only"), (None, "no dataset with")],
)
def test_what_may_not_be_passed_on_is_not_trained(home, tmp_path, monkeypatch, changes, told):
    if changes is not None:
        carded(monkeypatch, **changes)
    with pytest.raises(DataError, match=told):
        released(home, tmp_path)
    assert list(tmp_path.iterdir()) == []
