"""What is passed on: small, scored as it is stored, its card true; what may not is refused."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny
import torch

from spanloom.config import recipe as recipes
from spanloom.config.specs import CardSpec
from spanloom.corpora import card as cards
from spanloom.corpora import prepare
from spanloom.errors import DataError, NameNotFound
from spanloom.glad import release as releases
from spanloom.glad.release import rescore
from spanloom.glad.result import load_results, save
from spanloom.model import serialization
from spanloom.model.evaluation import LOG
from spanloom.model.quantization import StorageDtypes
from spanloom.model.serialization import WEIGHTS, load

STAGE = {"tasks": ["names"], "epochs": 1, "batch_words": 64, "precision": "fp32"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("release")
    tasks = {"names": {"data": "corpus", "kind": "entities", "hidden_size": 16}}
    tiny.recipe(place, tasks=tasks, stages=[STAGE])
    shutil.copytree(place / "corpus/dev", place / "corpus/test")
    return place


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def carded(monkeypatch, **changes):
    """The tiny corpus has the card of another one."""
    card = cards.load("wlp").model_copy(update={"may_share_weights": True, **changes})
    monkeypatch.setattr(cards, "names", lambda: ["corpus"])
    monkeypatch.setattr(cards, "load", lambda name: card)
    monkeypatch.setattr(prepare, "read_summary", lambda data, name: SimpleNamespace(key="k"))


def released(home, place, recipe="recipe.yaml", name="out", settings=()):
    store, run = StorageDtypes("int8", "fp16"), place / f"{name}.run"
    return releases.release(home / recipe, home, run, place / name, store, lambda _: None, settings)


def test_a_model_is_stored_small_scored_as_stored_and_described(home, tmp_path, monkeypatch):
    carded(monkeypatch, license="CC BY 4.0")
    (row,) = released(home, tmp_path)
    assert (row.task, row.settings[0][:15]) == ("names", "stored: vectors")
    small, whole = ((tmp_path / name / WEIGHTS).stat().st_size for name in ("out", "out.run"))
    assert small < 0.7 * whole
    load(tmp_path / "out")  # its card is as its manifest says
    told = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"| names | corpus | CC BY 4.0 | span_f1 {100 * row.metrics['span_f1']:.2f} |" in told
    assert cards.load("corpus").citation in told
    assert "names, spans: `Action`" in told


def test_a_released_model_is_scored_again_where_its_recipe_says_more(home, tmp_path, monkeypatch):
    carded(monkeypatch, license="CC BY 4.0")
    (row,) = released(home, tmp_path)
    save(row, tmp_path / "rows")
    out, kept = tmp_path / "out", {serialization.WEIGHTS, serialization.TOKENIZER}
    before = {name: (out / name).read_bytes() for name in kept}
    recipe = recipes.load(out / serialization.RECIPE)
    said = recipe.model_copy(update={"card": CardSpec(intended_use="Notes.")})
    serialization.rewrite(out, {serialization.RECIPE: recipes.dumps(said)})

    def rescored(names):
        return rescore(out, home, tmp_path / "rows", lambda _: None, names)

    assert rescored(None) == ()
    assert "## Intended use\n\nNotes.\n" in (out / serialization.CARD).read_text(encoding="utf-8")
    looks = Path(LOG).read_text(encoding="utf-8").splitlines()
    (again,) = rescored(["names"])
    assert (again.metrics, again.command, again.dev) == (row.metrics, row.command, row.dev)
    assert load_results(tmp_path / "rows") == [again]
    (*old, last) = Path(LOG).read_text(encoding="utf-8").splitlines()
    assert old == looks
    assert json.loads(last)["command"] == f"spanloom glad rescore {out} --tasks names"
    assert {name: (out / name).read_bytes() for name in kept} == before
    assert (
        (out / serialization.LICENSE)
        .read_text(encoding="utf-8")
        .startswith("Attribution-ShareAlike")
    )
    load(out)  # all is as its manifest says
    with pytest.raises(NameNotFound, match="name"):
        rescored(["nobody"])
    with pytest.raises(DataError, match="expected the rows of a release"):
        rescore(out, home, tmp_path / "none", lambda _: None)


def test_what_goes_on_from_a_model_tells_the_data_of_both(home, tmp_path, monkeypatch):
    carded(monkeypatch)
    monkeypatch.setattr(cards, "names", lambda: ["corpus", "twin"])
    shutil.copytree(home / "corpus", home / "twin", dirs_exist_ok=True)
    released(home, tmp_path)
    on = [f"init_from={tmp_path / 'out'}", "tasks.names.data=twin", "stages.0.epochs=0.5"]
    (row,) = released(home, tmp_path, name="later", settings=on)
    assert row.settings[1:] == tuple(on)
    assert load(tmp_path / "later").recipe.pretraining_data == ("corpus",)
    told = (tmp_path / "later" / "README.md").read_text(encoding="utf-8")
    assert told.index("- **twin**") < told.index("- **corpus**")


def test_a_release_that_fails_leaves_what_was_there(home, tmp_path, monkeypatch):
    carded(monkeypatch)
    released(home, tmp_path)
    before = (tmp_path / "out" / "README.md").read_bytes()

    def broken(*_):
        raise DataError("no room for rows")

    monkeypatch.setattr(releases, "score", broken)
    with pytest.raises(DataError, match="no room"):
        released(home, tmp_path)
    assert (tmp_path / "out" / "README.md").read_bytes() == before
    assert not list(tmp_path.glob("*.release"))


def test_what_goes_on_from_data_of_unknown_licence_is_not_passed_on(home, tmp_path, monkeypatch):
    carded(monkeypatch)
    released(home, tmp_path)
    monkeypatch.setattr(cards, "names", lambda: ["twin"])
    shutil.copytree(home / "corpus", home / "twin", dirs_exist_ok=True)
    on = [f"init_from={tmp_path / 'out'}", "tasks.names.data=twin"]
    with pytest.raises(DataError, match="corpus: no dataset with a card"):
        released(home, tmp_path, name="later", settings=on)
    assert not (tmp_path / "later").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"may_share_weights": False, "license": "research only"}, "research only"),
        (None, "no dataset with"),
    ],
)
def test_what_may_not_be_passed_on_is_not_trained(home, tmp_path, monkeypatch, changes, told):
    if changes is not None:
        carded(monkeypatch, **changes)
    with pytest.raises(DataError, match=told):
        released(home, tmp_path)
    assert list(tmp_path.iterdir()) == []
