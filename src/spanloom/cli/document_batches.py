"""Batches of documents, which are read apart from each other: of a brat folder, of JSON lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from spanloom.batching import batch_by_size
from spanloom.corpora.files import total_bytes
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats import _files, jsonl
from spanloom.formats.brat.draft import Problem
from spanloom.formats.brat.folder import Collection, collect
from spanloom.formats.brat.read import Reading, load
from spanloom.formats.brat.read import files as brat_files
from spanloom.workers.calls import Mapper

BATCH_BYTES = 250_000  # of input; a tenth of a second's work or more
Problems = tuple[Problem, ...]  # of one document


@dataclass(frozen=True, slots=True)
class BratBatch:
    """Names and paths of documents of a brat folder."""

    documents: tuple[tuple[str, Path], ...]
    encoding: str

    def read(self, problems: list[Problems], unreadable: list[FormatError]) -> Iterator[Document]:
        """Yield the documents, and list the problems of each and why others cannot be read."""
        for name, path in self.documents:
            reading = self._reading(name, path)
            if isinstance(reading, FormatError):
                unreadable.append(reading)
            else:
                problems.append(reading.problems)
                yield reading.document

    def readings(self) -> "list[Reading | FormatError]":
        """Return each document with its problems, or why it cannot be read."""
        return [self._reading(name, path) for name, path in self.documents]

    def _reading(self, name: str, path: Path) -> "Reading | FormatError":
        try:
            return load(path, name=name, encoding=self.encoding)
        except FormatError as error:
            return error


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Lines of a file of JSON lines, and the numbers of the first line and the first document."""

    path: Path
    lines: tuple[bytes, ...]
    first_line: int
    first_document: int

    def read(self, problems: list[Problems], unreadable: list[FormatError]) -> Iterator[Document]:
        """Yield the documents, of which none has problems; raises ``FormatError``."""
        stream = jsonl.read_stream(self.lines, str(self.path), first=self.first_line)
        return _files.name_documents(stream, self.path.stem, first=self.first_document)


def brat_batches(collection: Collection, encoding: str) -> Iterator[BratBatch]:
    """Yield the documents of a folder in batches."""
    for batch in batch_by_size(collection.documents, _count_bytes, BATCH_BYTES):
        yield BratBatch(tuple(batch), encoding)


@dataclass(frozen=True, slots=True)
class BratReader:
    """Reads the documents of brat folders, in other processes if that is what ``mapper`` does."""

    mapper: Mapper

    def __call__(
        self, root: Path, *, encoding: str, unreadable: list[Problem] | None
    ) -> Iterator[Reading]:
        """Yield every document, and list those that cannot be read, else raise ``FormatError``."""
        collection = collect(root)
        paths = iter(collection.documents)
        batches = brat_batches(collection, encoding)
        for outcome in chain.from_iterable(self.mapper(BratBatch.readings, batches)):
            name, _ = next(paths)
            if isinstance(outcome, Reading):
                yield outcome
            elif unreadable is None:
                raise outcome
            else:
                suffix = Path(outcome.path).suffix  # of the .txt or of an annotation file
                unreadable.append(Problem(name, outcome.line, suffix, outcome.problem))


def line_batches(path: Path) -> Iterator[LineBatch]:
    """Yield the lines of a file in batches; raises ``FormatError`` if it cannot be read."""
    first_line = first_document = 1
    try:
        with path.open("rb") as stream:
            for lines in batch_by_size(stream, len, BATCH_BYTES):
                yield LineBatch(path, tuple(lines), first_line, first_document)
                first_line += len(lines)
                first_document += sum(map(_has_document, lines))
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error


def _count_bytes(document: tuple[str, Path]) -> int:
    """Return the bytes of a document's files."""
    return total_bytes([document[1], *brat_files(document[1]).values()])


def _has_document(line: bytes) -> bool:
    """Return whether a line is not blank, as the reader of JSON lines sees it."""
    return bool(line.decode("utf-8-sig", errors="replace").strip())
