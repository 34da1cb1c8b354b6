"""One thread owns the model; requests wait in a queue, and texts of several go through at once.

Each batch takes one text of each waiting request in turn, so that a small request does not wait for
all of a large one. A request whose future is cancelled is not computed any further.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType

from spanloom.document import Document
from spanloom.serve.problem import told

Annotate = Callable[[Sequence[Document], tuple[str, ...], bool], Iterable[Document]]
"""Documents, names of tasks, whether words and sentences are wanted: the documents annotated."""

_LOG = logging.getLogger("spanloom.serve")


class Full(Exception):
    """So much waits already that a request would wait too long."""


class Stopped(Exception):
    """There is no model thread: it has ended, or was told to."""


class Failed(Exception):
    """The model could not annotate a text; ``row`` is the text's among those of its request."""

    def __init__(self, row: int) -> None:
        super().__init__(f"text {row} could not be annotated")
        self.row = row


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request asks of the model: documents, tasks, and how the outcome is spelled.

    ``spell`` runs in the model thread, so that long replies do not hold up those who knock.
    """

    documents: tuple[Document, ...]
    tasks: tuple[str, ...]
    spell: Callable[[Document], str]
    cuts: bool = False

    @property
    def size(self) -> int:
        """How many characters there are to read."""
        return sum(len(each.text) for each in self.documents)


@dataclass(frozen=True, slots=True)
class Room:
    """How much may wait (requests, characters) and go through at once (texts, characters)."""

    requests: int = 64
    queued: int = 1_000_000
    texts: int = 32
    characters: int = 8_192  # of a batch; a longer text goes alone


@dataclass(slots=True)
class Tally:
    """What the model thread has done since it began; nobody else writes it."""

    batches: int = 0
    texts: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Job:
    """A request under way: the answers it has, the row of its next text, characters to come."""

    wish: Wish
    left: int
    future: Future[tuple[str, ...]] = field(default_factory=Future)
    answers: list[str] = field(default_factory=list)
    row: int = 0

    @property
    def upcoming(self) -> Document:
        return self.wish.documents[self.row]

    @property
    def has_more(self) -> bool:
        return self.row < len(self.wish.documents)

    def take(self) -> "_Text":
        """Return the next text, which is then on its way."""
        text = _Text(self, self.row, self.upcoming)
        self.row += 1
        self.left -= len(text.document.text)
        return text

    def say(self, answer: str) -> None:
        """Add the answer to the next text; after the last one the request is answered."""
        self.answers.append(answer)
        if len(self.answers) == len(self.wish.documents) and self._settles():
            self.future.set_result(tuple(self.answers))

    def fail(self, error: Exception) -> None:
        """Answer the request with what went wrong, unless it is answered."""
        if self._settles():
            self.future.set_exception(error)

    def _settles(self) -> bool:
        """Whether somebody still waits for the answer; from here on nobody can cancel it."""
        return not self.future.done() and self.future.set_running_or_notify_cancel()


@dataclass(frozen=True, slots=True)
class _Text:
    """One text of a request."""

    job: _Job
    row: int
    document: Document

    @property
    def is_wanted(self) -> bool:
        return not self.job.future.done()


class Batcher:
    """A queue and the thread that empties it; use it in a ``with``, which starts and ends both."""

    def __init__(
        self,
        annotate: Annotate,
        room: Room = Room(),
        *,
        warm: Wish,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Take the model as a function; ``warm`` is what it annotates before it is ready."""
        self.tally = Tally()
        self._annotate, self._room, self._warm, self._clock = annotate, room, warm, clock
        self._jobs: deque[_Job] = deque()
        self._batch: list[_Text] = []  # what is in the model's hands
        self._changed = threading.Condition()  # guards the jobs and whether more are taken
        self._is_open = self._is_warm = False
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)

    def __enter__(self) -> "Batcher":
        """Start the thread."""
        self._is_open = True
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more requests, answer those that wait, and end the thread."""
        with self._changed:
            self._is_open = False
            self._changed.notify()
        self._thread.join()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken by a model that is warm and alive."""
        return self._is_open and self._is_warm and self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many requests have a text that is not in the model's hands yet."""
        return len(self._jobs)

    @property
    def is_full(self) -> bool:
        """Whether no request is taken, however small it is."""
        if not self._jobs:
            return False
        with self._changed:
            return self._refuses(1)

    def _refuses(self, size: int) -> bool:
        """Whether so many characters more are too many, or one request more is; needs the lock."""
        self._jobs = deque(each for each in self._jobs if not each.future.done())
        queued = sum(each.left for each in self._jobs)
        too_long = bool(self._jobs) and queued + size > self._room.queued
        return too_long or len(self._jobs) >= self._room.requests

    def submit(self, wish: Wish) -> Future[tuple[str, ...]]:
        """Put a request in the queue; its future has the spelled documents in order, or ``Failed``.

        Raises ``Full`` and ``Stopped``. Once taken, a request is answered, even if the server ends.
        """
        job = _Job(wish, wish.size)
        with self._changed:
            if not (self._is_open and self._thread.is_alive()):
                raise Stopped
            if self._refuses(job.left):
                raise Full
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    def _work(self) -> None:
        """Live as the model thread; whatever ends it, nobody is left to wait for an answer."""
        try:
            self._spelled(self._warm, self._warm.documents)
            self._is_warm = True
            while self._fill():
                began = self._clock()
                for texts in _alike(self._batch):
                    self._answer(texts)
                self.tally.seconds += self._clock() - began
        finally:
            self._end()

    def _fill(self) -> bool:
        """Wait for texts and take a batch of them; whether there is one, or all is done."""
        with self._changed:
            self._batch = []
            while not self._batch:
                self._changed.wait_for(lambda: self._jobs or not self._is_open)
                if not self._jobs:
                    return False
                self._batch = list(self._taken())
        return True

    def _taken(self) -> Iterator[_Text]:
        """Take a text of each request in turn, as many as are let through at once."""
        texts = characters = 0
        while self._jobs and texts < self._room.texts:
            if self._jobs[0].future.done():
                self._jobs.popleft()
                continue
            characters += len(self._jobs[0].upcoming.text)
            if texts and characters > self._room.characters:
                return
            job = self._jobs.popleft()
            texts += 1
            yield job.take()
            if job.has_more:
                self._jobs.append(job)

    def _answer(self, texts: Sequence[_Text]) -> None:
        """Annotate texts that ask for the same at once; where that fails, each by itself."""
        texts = [each for each in texts if each.is_wanted]
        if not texts:
            return
        try:
            answers = self._spelled(texts[0].job.wish, [each.document for each in texts])
        except Exception as error:  # whatever one text did to the model, the others get theirs
            if len(texts) > 1:
                for each in texts:
                    self._answer([each])
            else:
                self._fail(texts[0], error)
            return
        self.tally.batches += 1  # before anybody hears of it, who may ask for the tally next
        self.tally.texts += len(texts)
        for each, answer in zip(texts, answers, strict=True):
            each.job.say(answer)

    def _spelled(self, wish: Wish, documents: Sequence[Document]) -> list[str]:
        """Annotate documents as a request wants it."""
        found = self._annotate(documents, wish.tasks, wish.cuts)
        return [wish.spell(each) for each in found]

    def _fail(self, text: _Text, error: Exception) -> None:
        """Answer a request whose text could not be annotated."""
        size = len(text.document.text)
        _LOG.error("a text of %d characters could not be annotated: %s", size, told(error))
        self.tally.failed += 1
        text.job.fail(Failed(text.row))

    def _end(self) -> None:
        """Take no more requests, and tell those that wait that there will be no answer."""
        with self._changed:
            self._is_open = False
            for job in (*(each.job for each in self._batch), *self._jobs):
                job.fail(Stopped())
            self._jobs.clear()


def _alike(batch: Sequence[_Text]) -> Iterator[list[_Text]]:
    """Yield the texts that can go through at once: of the same tasks, spelled the same way."""
    groups: dict[tuple[object, ...], list[_Text]] = {}
    for text in batch:
        wish = text.job.wish
        groups.setdefault((wish.tasks, wish.cuts, wish.spell), []).append(text)
    yield from groups.values()
