"""What ``convert`` does with a batch of documents, in whatever process, and with all results."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from spanloom.atomic_io import write_chunks
from spanloom.cli.console import log, warn
from spanloom.cli.document_batches import BratBatch, LineBatch, Problems
from spanloom.cli.left_out import LeftOut
from spanloom.cli.outputs import write_configuration
from spanloom.document import Document, Layer
from spanloom.errors import FormatError, SpanloomError
from spanloom.formats import jsonl
from spanloom.formats._base import count_queries_and_scores
from spanloom.formats.brat.conf_from_documents import TypeCollector
from spanloom.formats.brat.save import save
from spanloom.workers.calls import Mapper

UNREAD = "lines that were not read"

T = TypeVar("T")
Batch = BratBatch | LineBatch


@dataclass(frozen=True, slots=True)
class BatchResult(Generic[T]):
    """What a batch became, the problems of its documents, and the error that ended it.

    Documents that are ``unreadable`` are not in it.
    """

    content: T | None
    problems: list[Problems]
    unreadable: list[FormatError]
    error: SpanloomError | None


@dataclass(slots=True)
class SavedDocuments:
    """Documents that were saved as brat files: number, types, and what the files cannot hold."""

    count: int = 0
    types: TypeCollector = field(default_factory=TypeCollector)
    lost: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document) -> None:
        """Count a document, and what brat drops: scores, line breaks in spans, doubles."""
        self.count += 1
        self.types.add(document)
        self.lost.update(what for what in count_queries_and_scores(document) if what == "scores")
        for layer in document.layers:
            breaks = (
                f"spans over line breaks, which are parted there, of layer {layer.name}"
                for span in layer.spans
                if any({"\n", "\r"} & {*document.text[a:b]} for a, b in span.fragments)
            )
            self.lost.update(breaks)
            self.lost["equivalences that share members, which are one there"] += _num_united(layer)
        repeated = len(document.meta) - len(set(document.meta))
        self.lost["values of the document that it has twice"] += repeated
        self.lost = +self.lost

    def merge(self, other: "SavedDocuments") -> None:
        """Add documents that another process saved."""
        self.count += other.count
        self.types.merge(other.types)
        self.lost.update(other.lost)


def _num_united(layer: Layer) -> int:
    """Return how many equivalences become a part of another one with the same label."""
    members = [
        {(equivalence.label, member) for member in equivalence.members}
        for equivalence in layer.equivalences
    ]
    seen: set[tuple[str, str]] = set()
    united = 0
    for own in members:
        united += bool(own & seen)
        seen |= own
    return united


@dataclass(frozen=True, slots=True)
class BratSaver:
    """Saves batches below the folder ``out``."""

    out: Path

    def __call__(self, batch: Batch) -> BatchResult[SavedDocuments]:
        """Save the documents of a batch."""
        return _use(batch, self.save)

    def save(self, documents: Iterable[Document]) -> SavedDocuments:
        """Save documents; raises ``StorageError`` and ``DocumentError``."""
        saved = SavedDocuments()
        for document in documents:
            saved.add(document)
            save(document, self.out)
        return saved


def to_documents(batch: Batch) -> BatchResult[list[Document]]:
    """Read the documents of a batch."""
    return _use(batch, list)


def to_lines(batch: Batch) -> BatchResult[bytes]:
    """Turn the documents of a batch into JSON lines."""
    return _use(batch, lambda documents: jsonl.dumps(documents).encode())


def write_lines(
    mapper: Mapper, batches: Iterable[Batch], source: Path, out: Path, left: LeftOut
) -> Counter[str]:
    """Write batches as one file of JSON lines, which hold all that was read; return what was not.

    Raises what ``contents`` raises.
    """
    lost: Counter[str] = Counter()
    write_chunks(out, contents(mapper(to_lines, batches), source, lost, left))
    log(f"written to {out}")
    return lost


def save_batches(
    mapper: Mapper, batches: Iterable[Batch], source: Path, out: Path, left: LeftOut
) -> SavedDocuments:
    """Save batches as a brat collection; raises what ``contents`` raises, and ``StorageError``.

    Lines that were not read stay in it as they are.
    """
    saved = SavedDocuments()
    for part in contents(mapper(BratSaver(out), batches), source, Counter(), left):
        saved.merge(part)
    write_configuration(saved.types.config(), saved.count, out, source)
    return saved


def contents(
    results: Iterable[BatchResult[T]], source: Path, lost: Counter[str], left: LeftOut
) -> Iterator[T]:
    """Yield what the batches became; logs their problems, raises the error that ended one.

    Counts in ``lost`` the lines of brat files that were not read, and adds documents of a folder
    that cannot be read to ``left``. Outside a folder, or if no other is read, they are an error.
    """
    root = source if source.is_dir() else source.parent
    first_error: FormatError | None = None
    num_read = 0
    for result in results:
        for problems in result.problems:
            warn(problems, root)
            lost.update(UNREAD for problem in problems if problem.kept and problem.line)
        for error in result.unreadable:
            if not source.is_dir():
                raise error
            left.add(error)
            first_error = first_error or error
        if result.error is not None:
            raise result.error
        assert result.content is not None
        num_read += len(result.problems)
        yield result.content
    if first_error is not None and not num_read:
        raise first_error


def _use(batch: Batch, use: Callable[[Iterator[Document]], T]) -> BatchResult[T]:
    problems: list[Problems] = []
    unreadable: list[FormatError] = []
    try:
        return BatchResult(use(batch.read(problems, unreadable)), problems, unreadable, None)
    except SpanloomError as error:
        return BatchResult(None, problems, unreadable, error)
