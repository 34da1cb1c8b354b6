"""The parts of a corpus that ``spanloom annotate -o OUT`` reads, and what each becomes."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO

from spanloom.cli.inputs import documents, guess_format, read
from spanloom.cli.outputs import JSON, PARQUET, TEXT, TXT
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats import _files, jsonl
from spanloom.formats._text import UTF8
from spanloom.interchange.parquet import read_parquet

_LINES, _ZIPPED, _PARQUET = ".jsonl", ".jsonl.gz", ".parquet"
SUFFIXES = (_LINES, _ZIPPED, _PARQUET)


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


def find_shards(folder: Path) -> list[Path]:
    """Return the JSON lines and Parquet files of a folder, in order; none if it has texts."""
    if next(folder.rglob("*.txt"), None) is not None:
        return []
    return sorted(path for path in folder.rglob("*") if is_shard(path) and path.is_file())


def is_shard(path: Path) -> bool:
    """Return whether a file's name is that of JSON lines or Parquet, and it is not hidden."""
    return path.name.endswith(SUFFIXES) and not path.name.startswith(".")


def open_shards(paths: Iterable[Path], folder: Path, out: Path, to: str | None) -> list[Shard]:
    """Return a folder's shards, each with its target below ``out``; ``to`` None keeps the form."""
    shards = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        form = to or (PARQUET if name.endswith(_PARQUET) else JSON)
        target = out / _target_name(name, form)
        shards.append(Shard(_reader(path), target, form, name, path.stat().st_size))
    return shards


def open_single(source: Path | Document, out: Path, to: str, encoding: str) -> Shard:
    """Return a source that becomes one output; ``encoding`` is that of text files."""
    if isinstance(source, Document):
        return Shard(lambda _: iter([source]), out, to)
    if source.is_dir() and (paths := find_shards(source)):
        return Shard(_chained(paths), out, to, size=sum(path.stat().st_size for path in paths))
    if source.is_file() and is_shard(source):
        return Shard(_reader(source), out, to, size=source.stat().st_size)
    if source.is_dir():
        size = sum(path.stat().st_size for path in source.rglob(f"*{TXT}"))
        return Shard(_counting(source, encoding), out, to, size=size)
    return Shard(lambda _: documents(source, encoding), out, to, size=source.stat().st_size)


def _counting(folder: Path, encoding: str) -> "Callable[[Shard], Iterator[Document]]":
    """Return what reads the documents of a brat folder; its texts are counted."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        for document in documents(folder, encoding):
            shard.position += len(document.text.encode(errors="surrogatepass"))
            yield document

    return read_shard


def _chained(paths: Sequence[Path]) -> "Callable[[Shard], Iterator[Document]]":
    """Return what reads the documents of several files, one after the other."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        before = 0
        for path in paths:
            part = Shard(_reader(path), shard.target, shard.to)
            for document in part:
                shard.position = before + part.position
                yield document
            before += path.stat().st_size

    return read_shard


def _target_name(name: str, to: str) -> str:
    """Return the name of a shard's output; JSON lines stay as they are, zipped or not."""
    suffix = next(suffix for suffix in (_ZIPPED, _LINES, _PARQUET) if name.endswith(suffix))
    if to == JSON and suffix != _PARQUET:
        return name
    endings = {JSON: _LINES, PARQUET: _PARQUET, TEXT: TXT}
    return name.removesuffix(suffix) + endings.get(to, f".{to}")


def _reader(path: Path) -> "Callable[[Shard], Iterator[Document]]":
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
