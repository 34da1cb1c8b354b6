"""The parts of a corpus that ``spanloom annotate -o OUT`` reads, and what each becomes."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO

from spanloom.atomic_io import sha256_of
from spanloom.cli.console import WrongUse, log
from spanloom.cli.inputs import (
    SHARD_SUFFIXES,
    PipedLines,
    documents,
    guess_format,
    is_like_shard,
    is_shard,
    read,
)
from spanloom.cli.left_out import LeftOut
from spanloom.cli.outputs import JSON, PARQUET, TEXT, TXT
from spanloom.corpora.bounded_lines import bounded_lines
from spanloom.corpora.files import total_bytes, visible
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats import _files, jsonl
from spanloom.formats._text import UTF8
from spanloom.interchange.parquet import count_rows, read_parquet
from spanloom.quantity import shorten_list

_LINES, _ZIPPED, _PARQUET = SHARD_SUFFIXES


Fingerprint = Callable[[], str | None]


def no_fingerprint() -> None:
    """Return None: nothing tells versions of an input apart."""


@dataclass(slots=True)
class Shard:
    """Documents that become one output, ``target``, of the form ``to``.

    ``fingerprint`` returns what tells versions of the input apart, None if nothing does.

    ``size`` and ``position`` are bytes of the input: all, 0 if unknown, and those read so far.
    ``name`` is how the manifest calls it, "" for the only shard. ``left`` are documents of a brat
    folder that cannot be read.
    """

    read: "Callable[[Shard], Iterator[Document]]"
    target: Path
    to: str
    name: str = ""
    size: int = 0
    position: int = 0
    fingerprint: Fingerprint = no_fingerprint
    left: LeftOut = field(default_factory=LeftOut)
    _begun: Iterator[Document] | None = None

    def begin(self) -> None:
        """Read the first document now, so that mistakes show early; raises what reading raises."""
        stream = self.read(self)
        first = list(islice(stream, 1))
        self._begun = chain(first, stream)

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents, once; raises what reading raises."""
        stream, self._begun = self._begun or self.read(self), None
        return stream


Reader = Callable[[Shard], Iterator[Document]]


@dataclass(frozen=True, slots=True)
class ShardFile:
    """A file of a folder of shards: its name below that, its bytes, and what reads it.

    ``fingerprint`` is that of ``Shard``.
    """

    name: str
    size: int
    read: Reader
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class ShardFolder:
    """A folder of shards, here or in a store; ``ignored`` are files that only look like some."""

    name: str
    files: tuple[ShardFile, ...]
    ignored: tuple[str, ...] = ()

    def log_ignored(self) -> None:
        """Log which files are not read, if there are any that look as if they should be."""
        if self.ignored:
            wanted = " or ".join(SHARD_SUFFIXES)
            names = shorten_list(self.ignored)
            log(f"{self.name}: not read: {names}; expected names that end in {wanted}")


Source = Path | Document | PipedLines | ShardFolder  # what a command reads


def is_folder(source: Source) -> bool:
    """Return whether a source is a folder, here or in a store."""
    return isinstance(source, ShardFolder) or (isinstance(source, Path) and source.is_dir())


def find_shards(folder: Path) -> ShardFolder | None:
    """Return the JSON lines and Parquet files of a folder, in order; None if it has texts."""
    every_path = sorted(visible(folder))
    if any(path.suffix == TXT for path in every_path):
        return None
    paths = [path for path in every_path if is_shard(path) and path.is_file()]
    ignored = [path for path in every_path if is_like_shard(path) and path.is_file()]
    names = [path.relative_to(folder).as_posix() for path in paths]
    files = tuple(
        ShardFile(name, path.stat().st_size, read_file(path, name), partial(_hash, path))
        for name, path in zip(names, paths, strict=True)
    )
    shown = tuple(path.relative_to(folder).as_posix() for path in ignored)
    return ShardFolder(folder.name, files, shown) if files else None


