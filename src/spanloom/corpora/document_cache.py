"""A cache on disk of large brat folders as JSON lines, which are read in half the time.

Its name follows from all files of a folder, their encoding and the code that reads them. It is
written completely or not at all; one that is damaged is made anew, and where none can be written
documents are read without. Trainings that start at once may both write it: its content is the same.
"""

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from spanloom.atomic_io import verify_folder, write_folder
from spanloom.corpora import folder
from spanloom.corpora.cache_dir import cache_dir
from spanloom.corpora.files import total_bytes
from spanloom.document import Document
from spanloom.errors import DataError, FormatError, ModelError, StorageError
from spanloom.formats import _files, jsonl
from spanloom.formats._text import UTF8

_MIN_BYTES = 1_000_000  # smaller folders are read in a second
_ANNOTATED = ".ann"
_LINES, _PROBLEMS = "documents.jsonl.gz", "problems.json"
_READERS = (
    *("document.py", "columns.py", "annotation_columns.py", "annotation_ids.py"),
    *("annotation", "corpora", "formats", "tokenization.py"),
)  # of this package

Reading = tuple[tuple[Document, ...], int]  # documents, and how many problems their files have


@folder.pause_gc()
def read(path: Path, split: str, *, encoding: str = UTF8) -> Reading:
    """Return the documents of a split without their sources, and the number of problems.

    Raises ``DataError`` and ``FormatError`` as ``folder.read`` does.
    """
    root = folder.split_path(path, split, encoding)
    paths = sorted(root.rglob("*")) if root.is_dir() else []
    if total_bytes(paths) < _MIN_BYTES or all(path.suffix != _ANNOTATED for path in paths):
        return _without_sources(folder.read(path, split, encoding=encoding))
    key = _key(root, paths, encoding)
    cached = _load(key)
    if cached is not None:
        return cached
    corpus = folder.read(path, split, encoding=encoding)
    reading = _without_sources(corpus)
    is_unchanged = key == _key(root, sorted(root.rglob("*")), encoding)  # by whoever annotates it
    if corpus.formats == (_files.BRAT,) and is_unchanged:
        with suppress(StorageError, OSError):
            _save(key, reading)
    return reading


def _without_sources(corpus: folder.Corpus) -> Reading:
    """Return a corpus without the raw lines of its files, which take a third of the memory."""
    documents = tuple(
        replace(document, source=None) if document.source else document
        for document in corpus.documents
    )
    return documents, len(corpus.problems)


def _key(root: Path, paths: Sequence[Path], encoding: str) -> str:
    """Return the name of a cache: a hash of all that its content depends on."""
    content = _code_digest(), encoding, _digest(root, paths)
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]


@cache
def _code_digest() -> str:
    """Return the hash of the code that reads documents."""
    package = Path(__file__).parents[1]
    parts = [package / name for name in _READERS]
    return _digest(
        package, [file for part in parts for file in (part, *sorted(part.rglob("*.py")))]
    )


def _digest(root: Path, paths: Sequence[Path]) -> str:
    """Return the SHA-256 (hex) of the names and bytes of files and the targets of links.

    Raises ``DataError``.
    """
    total = hashlib.sha256()
    for path in paths:
        try:
            target = os.readlink(path) if path.is_symlink() else ""
            content = path.read_bytes() if path.is_file() else b""
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        name = path.relative_to(root).as_posix()
        total.update(repr((name, target, hashlib.sha256(content).hexdigest())).encode())
    return total.hexdigest()


def _home(key: str) -> Path:
    return cache_dir() / "documents" / key


def _save(key: str, reading: Reading) -> None:
    home, (documents, num_problems) = _home(key), reading
    home.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(home, ignore_errors=True)  # damaged, or another training has just made it
    with write_folder(home) as staging:
        with gzip.open(staging / _LINES, "wb", compresslevel=1) as stream:
            for document in documents:
                stream.write(jsonl.dumps([document]).encode())
        (staging / _PROBLEMS).write_text(json.dumps(num_problems), encoding="utf-8")


def _load(key: str) -> Reading | None:
    """Return what a cache holds; None if it is not there, or damaged."""
    try:
        home = _home(key)
        verify_folder(home)
        with gzip.open(home / _LINES) as stream:
            documents = tuple(jsonl.read_stream(stream, str(home / _LINES)))
        return documents, json.loads((home / _PROBLEMS).read_bytes())
    except (ModelError, FormatError, StorageError, OSError):
        return None
