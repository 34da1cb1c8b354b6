"""The parts of a corpus that ``spanloom annotate -o OUT`` reads, and what each becomes."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO

from spanloom.cli.console import WrongUse
from spanloom.cli.inputs import SHARD_SUFFIXES, documents, guess_format, is_shard, read
from spanloom.cli.outputs import JSON, PARQUET, TEXT, TXT
from spanloom.corpora.files import total_bytes
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats import _files, jsonl
from spanloom.formats._text import UTF8
from spanloom.interchange.parquet import read_parquet

_LINES, _ZIPPED, _PARQUET = SHARD_SUFFIXES


@dataclass(slots=True)
class Shard:
    """Documents that become one output, ``target``, of the form ``to``.

    ``size`` and ``position`` are bytes of the input: all, 0 if unknown, and those read so far.
    ``name`` is how the manifest calls it, "" for the only shard.
    """

    read: "Callable[[Shard], Iterator[Document]]"
    target: Path
    to: str
    name: str = ""
    size: int = 0
    position: int = 0
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
    """A file of a folder of shards: its name below that, its bytes, and what reads it."""

    name: str
    size: int
    read: Reader


@dataclass(frozen=True, slots=True)
class ShardFolder:
    """A folder of shards, here or in a store."""

    name: str
    files: tuple[ShardFile, ...]


Source = Path | Document | ShardFolder  # what a command reads


def is_folder(source: Source) -> bool:
    """Return whether a source is a folder, here or in a store."""
    return isinstance(source, ShardFolder) or (isinstance(source, Path) and source.is_dir())


def find_shards(folder: Path) -> ShardFolder | None:
    """Return the JSON lines and Parquet files of a folder, in order; None if it has texts."""
    if next(folder.rglob("*.txt"), None) is not None:
        return None
    paths = sorted(path for path in folder.rglob("*") if is_shard(path) and path.is_file())
    files = (
        ShardFile(path.relative_to(folder).as_posix(), path.stat().st_size, read_file(path))
        for path in paths
    )
    return ShardFolder(folder.name, tuple(files)) if paths else None


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
        shards[target] = Shard(file.read, target, form, file.name, file.size)
    return list(shards.values())


def open_single(source: Source, out: Path, to: str, encoding: str) -> Shard:
    """Return a source that becomes one output; ``encoding`` is that of text files."""
    if isinstance(source, Document):
        return Shard(lambda _: iter([source]), out, to)
    if isinstance(source, ShardFolder):
        size = sum(file.size for file in source.files)
        return Shard(_chained(source.files), out, to, size=size)
    if source.is_file() and is_shard(source):
        return Shard(read_file(source), out, to, size=source.stat().st_size)
    if source.is_dir():
        size = total_bytes(source.rglob(f"*{TXT}"))
        return Shard(_counting(source, encoding), out, to, size=size)
    return Shard(lambda _: documents(source, encoding), out, to, size=source.stat().st_size)


def _counting(folder: Path, encoding: str) -> Reader:
    """Return what reads the documents of a brat folder; its texts are counted."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        for document in documents(folder, encoding):
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
    suffix = next(suffix for suffix in (_ZIPPED, _LINES, _PARQUET) if name.endswith(suffix))
    if to == JSON and suffix != _PARQUET:
        return name
    endings = {JSON: _LINES, PARQUET: _PARQUET, TEXT: TXT}
    return name.removesuffix(suffix) + endings.get(to, f".{to}")


def read_file(path: Path) -> Reader:
    """Return what reads the documents of a JSON lines or Parquet file, each with a name."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        try:
            with path.open("rb") as stream:
                for document in _files.name_documents(_documents(stream, path), path):
                    shard.position = stream.tell()
                    yield document
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(str(path), None, f"cannot be read: {error}") from error

    return read_shard


def _documents(stream: IO[bytes], path: Path) -> Iterator[Document]:
    if path.name.endswith(_PARQUET):
        return read_parquet(stream, str(path))
    if path.name.endswith(_ZIPPED):
        return jsonl.read_stream(gzip.GzipFile(fileobj=stream), str(path))
    form = guess_format(path)  # other formats are lines of JSON, too
    if form != "jsonl":
        return read(path, form, {}, {}, UTF8)
    return jsonl.read_stream(stream, str(path))
