"""Inputs of commands: documents of any format, lazily."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

from spanloom.cli.console import WrongUse, log, warn
from spanloom.cli.left_out import LeftOut
from spanloom.document import Document
from spanloom.errors import DataError, FormatError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.formats.brat.folder import Collection

SUFFIXES = (".txt", ".ann", ".jsonl")
SHARD_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
_STDIN = "stdin"
PipedForm = Literal["text", "jsonl"]
# of files that no format has
_OTHER_SUFFIXES = (".md", ".html", ".gz", ".pdf", ".doc", ".docx", ".odt", ".rtf", ".xls", ".xlsx")


@dataclass(frozen=True, slots=True)
class PipedLines:
    """JSON lines on stdin: a document in each."""

    name: str = _STDIN

    def read(self) -> Iterator[Document]:
        """Yield the documents, each with a name, as they come; raises ``FormatError``."""
        from spanloom.formats import _files, jsonl

        return _files.name_documents(jsonl.read_stream(sys.stdin.buffer, self.name), self.name)


def parse_source(
    source: str | None, encoding: str, form: PipedForm | None = None
) -> Path | Document | PipedLines:
    """Return the source that an argument names: a path that exists, stdin for ``-``, else a text.

    ``encoding`` and ``form`` are those of stdin. Raises ``DataError`` for what looks like a path
    and is none, ``FormatError`` for bytes of another encoding, ``WrongUse`` where nothing is given
    and nothing is piped in, or ``form`` is given for what is not piped in.
    """
    if source is None and sys.stdin.isatty():
        raise WrongUse("expected a TEXT, FILE or DIR, or text in a pipe (spanloom annotate --help)")
    if source is None or source == "-":
        return PipedLines() if form == "jsonl" else _piped_text(encoding, form)
    if form is not None:
        raise WrongUse(f"--from {form} is for what is piped in; the format of a file is guessed")
    if exists(source):
        return Path(source)
    if source.endswith(SUFFIXES) or _looks_like_path(source):
        raise DataError(f"{source}: no such file or folder (to annotate it as a text, pipe it in)")
    return Document(_decode_argument(source), name="text")


def _looks_like_path(source: str) -> bool:
    """Return whether a text has no blank, and a slash or the ending of a file of documents."""
    if any(char.isspace() for char in source):
        return False
    if "/" in source:
        return True
    if "." not in source:  # no format is imported for nothing
        return False
    from spanloom.formats import _files

    endings = (*SHARD_SUFFIXES, *_OTHER_SUFFIXES, *_files.suffixes())
    return source.lower().endswith(endings)


def exists(source: str) -> bool:
    """Return whether a string names a file or folder; one too long for a path does not."""
    try:
        return bool(source) and Path(source).exists()
    except OSError:
        return False


def documents(path: Path, encoding: str, left: LeftOut | None = None) -> Iterator[Document]:
    """Yield the documents of a brat folder or .txt, or of a file of any format; logs problems.

    ``encoding`` is that of text files; JSON lines are always UTF-8. Documents of a folder that
    cannot be read are added to ``left``; without it, or where no other can be read, they are an
    error.

    Names are those of brat collections; a nameless document of a file is called by its number.
    Raises ``DataError`` for other paths and for empty folders, ``FormatError`` as readers do.
    """
    if path.is_dir():
        yield from _collection(path, encoding, left)
    elif path.suffix in (".txt", ".ann"):
        yield _one(path, encoding)
    elif not path.exists():
        raise DataError(f"{path}: no such file or folder")
    else:
        yield from read(path, guess_format(path, encoding), {}, {}, encoding)


def guess_format(path: Path, encoding: str = "utf-8") -> str:
    """Return the format that a file looks like, and log it.

    Raises ``DataError`` for none, ``FormatError`` for a file that is broken or empty.
    """
    from spanloom.formats import _files, _unrecognized

    name = _files.guess(path, encoding)
    if name is None and path.suffix == ".jsonl":
        name = "jsonl"  # its reader tells what is wrong with it
    if name is None:
        if broken := _unrecognized.problem_of(path, encoding):
            raise broken
        choices = ", ".join([_files.BRAT, *_files.names()])
        problem = f"cannot tell its format; spanloom convert --from NAME reads it ({choices})"
        raise DataError(f"{path}: {problem}; a plain text goes through a pipe or is called .txt")
    if name != "jsonl":
        log(f"{path}: read as {_files.describe(path, encoding)}")
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
        read_options = _files.sniff_options(path, input_format, encoding)
    stream = (
        _files.read(path, input_format, read_options, raw_options, encoding)
        if form != "jsonl"
        else jsonl.read(path)
    )
    yield from _files.name_documents(stream, path.stem)


def collect(root: Path) -> "Collection":
    """Return the documents of a brat folder, and log problems; ``DataError`` if there are none."""
    from spanloom.formats.brat import folder

    collection = folder.collect(root)
    if not collection.documents:
        shards = sorted(path for path in root.rglob("*") if path.is_file() and is_shard(path))
        instead = f"; shards, as {shards[0].name}, are annotated with -o OUT" if shards else ""
        raise DataError(f"{root}: no documents; looked for *.txt{instead}")
    check_one_kind(root, (path.relative_to(root) for path in root.rglob("*")))
    warn(collection.problems, root)
    return collection


def is_shard(path: PurePath) -> bool:
    """Return whether a file is called as JSON lines or Parquet, not hidden, and no note of ours."""
    from spanloom.corpora.files import NOTES

    if path.name in NOTES or path.name.startswith("."):
        return False
    return path.name.endswith(SHARD_SUFFIXES)


def is_like_shard(path: PurePath) -> bool:
    """Return whether a file that is no shard is called so that somebody may think it one.

    Examples are ``UP.JSONL``, ``x.jsonl.bz2`` and ``x.parquet.gz``.
    """
    from spanloom.corpora.files import NOTES

    if path.name in NOTES or is_shard(path):
        return False
    return not {".jsonl", ".ndjson", ".parquet"}.isdisjoint(map(str.lower, path.suffixes))


def check_one_kind(root: object, names: Iterable[PurePath]) -> None:
    """Raise ``DataError`` for a folder of texts and shards, given by the names of all its files.

    Where a text is annotated, it is a brat folder, and shards in it are ignored.
    """
    from spanloom.corpora.files import ANNOTATED, is_hidden

    texts, shards = [], []
    for path in names:
        if is_hidden(path):
            continue
        if path.suffix in ANNOTATED:
            return
        if path.suffix == ".txt":
            texts.append(path)
        elif is_shard(path):
            shards.append(path)
    if texts and shards:
        kinds = [
            f"{quantity(len(paths), kind)} ({min(paths)})"
            for paths, kind in ((texts, "text"), (shards, "shard"))
        ]
        problem = f"expected texts or shards, got {' and '.join(kinds)}"
        raise DataError(f"{root}: {problem}; keep those that are meant in a folder of their own")


def readable(collection: "Collection", encoding: str, left: LeftOut | None) -> Iterator[Document]:
    """Yield the documents of a brat folder that can be read, and log their problems.

    The others are added to ``left``; without it they are an error.
    """
    from spanloom.formats.brat.read import load

    for name, path in collection.documents:
        try:
            reading = load(path, name=name, encoding=encoding)
        except FormatError as error:
            if left is None:
                raise
            left.add(error)
            continue
        warn(reading.problems, collection.root)
        yield reading.document


def _collection(root: Path, encoding: str, left: LeftOut | None) -> Iterator[Document]:
    num_read = 0
    for document in readable(collect(root), encoding, left):
        num_read += 1
        yield document
    if not num_read:
        raise DataError(f"{root}: no document can be read")


def _one(path: Path, encoding: str) -> Document:
    from spanloom.formats.brat.read import load

    text = path.with_suffix(".txt")
    reading = load(text, encoding=encoding)
    warn(reading.problems, path.parent)
    return reading.document


def _piped_text(encoding: str, form: PipedForm | None) -> Document:
    """Return the text of stdin, its byte order mark left out; raises ``FormatError``.

    Logs how JSON lines are read if it looks like them and ``form`` is not given.
    """
    from spanloom.formats._text import decode_text

    text = decode_text(sys.stdin.buffer.read(), _STDIN, encoding).removeprefix("\ufeff")
    if form is None and _begins_with_object(text):
        log("stdin is read as one text, but begins as JSON lines do; --from jsonl reads those")
    return Document(text, name=_STDIN)


def _begins_with_object(text: str) -> bool:
    """Return whether the first line that is not blank is a JSON object."""
    text = text.lstrip()
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text.partition("\n")[0]), dict)
    except (ValueError, RecursionError):
        return False


def _decode_argument(argument: str) -> str:
    """Return a text of the command line; ``FormatError`` names the byte that is not UTF-8."""
    data = argument.encode(errors="surrogateescape")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not utf-8"
        raise FormatError("TEXT", None, problem) from error
