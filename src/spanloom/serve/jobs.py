"""What requests ask of the model, and how far each of them has come."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from spanloom.document import Document


@dataclass(frozen=True, slots=True)
class AnnotateRequest:
    """What a request asks of the model: documents, tasks, and how the outcome is spelled.

    ``spell`` runs beside the model, so that long replies do not hold up those who knock.
    """

    documents: tuple[Document, ...]
    tasks: tuple[str, ...]
    format: Callable[[Document], str]
    cuts: bool = False

    @property
    def size(self) -> int:
        """How many characters there are to read."""
        return sum(len(each.text) for each in self.documents)

    @property
    def longest(self) -> int:
        """How many characters the longest of its texts has."""
        return max(len(each.text) for each in self.documents)


@dataclass(slots=True)
class Job:
    """A request under way: the answers it has, the row of its next text, characters to come."""

    wish: AnnotateRequest
    left: int
    future: Future[tuple[str, ...]] = field(default_factory=Future)
    answers: dict[int, str] = field(default_factory=dict)
    row: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_settled: bool = False

    @property
    def upcoming(self) -> Document:
        """The document that is taken next."""
        return self.wish.documents[self.row]

    @property
    def has_more(self) -> bool:
        """Whether there is a document to be taken."""
        return self.row < len(self.wish.documents)

    def take(self) -> "Text":
        """Return the next text, which is then on its way."""
        text = Text(self, self.row, self.upcoming)
        self.row += 1
        self.left -= text.size
        return text

    def say(self, row: int, answer: str) -> None:
        """Add the answer to a text; after the last one that was missing the request is answered."""
        self.answers[row] = answer
        rows = range(len(self.wish.documents))
        if len(self.answers) == len(rows) and self._settles():
            self.future.set_result(tuple(self.answers[row] for row in rows))

    def fail(self, error: Exception) -> None:
        """Answer the request with what went wrong, unless it is answered."""
        if self._settles():
            self.future.set_exception(error)

    def _settles(self) -> bool:
        """Whether somebody still waits for the answer; from here on nobody can cancel it.

        Who ends the server may settle a request in the moment when it is answered.
        """
        with self._lock:
            if self._is_settled or self.future.done():
                return False
            self._is_settled = True
            return self.future.set_running_or_notify_cancel()


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a request."""

    job: Job
    row: int
    document: Document

    @property
    def size(self) -> int:
        """How many characters it has."""
        return len(self.document.text)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for its answer."""
        return not self.job.future.done()
