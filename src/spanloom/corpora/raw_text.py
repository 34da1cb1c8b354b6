"""Raw text for pre-training, read as a stream: a line is a paragraph, a blank one ends a document.

Files are ``*.txt`` and ``*.txt.gz``, nested to any depth; so is a single ``.jsonl`` file of
documents, whose layers (of names, of noun phrases) masking may read.
"""

import gzip
import hashlib
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spanloom.atomic_io import sha256_of
from spanloom.corpora import files
from spanloom.corpora.bounded_lines import bounded_lines
from spanloom.corpora.splits import find
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats import jsonl

SUFFIXES = (".txt", ".txt.gz")
_LINES = f".{files.LINES}"
_MAX_CHARACTERS = 1_000_000  # of a document in memory; a longer one is read as several
_MAX_LINE = 100_000  # characters of a paragraph; a longer line is read as several
_EXCLUDED = re.compile(r"(?P<file>[^:]+)(:(?P<first>\d+)(-(?P<last>\d+))?)?")


def is_raw_text(path: Path) -> bool:
    """Whether a path is read as a stream: raw text without splits, or one file of JSON lines.

    Splits are both train and dev: a folder of manuals for training is no split.
    """
    if path.is_file():
        return path.name.endswith((*SUFFIXES, _LINES))
    texts, others = _texts_and_others(path)
    return bool(texts) and not others


def check_alone(path: Path) -> None:
    """Raise ``DataError`` for a folder of raw text and JSON lines, of which one is left out."""
    texts, others = _texts_and_others(path)
    if texts and others and all(name.endswith(_LINES) for name in others):
        both = f"{min(texts)} and {min(others)}"
        raise DataError(f"{path}: expected raw text alone or documents alone, got {both}")


def _texts_and_others(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of a folder's files that are called as raw text, and as documents.

    There are none in what is no folder, or has splits.
    """
    if not path.is_dir() or {"train", "dev"} <= find(path).keys():
        return [], []
    names = [file.name for file in files.visible(path) if file.is_file()]
    documents = (*files.ANNOTATED, _LINES)
    return (
        [name for name in names if name.endswith(SUFFIXES)],
        [name for name in names if name.endswith(documents)],
    )


def text_files(path: Path) -> tuple[Path, ...]:
    """Return the files of a path, sorted; hidden ones and those of hidden folders are left out."""
    if path.is_file():
        return (path,)
    visible = files.visible(path)
    return tuple(
        sorted(file for file in visible if file.name.endswith(SUFFIXES) and file.is_file())
    )


def stem(file: Path) -> str:
    """Return a file's name without the endings of raw text."""
    return file.name.removesuffix(".gz").removesuffix(".txt").removesuffix(_LINES)


def fingerprint(paths: Sequence[Path]) -> str:
    """Return the SHA-256 (hex) of the names and bytes of all files; raises ``DataError``."""
    total = hashlib.sha256()
    for path in paths:
        for file in text_files(path):
            try:
                digest = sha256_of(file)
            except OSError as error:
                raise DataError(f"{file}: cannot be read: {error.strerror}") from error
            total.update(f"{file.name} {digest}\n".encode())
    return total.hexdigest()


def stream(paths: Sequence[Path], exclude: Collection[str] = ()) -> Iterator[Document]:
    """Yield the documents of all files, named ``FILE:NUMBER`` from 1.

    ``exclude`` lists what is left out: ``FILE`` without its endings, ``FILE:3`` or ``FILE:3-9``.
    Raises ``DataError`` for what cannot be read, for an entry that names no file, and at the end
    for one that names no document.
    """
    text = [file for path in paths for file in text_files(path)]
    excluded = _excluded(exclude, {stem(file) for file in text})
    numbered = {name: ranges for name, ranges in excluded.items() if None not in ranges}
    unseen = {(name, numbers) for name, ranges in numbered.items() for numbers in ranges if numbers}
    for file in text:
        name = stem(file)
        left_out = excluded.get(name, ())
        if None in left_out:
            continue
        for number, document in _documents(file):
            matching = {(name, numbers) for numbers in left_out if numbers and number in numbers}
            unseen -= matching
            if not matching:
                yield document
    for name, numbers in unseen:
        span = f"{numbers[0]}-{numbers[-1]}"
        raise DataError(f"exclude: {name}:{span}: expected numbers of documents, {name} has fewer")


def _excluded(entries: Collection[str], stems: Collection[str]) -> Mapping[str, list[range | None]]:
    """Return the numbers of the documents to leave out by file; None for all of them."""
    excluded: dict[str, list[range | None]] = {}
    for entry in entries:
        match = _EXCLUDED.fullmatch(entry)
        if match is None or match["file"] not in stems:
            choices = ", ".join(sorted(stems)[:5])
            raise DataError(
                f"exclude: expected FILE, FILE:3 or FILE:3-9 of the files there "
                f"({choices}{', …' if len(stems) > 5 else ''}), got {entry!r:.60}"
            )
        numbers = None
        if match["first"]:
            first = int(match["first"])
            numbers = range(first, int(match["last"] or first) + 1)
            if not numbers:
                raise DataError(f"exclude: expected FILE:3-9, the smaller first, got {entry!r:.60}")
        excluded.setdefault(match["file"], []).append(numbers)
    return excluded


def _documents(file: Path) -> Iterator[tuple[int, Document]]:
    """Yield the number and the document of each part of a file."""
    if file.name.endswith(_LINES):
        for number, document in enumerate(jsonl.read(file), 1):
            yield number, replace(document, name=f"{stem(file)}:{number}")
        return
    number, paragraphs, size = 1, list[str](), 0
    is_open = False  # whether the document with this number has begun
    for line in map(str.strip, _parts_of_lines(file)):
        if line:
            paragraphs.append(line)
            size += len(line) + 1
            is_open = True
        if paragraphs and (not line or size > _MAX_CHARACTERS):
            yield number, Document("\n".join(paragraphs), name=f"{stem(file)}:{number}")
            paragraphs, size = [], 0
        if is_open and not line:
            number, is_open = number + 1, False
    if paragraphs:
        yield number, Document("\n".join(paragraphs), name=f"{stem(file)}:{number}")


def _parts_of_lines(file: Path) -> Iterator[str]:
    """Yield the lines of a text, of a very long line several parts."""
    for line in text_lines(file):
        start = 0
        while len(line) - start > _MAX_LINE:
            end = start + _MAX_LINE
            blank = line.rfind(" ", start, end)
            cut = end if blank < 0 else blank + 1
            yield line[start:cut]
            start = cut
        yield line[start:]


def text_lines(file: Path) -> Iterator[str]:
    """Yield the lines of a text; raises ``DataError``, ``FormatError`` as ``bounded_lines``."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8", newline=None) as text:
            yield from bounded_lines(text.readline, str(file)) if file.suffix == ".gz" else text
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: expected a text in UTF-8: {error}") from error
