"""The encoder that recipes call minilm: its files are those that were published, or it is told."""

import importlib.util
from types import SimpleNamespace

import pytest

from spanloom.embedders import _minilm
from spanloom.errors import ModelError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of files that are not those."""
    (tmp_path / "model").mkdir()
    for name in _minilm._SHA256:
        (tmp_path / "model" / name).write_bytes(b"{}")
    found = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    return tmp_path / "model"


def test_files_that_differ_are_refused(package):
    with pytest.raises(ModelError, match=r"config\.json: expected SHA-256 953f.*, got ") as caught:
        _minilm.place()
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_is_told_of(package):
    (package / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json: cannot be read"):
        _minilm.place()


def test_files_of_these_sums_are_taken_and_read_once(package, monkeypatch):
    import hashlib

    sums = {name: hashlib.sha256(b"{}").hexdigest() for name in _minilm._SHA256}
    monkeypatch.setattr(_minilm, "_SHA256", sums)
    _minilm._check.cache_clear()
    assert _minilm.place() == str(package)
    (package / "config.json").write_bytes(b"other")
    assert _minilm.place() == str(package)
    _minilm._check.cache_clear()


def test_without_the_package_it_is_the_hubs(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _minilm.place() == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.skipif(importlib.util.find_spec(_minilm._PACKAGE) is None, reason="no such package")
def test_the_package_that_is_installed_is_the_one():
    assert _minilm.place().endswith("model")