def open_shards(folder: ShardFolder, out: Path, to: str | None) -> list[Shard]:
    """Return a folder's shards, each with its target below ``out``; ``to`` None keeps the form.

    Raises ``WrongUse`` for two shards with one target.
    """
    shards: dict[Path, Shard] = {}
    for file in folder.files:
        form = to or (PARQUET if file.name.endswith(_PARQUET) else JSON)
        target = out / _target_name(file.name, form)
        if target in shards:
            names = f"{shards[target].name} and {file.name}"
            raise WrongUse(f"{folder.name}: {names} would both become {target}; rename one of them")
        shards[target] = Shard(
            file.read, target, form, file.name, file.size, fingerprint=file.fingerprint
        )
    return list(shards.values())


def open_single(source: Source, out: Path, to: str, encoding: str) -> Shard:
    """Return a source that becomes one output; ``encoding`` is that of text files."""
    if isinstance(source, Document):
        return Shard(lambda _: iter([source]), out, to)
    if isinstance(source, PipedLines):
        return Shard(lambda _: source.read(), out, to)
    if isinstance(source, ShardFolder):
        size = sum(file.size for file in source.files)
        return Shard(_chained(source.files), out, to, size=size)
    if source.is_file() and is_shard(source):
        return Shard(read_file(source, source.name), out, to, size=source.stat().st_size)
    if source.is_dir():
        size = total_bytes(source.rglob(f"*{TXT}"))
        return Shard(_counting(source, encoding), out, to, size=size)
    return Shard(lambda _: documents(source, encoding), out, to, size=source.stat().st_size)


def _counting(folder: Path, encoding: str) -> Reader:
    """Return what reads the documents of a brat folder; its texts are counted."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        for document in documents(folder, encoding, shard.left):
            shard.position += len(document.text.encode(errors="surrogatepass"))
            yield document

    return read_shard


def _chained(files: Sequence[ShardFile]) -> Reader:
    """Return what reads the documents of several files, one after the other."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        before = 0
        for file in files:
            part = Shard(file.read, shard.target, shard.to)
            for document in part:
                shard.position = before + part.position
                yield document
            before += file.size

    return read_shard


def _target_name(name: str, to: str) -> str:
    """Return the name of a shard's output; JSON lines stay as they are, zipped or not."""
    if to == JSON and not name.endswith(_PARQUET):
        return name
    endings = {JSON: _LINES, PARQUET: _PARQUET, TEXT: TXT}
    return _stem(name) + endings.get(to, f".{to}")


def _stem(name: str) -> str:
    """Return the name of a shard without its suffix."""
    suffix = next(suffix for suffix in (_ZIPPED, _LINES, _PARQUET) if name.endswith(suffix))
    return name.removesuffix(suffix)


def read_file(path: Path, name: str) -> Reader:
    """Return what reads the documents of a JSON lines or Parquet file.

    Those without a name are named by ``name``, which the file has in its corpus.
    """

    def read_shard(shard: Shard) -> Iterator[Document]:
        try:
            with path.open("rb") as stream:
                position = _position(stream, path)
                named = _files.name_documents(_documents(stream, path), _stem(name))
                for number, document in enumerate(named, start=1):
                    shard.position = position(number)
                    yield document
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(str(path), None, f"cannot be read: {error}") from error

    return read_shard


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file: hashing takes little beside annotating what it holds."""
    try:
        return f"sha256:{sha256_of(path)}"
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error


def _position(stream: IO[bytes], path: Path) -> Callable[[int], int]:
    """Return what tells about how many bytes so many documents took.

    Parquet is not read from its start to its end.
    """
    if not path.name.endswith(_PARQUET):
        return lambda _: stream.tell()
    num_bytes, num_rows = path.stat().st_size, count_rows(stream, str(path))
    return lambda number: num_bytes * number // max(1, num_rows)


def _documents(stream: IO[bytes], path: Path) -> Iterator[Document]:
    if path.name.endswith(_PARQUET):
        return read_parquet(stream, str(path))
    if path.name.endswith(_ZIPPED):
        lines = bounded_lines(gzip.GzipFile(fileobj=stream).readline, str(path))
        return jsonl.read_stream(lines, str(path))
    form = guess_format(path)  # other formats are lines of JSON, too
    if form != "jsonl":
        return read(path, form, {}, {}, UTF8)
    return jsonl.read_stream(stream, str(path))
