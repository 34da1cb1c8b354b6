"""Requests for the model, and the progress of each."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field

from spanloom.annotation.choices import Choices
from spanloom.document import Document
from spanloom.serve.replies import ReplyFormat


class ChoicesRefused(Exception):
    """The model cannot choose among the labels, or from the range, of a request; says why.

    The message may repeat labels, so only the client gets it.
    """


@dataclass(frozen=True, slots=True)
class AnnotateRequest:
    """Documents to annotate, the tasks to run, and the format of the replies.

    ``with_tokens`` adds words and sentences. ``choices`` are labels or a range in place of those
    that the tasks learnt. ``format`` runs in the model process, so long replies
    do not block new connections.
    """

    documents: tuple[Document, ...]
    tasks: tuple[str, ...]
    format: ReplyFormat
    with_tokens: bool = False
    choices: Choices | None = None

    @property
    def size(self) -> int:
        """The number of characters that the model reads."""
        return sum(map(self.count_characters, self.documents))

    @property
    def longest(self) -> int:
        """The number of characters that the model reads with the longest text."""
        return max(map(self.count_characters, self.documents))

    def count_characters(self, document: Document) -> int:
        """Return the number of characters of a text, its questions, and the labels to choose."""
        labels = self.choices.labels if self.choices else ()
        prompts = (*(query.prompt for query in document.queries), *labels)
        return len(document.text) + sum(map(len, prompts))


@dataclass(slots=True)
class Job:
    """A request in the queue: its replies so far, its next text, its characters still to start."""

    request: AnnotateRequest
    left: int
    future: Future[tuple[str, ...]] = field(default_factory=Future)
    replies: dict[int, str] = field(default_factory=dict)
    next_index: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_settled: bool = False

    @property
    def next_document(self) -> Document:
        """The document that is taken next."""
        return self.request.documents[self.next_index]

    @property
    def has_more(self) -> bool:
        """Whether a document is left to be taken."""
        return self.next_index < len(self.request.documents)

    def take(self) -> "Text":
        """Remove and return the next text."""
        text = Text(self, self.next_index, self.next_document)
        self.next_index += 1
        self.left -= text.size
        return text

    def add_reply(self, index: int, reply: str) -> None:
        """Add the reply for a text; the last missing one completes the request."""
        self.replies[index] = reply
        indices = range(len(self.request.documents))
        if len(self.replies) == len(indices) and self._settle():
            self.future.set_result(tuple(self.replies[index] for index in indices))

    def fail(self, error: Exception) -> None:
        """Fail the request, unless it is complete."""
        if self._settle():
            self.future.set_exception(error)

    def _settle(self) -> bool:
        """Return whether somebody still waits for the result; afterwards nobody can cancel it.

        The thread that ends the server may settle a request while it is being completed.
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
    index: int
    document: Document

    @property
    def size(self) -> int:
        """The number of characters that the model reads, those of questions and labels too."""
        return self.job.request.count_characters(self.document)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the reply."""
        return not self.job.future.done()
