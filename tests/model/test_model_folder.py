"""A model on disk: what is saved is what is loaded, from a folder or from the hub's cache."""

import os
import re
import shutil

import pytest
import torch
import yaml
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel

from spanloom.atomic_io import verify_folder
from spanloom.config import recipe as recipes
from spanloom.document import Document
from spanloom.errors import ModelError, RecipeError, StorageError
from spanloom.model import build, serialization
from spanloom.model.plan import resolve
from spanloom.training.train import new_model

TEXT = "add warm buffer and wash the cells .\nspin 10 ml cold water ."


def said(model):
    """A document, its scores compared too."""
    found = next(model.annotate([Document(TEXT)], ["steps", "names"]))
    return found, [getattr(each, "score", None) for each in found.annotations().values()]


def test_what_is_saved_says_the_same_to_the_last_bit(model, saved):
    loaded = serialization.load(saved, device="cpu", precision="fp32")
    assert said(loaded) == said(model)
    assert loaded.recipe == model.recipe


def test_saving_what_was_loaded_changes_no_byte(saved, tmp_path):
    serialization.save(
        serialization.load(saved, device="cpu"), tmp_path / "again", figures={"steps.span_f1": 0.5}
    )
    for name, path in verify_folder(saved).items():
        assert (tmp_path / "again" / name).read_bytes() == path.read_bytes()


def test_the_folder_holds_what_its_docstring_says(saved):
    said = set(re.findall(r"[\w-]+\.\w+", serialization.__doc__.split("\n\n")[1]))
    absent = {"trunk-0-vocabulary.txt", "plugins.json"}  # casing keeps no text and is built in
    assert set(os.listdir(saved)) == said - absent


def test_the_folder_names_no_place_of_the_encoder_in_its_configuration(saved, home):
    assert str(home) not in (saved / "config.json").read_text()


def test_weights_are_the_network(model, saved):
    there = load_file(saved / "model.safetensors")
    mine = model.network.state_dict()
    assert there.keys() == mine.keys()
    assert all(torch.equal(there[name], mine[name]) for name in mine)


def test_a_copy_is_the_same_model(saved, tmp_path):
    serialization.copy(saved, tmp_path / "copy")
    assert said(serialization.load(tmp_path / "copy")) == said(serialization.load(saved))


def test_a_model_does_not_need_the_encoder_it_came_from(saved, tmp_path, monkeypatch):
    text = (saved / "recipe.yaml").read_text()
    assert "encoder" in text
    elsewhere = tmp_path / "moved"
    shutil.copytree(saved, elsewhere)
    read = []
    for kind in (AutoConfig, AutoModel):
        monkeypatch.setattr(kind, "from_pretrained", lambda place, **_: read.append(place))
    serialization.load(elsewhere)
    assert read == []


def test_a_foreign_folder_is_never_replaced(model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    with pytest.raises(StorageError):
        serialization.save(model, tmp_path / "mine", figures={})
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]


def test_the_card_has_front_matter_tasks_and_figures(saved):
    text = (saved / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    assert yaml.safe_load(front)["library_name"] == "spanloom"
    assert "span-relation" in yaml.safe_load(front)["tags"]
    assert "| steps.span_f1 | 50.00 |" in body
    assert all(f"**{name}**" in body for name in ("steps", "names", "links"))
    assert "`Acts-on`" in body


@pytest.fixture
def hub(saved, tmp_path, monkeypatch):
    """A cache as the hub's client lays it out: links from a snapshot to blobs."""
    repo = tmp_path / "hub" / "models--ada--steps"
    snapshot = repo / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text("0" * 40)
    (repo / "blobs").mkdir()
    for row, each in enumerate(sorted(saved.iterdir())):
        shutil.copy(each, repo / "blobs" / f"{row:064}")
        (snapshot / each.name).symlink_to(f"../../blobs/{row:064}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return snapshot


def test_a_model_loads_from_the_hub_cache_by_its_id(hub, model):
    assert said(serialization.load("ada/steps", device="cpu", precision="fp32")) == said(model)


def test_a_hub_link_that_leaves_the_cache_is_refused(hub, tmp_path):
    (tmp_path / "outside").write_bytes((hub / "README.md").read_bytes())
    (hub / "README.md").unlink()
    (hub / "README.md").symlink_to(tmp_path / "outside")
    with pytest.raises(ModelError, match="README.md"):
        serialization.load("ada/steps")


def test_an_altered_blob_is_refused(hub):
    with (hub / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        last = stream.read(1)
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last[0] ^ 1]))
    with pytest.raises(ModelError, match="SHA-256"):
        serialization.load("ada/steps")


@pytest.mark.parametrize("name", ["ada/nothing", "no such/model id", "..", "a/b/c"])
def test_what_is_nowhere_is_an_error_of_one_line(hub, name):
    with pytest.raises(ModelError) as caught:
        serialization.load(name)
    assert "\n" not in str(caught.value)


def test_the_bundled_model_has_a_name_that_a_folder_may_take(saved, tmp_path, monkeypatch):
    assert serialization.digest_of(serialization.DEFAULT) == serialization.digest_of()
    monkeypatch.chdir(tmp_path)
    shutil.copytree(saved, tmp_path / serialization.DEFAULT)
    assert serialization.digest_of(serialization.DEFAULT) == serialization.digest_of(saved)


def test_a_path_is_never_looked_up_on_the_hub(tmp_path):
    with pytest.raises(ModelError, match="expected a model folder"):
        serialization.load(tmp_path / "nothing")


def test_a_window_over_the_encoders_positions_is_refused_with_its_line(home):
    cutter = build.load_tokenizer(str(home / "encoder"))
    most = 300 - len(cutter.prefix) - len(cutter.suffix)
    with pytest.raises(RecipeError, match=f"window: expected at most {most}"):
        new_model(resolve(recipes.load(home / "recipe.yaml", [f"window={most + 1}"]), home), "cpu")
    new_model(resolve(recipes.load(home / "recipe.yaml", [f"window={most}"]), home), "cpu")
