"""Documents from the cache: the same as from the folder, and what becomes of a damaged cache."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest
import tiny

from spanloom.corpora import document_cache, folder
from spanloom.corpora.cache_dir import cache_dir
from spanloom.errors import FormatError, StorageError
from spanloom.formats import jsonl


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPANLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(document_cache, "_MIN_BYTES", 1)
    return tmp_path / "cache" / "documents"


@pytest.fixture
def corpus(tmp_path):
    return tiny.corpus(tmp_path / "corpus")


@pytest.fixture
def reads(monkeypatch):
    """How often a folder itself was read."""
    counted, read = [], folder.read
    monkeypatch.setattr(folder, "read", lambda *a, **k: counted.append(a) or read(*a, **k))
    return counted


def exact(documents):
    return repr(documents)


def test_documents_are_those_of_the_folder_without_their_lines(corpus, reads):
    wanted = folder.read(corpus, "train").documents
    first, second = (document_cache.read(corpus, "train") for _ in range(2))
    assert len(reads) == 2  # this test, and the first time
    for documents, num_problems in (first, second):
        assert exact(documents) == exact(wanted)
        assert folder.fingerprint(documents) == folder.fingerprint(wanted)
        assert num_problems == 0
        assert all(document.source is None for document in documents)


def test_problems_are_counted_as_by_the_folder(corpus, reads):
    (corpus / "train" / "train0.ann").write_text("T1\tAction 0 9999\tAdd\nno line of brat\n")
    number = len(folder.read(corpus, "train").problems)
    assert number
    assert [document_cache.read(corpus, "train")[1] for _ in range(2)] == [number] * 2
    assert len(reads) == 2


@pytest.mark.parametrize("name", ["train0.ann", "train0.txt", "annotation.conf", "new.txt"])
def test_any_other_byte_is_read_anew(corpus, reads, name):
    document_cache.read(corpus, "train")
    with (corpus / "train" / name).open("a") as stream:
        stream.write("[entities]\n" if name.endswith(".conf") else "\n")
    documents, _ = document_cache.read(corpus, "train")
    assert len(reads) == 2
    assert exact(documents) == exact(folder.read(corpus, "train").documents)


def test_a_link_that_is_added_or_points_elsewhere_is_read_anew(corpus):
    train = corpus / "train"
    for name in ("b", "c"):
        (train / name).mkdir()
        (train / name / "inner.txt").write_text(f"in {name}")
    document_cache.read(corpus, "train")
    for target in ("b", "c"):
        (train / "0link").unlink(missing_ok=True)
        (train / "0link").symlink_to(target)
        documents, _ = document_cache.read(corpus, "train")
        assert exact(documents) == exact(folder.read(corpus, "train").documents)


def test_other_code_or_another_encoding_is_another_cache(corpus, reads, monkeypatch):
    document_cache.read(corpus, "train")
    document_cache.read(corpus, "train", encoding="latin-1")
    monkeypatch.setattr(document_cache, "_code_digest", lambda: "later")
    document_cache.read(corpus, "train")
    assert len(reads) == 3


@pytest.mark.parametrize("name", ["documents.jsonl.gz", "problems.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "removed", "altered"])
def test_a_damaged_cache_is_made_anew(corpus, cache, reads, name, damage):
    wanted = document_cache.read(corpus, "train")
    (home,) = (path for path in cache.iterdir() if path.is_dir())
    raw = (home / name).read_bytes()
    if damage == "removed":
        (home / name).unlink()
    else:
        (home / name).write_bytes(raw[:-2] if damage == "cut" else raw[:-1] + b"?")
    assert document_cache.read(corpus, "train") == wanted
    assert document_cache.read(corpus, "train") == wanted
    assert len(reads) == 2


def test_documents_are_read_where_no_cache_can_be_written(corpus, cache):
    cache.parent.write_text("a file in its place")
    documents, _ = document_cache.read(corpus, "train")
    assert exact(documents) == exact(folder.read(corpus, "train").documents)


def test_documents_are_read_without_a_home(corpus, monkeypatch):
    monkeypatch.delenv("SPANLOOM_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError))
    documents, _ = document_cache.read(corpus, "train")
    assert exact(documents) == exact(folder.read(corpus, "train").documents)
    with pytest.raises(StorageError, match="SPANLOOM_CACHE"):
        cache_dir()


def test_a_folder_that_changes_while_it_is_read_is_not_kept(corpus, cache, monkeypatch):
    read = folder.read

    def slow(*arguments, **options):
        result = read(*arguments, **options)
        (corpus / "train" / "train0.txt").write_text("someone annotates it")
        return result

    monkeypatch.setattr(folder, "read", slow)
    document_cache.read(corpus, "train")
    assert not cache.exists()


def test_small_folders_and_other_formats_are_not_kept(corpus, cache, tmp_path, monkeypatch):
    lines = tmp_path / "lines"
    lines.mkdir()
    jsonl.write(lines / "train.jsonl", folder.read(corpus, "train").documents)
    document_cache.read(lines, "train")
    monkeypatch.setattr(document_cache, "_MIN_BYTES", 10**6)
    document_cache.read(corpus, "train")
    assert not cache.exists()


def test_what_cannot_be_read_is_an_error_every_time(corpus, cache):
    (corpus / "train" / "train0.txt").write_bytes(b"\xff\xfe\xfa")
    for _ in range(2):
        with pytest.raises(FormatError):
            document_cache.read(corpus, "train")
    assert not cache.exists()


def test_several_at_once_read_the_same(corpus):
    with ThreadPoolExecutor(8) as pool:
        readings = list(pool.map(lambda _: document_cache.read(corpus, "train"), range(16)))
    wanted = folder.read(corpus, "train").documents
    assert all(exact(documents) == exact(wanted) for documents, _ in readings)


_KILLED = """
import os, sys
from pathlib import Path
from spanloom.corpora import document_cache
from spanloom.formats import jsonl
document_cache._MIN_BYTES = 1
dumps, written = jsonl.dumps, []
def dies(documents):
    written.append(1)
    return os.kill(os.getpid(), 9) if len(written) == 3 else dumps(documents)
jsonl.dumps = dies
document_cache.read(Path(sys.argv[1]), "train")
"""


def test_a_killed_write_leaves_no_cache(corpus, cache, reads):
    run = subprocess.run([sys.executable, "-c", _KILLED, str(corpus)], check=False)
    assert run.returncode == -9
    wanted = folder.read(corpus, "train").documents
    for _ in range(2):
        assert exact(document_cache.read(corpus, "train")[0]) == exact(wanted)
    assert len(reads) == 2
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1
