"""The encoder ``minilm``: its files are the published ones, or an error names the difference."""

import importlib.util
from types import SimpleNamespace

import pytest

from spanloom.embedders import _minilm
from spanloom.errors import ModelError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose files differ from the published ones."""
    (tmp_path / "model").mkdir()
    for name in _minilm.SHA256:
        (tmp_path / "model" / name).write_bytes(b"{}")
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    return tmp_path / "model"


def test_files_that_differ_are_refused(package):
    with pytest.raises(ModelError, match=r"config\.json: expected SHA-256 953f.*, got ") as caught:
        _minilm.locate()
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(package):
    (package / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json: cannot be read"):
        _minilm.locate()


def test_matching_files_are_accepted_and_read_once(package, monkeypatch):
    import hashlib

    sums = {name: hashlib.sha256(b"{}").hexdigest() for name in _minilm.SHA256}
    monkeypatch.setattr(_minilm, "SHA256", sums)
    _minilm.check_files.cache_clear()
    assert _minilm.locate() == str(package)
    (package / "config.json").write_bytes(b"other")
    assert _minilm.locate() == str(package)
    _minilm.check_files.cache_clear()


def test_without_the_package_it_is_the_hub_id(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _minilm.locate() == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.skipif(importlib.util.find_spec(_minilm.PACKAGE) is None, reason="no such package")
def test_the_installed_package_has_the_published_files():
    assert _minilm.locate().endswith("model")
