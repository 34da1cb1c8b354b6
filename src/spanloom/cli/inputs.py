"""Inputs of commands: documents of any format, lazily."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanloom.cli.console import WrongUse, log, warn
from spanloom.document import Document
from spanloom.errors import DataError, FormatError

if TYPE_CHECKING:
    from spanloom.formats.brat.folder import Collection

SUFFIXES = (".txt", ".ann", ".jsonl")


def parse_source(source: str | None) -> Path | Document:
    """Return the source that an argument names: a path that exists, stdin for ``-``, else a text.

    Raises ``DataError`` for what looks like a path and is none, ``WrongUse`` where nothing is
    given and nothing is piped in.
    """
    if source is None and sys.stdin.isatty():
        raise WrongUse("expected a TEXT, FILE or DIR, or text in a pipe (spanloom annotate --help)")
    if source is None or source == "-":
        return Document(_decode(sys.stdin.buffer.read(), "stdin"), name="stdin")
    if exists(source):
        return Path(source)
    slashed = "/" in source and not any(char.isspace() for char in source)
    if slashed or source.endswith(SUFFIXES):
        raise DataError(f"{source}: no such file or folder (to annotate it as a text, pipe it in)")
    return Document(_decode(source.encode(errors="surrogateescape"), "TEXT"), name="text")


def exists(source: str) -> bool:
    """Return whether a string names a file or folder; one too long for a path does not."""
    try:
        return bool(source) and Path(source).exists()
    except OSError:
        return False


def documents(path: Path, encoding: str) -> Iterator[Document]:
    """Yield the documents of a brat folder or .txt, or of a file of any format; logs problems.

    ``encoding`` is that of text files; JSON lines are always UTF-8.

    Names are those of brat collections; a nameless document of a file is called by its number.
    Raises ``DataError`` for other paths and for empty folders, ``FormatError`` as readers do.
    """
    if path.is_dir():
        yield from _collection(path, encoding)
    elif path.suffix in (".txt", ".ann"):
        yield _one(path, encoding)
    elif not path.exists():
        raise DataError(f"{path}: no such file or folder")
    else:
        yield from read(path, guess_format(path), {}, {}, encoding)


def guess_format(path: Path) -> str:
    """Return the format that a file looks like, and log it; raises ``DataError`` for none."""
    from spanloom.formats import _files

    name = _files.guess(path)
    if name is None and path.suffix == ".jsonl":
        name = "jsonl"  # its reader tells what is wrong with it
    if name is None:
        choices = ", ".join([_files.BRAT, *_files.names()])
        problem = f"cannot tell its format; spanloom convert --from NAME reads it ({choices})"
        raise DataError(f"{path}: {problem}")
    if name != "jsonl":
        log(f"{path}: read as {_files.describe(path)}")
    return name


def read(
    path: Path,
    form: str,
    options: Mapping[str, Any],
    raw_options: Mapping[str, str],
    encoding: str,
) -> Iterator[Document]:
    """Yield the documents of a file of a format, each with a name."""
    from spanloom.config.yaml import SourceLocation
    from spanloom.formats import _files, jsonl

    input_format = _files.load(form)
    read_options = _files.validate_format_options(
        input_format, options, SourceLocation("--reader-option")
    )
    if not options:
        read_options = _files.sniff_options(path, input_format)
        for key, value in read_options.model_dump(exclude_unset=True).items():
            log(f"{path}: {key} {value}, by its looks (--reader-option {key}=… says another)")
    stream = (
        _files.read(path, input_format, read_options, raw_options, encoding)
        if form != "jsonl"
        else jsonl.read(path)
    )
    yield from _files.name_documents(stream, path)


def collect(root: Path) -> "Collection":
    """Return the documents of a brat folder, and log problems; ``DataError`` if there are none."""
    from spanloom.formats.brat import folder

    collection = folder.collect(root)
    if not collection.documents:
        lines = sorted(root.rglob("*.jsonl"))
        instead = f"; did you mean {lines[0]}?" if lines else ""
        raise DataError(f"{root}: no documents; looked for *.txt{instead}")
    warn(collection.problems, root)
    return collection


def _collection(root: Path, encoding: str) -> Iterator[Document]:
    from spanloom.formats.brat.read import load

    for name, path in collect(root).documents:
        reading = load(path, name=name, encoding=encoding)
        warn(reading.problems, root)
        yield reading.document


def _one(path: Path, encoding: str) -> Document:
    from spanloom.formats.brat.read import load

    text = path.with_suffix(".txt")
    reading = load(text, encoding=encoding)
    warn(reading.problems, path.parent)
    return reading.document


def _decode(data: bytes, source: str) -> str:
    """Return the text, its byte order mark left out; ``FormatError`` names the wrong byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not utf-8"
        raise FormatError(source, None, problem) from error
