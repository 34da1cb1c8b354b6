"""A queue of requests and the thread that empties it; texts of several go through at once.

Each batch takes one text of each waiting request in turn, so that a small request does not wait for
all of a large one. A request whose future is cancelled is not computed any further; a batch that
nobody waits for, or that takes long for the sake of one text, is stopped and its texts go through
one by one. Where the model process is lost with a batch it is begun anew.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType

from spanloom.cancellation import Cancelled
from spanloom.errors import ModelError
from spanloom.serve.engine import Engine, Lost, Unable
from spanloom.serve.jobs import AnnotateRequest, Job, Text

_LOG = logging.getLogger("spanloom.serve")
_OVERDUE = 1.0  # seconds for which a batch may go on that is over, until its queue is not ready


class QueueFull(Exception):
    """So much waits already that a request would wait too long."""


class WorkerStopped(Exception):
    """Nothing annotates any more: it has ended, or was told to."""


class AnnotationFailed(Exception):
    """The model could not annotate a text; ``row`` is the text's among those of its request."""

    def __init__(self, row: int) -> None:
        super().__init__(f"text {row} could not be annotated")
        self.row = row


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How much may wait (requests, characters) and go through at once (texts, characters).

    ``patience`` is how many seconds a batch of several texts may take.
    """

    requests: int = 64
    queued: int = 1_000_000
    texts: int = 32
    characters: int = 8_192  # of a batch; a longer text goes alone
    patience: float = 7.5


@dataclass(slots=True)
class Tally:
    """What the thread has done since it began; nobody else writes it."""

    batches: int = 0
    texts: int = 0
    failed: int = 0
    stopped: int = 0
    lost: int = 0
    seconds: float = 0.0


class Batcher:
    """A queue and the thread that empties it; use it in a ``with``, which starts and ends both."""

    def __init__(
        self,
        engine: Engine,
        room: QueueLimits = QueueLimits(),
        *,
        on_death: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """``on_death`` is called where the engine cannot be begun, or the thread fails."""
        self.tally = Tally()
        self._engine, self._room, self._on_death, self._clock = engine, room, on_death, clock
        self._jobs: deque[Job] = deque()
        self._batch: list[Text] = []  # what is in the model's hands
        self._changed = threading.Condition()  # guards the jobs and whether more are taken
        self._is_open = self._is_warm = self._is_cut = False
        self._is_lost = False
        self._over_at: float | None = None  # when the batch under way was over
        self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)

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
        """Take no more requests, answer those that wait, and end the thread and the engine."""
        with self._changed:
            self._is_open = False
            self._changed.notify()
        self._thread.join()
        self._engine.end()

    def cut(self) -> None:
        """Take no more requests, tell those that wait that there is no answer, stop the engine."""
        self._is_cut = True
        self._end()
        self._engine.end()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken and answered: the model is warm, alive and not stuck."""
        over = self._over_at
        stuck = over is not None and self._clock() - over > _OVERDUE
        return self._is_open and self._is_warm and self._thread.is_alive() and not stuck

    @property
    def is_live(self) -> bool:
        """Whether there is, or has not been yet, a model; not while a lost one is replaced."""
        return self._thread.is_alive() and not self._is_lost

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
        """Whether so many characters more are too many, or one request more is; needs the lock.

        What is computed counts, as it has to be waited for; where there is nothing any size goes.
        """
        self._jobs = deque(each for each in self._jobs if not each.future.done())
        under_way = sum(each.size for each in self._batch if each.is_wanted)
        queued = under_way + sum(each.left for each in self._jobs)
        too_long = queued > 0 and queued + size > self._room.queued
        return too_long or len(self._jobs) >= self._room.requests

    def submit(self, wish: AnnotateRequest) -> Future[tuple[str, ...]]:
        """Put a request in the queue; its future has the spelled documents in order, or ``Failed``.

        Raises ``Full`` and ``Stopped``. What is taken gets an answer, or ``Stopped`` at the end.
        """
        job = Job(wish, wish.size)
        with self._changed:
            if not (self._is_open and self._thread.is_alive()):
                raise WorkerStopped
            if self._refuses(job.left):
                raise QueueFull
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    def _work(self) -> None:
        """Live as the thread; whatever ends it, nobody is left to wait for an answer."""
        try:
            self._begin()
            while self._fill():
                began = self._clock()
                for texts in _alike(self._batch):
                    self._answer(texts)
                self.tally.seconds += self._clock() - began
        except (Lost, ModelError):
            if not self._is_cut:
                _LOG.error("the model process cannot be begun")
        finally:
            is_told = not self._is_open
            self._end()
            if not is_told:
                self._on_death()

    def _begin(self) -> None:
        """Have the engine ready; raises ``Lost`` where that cannot be."""
        self._engine.begin()
        self._is_warm, self._is_lost = True, False

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

    def _taken(self) -> Iterator[Text]:
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

    def _answer(self, texts: Sequence[Text]) -> None:
        """Annotate texts that ask for the same at once; where that fails, each by itself."""
        texts = [each for each in texts if each.is_wanted]
        if not texts:
            return
        try:
            answers = self._annotated(texts)
        except Cancelled:
            self.tally.stopped += 1
            self._apart(texts)
        except Unable as error:
            self._apart(texts, str(error))
        except Lost:
            self._replace(texts)
        else:
            self.tally.batches += 1  # before anybody hears of it, who may ask for the tally next
            self.tally.texts += len(texts)
            for each, answer in zip(texts, answers, strict=True):
                each.job.say(each.row, answer)

    def _annotated(self, texts: Sequence[Text]) -> list[str]:
        """Have a batch annotated, unless nobody waits or it takes too long for one of several."""
        end = self._clock() + self._room.patience

        def is_over() -> bool:
            if self._over_at is None:
                late = len(texts) > 1 and self._clock() > end
                if late or not any(each.is_wanted for each in texts):
                    self._over_at = self._clock()
            return self._over_at is not None

        try:
            documents = [each.document for each in texts]
            return self._engine.annotate(texts[0].job.wish, documents, is_over)
        finally:
            self._over_at = None

    def _apart(self, texts: Sequence[Text], failure: str | None = None) -> None:
        """Annotate texts of a batch one by one, the long ones last; fail the one of a failure."""
        if len(texts) > 1:
            for each in sorted(texts, key=lambda each: each.size):
                self._answer([each])
        elif failure is not None:
            self._fail(texts[0], failure)

    def _replace(self, texts: Sequence[Text]) -> None:
        """Have a new engine and go on with a batch; raises ``Lost`` where there is none."""
        self.tally.lost += 1
        self._is_warm, self._is_lost = False, True
        if not self._is_cut:
            _LOG.error("the model process was lost with %d texts; another is begun", len(texts))
        self._begin()
        self._apart(texts, "it ended the model process")

    def _fail(self, text: Text, failure: str) -> None:
        """Answer a request whose text could not be annotated."""
        _LOG.error("a text of %d characters could not be annotated: %s", text.size, failure)
        self.tally.failed += 1
        text.job.fail(AnnotationFailed(text.row))

    def _end(self) -> None:
        """Take no more requests, and tell those that wait that there will be no answer."""
        with self._changed:
            self._is_open = False
            for job in (*(each.job for each in self._batch), *self._jobs):
                job.fail(WorkerStopped())
            self._jobs.clear()
            self._changed.notify()


def _alike(batch: Sequence[Text]) -> Iterator[list[Text]]:
    """Yield the texts that can go through at once: of the same tasks, spelled the same way."""
    groups: dict[tuple[object, ...], list[Text]] = {}
    for text in batch:
        wish = text.job.wish
        groups.setdefault((wish.tasks, wish.cuts, wish.format), []).append(text)
    yield from groups.values()
