"""Queues of requests and the threads that empty them; texts of several requests share a batch.

Each batch takes one text of each waiting request in turn, so a small request does not wait for all
of a large one. A cancelled request is not computed any further. A batch that nobody waits for, or
that one text makes slow, is stopped, and its texts are annotated one by one. If the model process
is lost, another is started.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from dataclasses import astuple, dataclass
from time import perf_counter

from spanloom.cancellation import Cancelled
from spanloom.errors import ModelError
from spanloom.serve.engine import BatchFailed, Engine, ProcessLost
from spanloom.serve.jobs import AnnotateRequest, Job, Text

MAX_SHORT = 2_000  # characters of a text that is annotated in a moment, even as one sentence
_OVERDUE = 1.0  # seconds for which a stopped batch may run on until its queue is not ready
_LOG = logging.getLogger("spanloom.serve")


class QueueFull(Exception):
    """So many requests wait that another would wait too long."""


class WorkerStopped(Exception):
    """Nothing is annotated any more."""


class AnnotationFailed(Exception):
    """The model could not annotate a text; ``index`` is the text's position in its request."""

    def __init__(self, index: int) -> None:
        super().__init__(f"text {index} could not be annotated")
        self.index = index


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits of what waits (requests, queued characters) and of a batch (texts, characters).

    ``patience`` is how many seconds a batch of several texts may take.
    """

    requests: int = 64
    queued: int = 1_000_000
    texts: int = 32
    characters: int = 8_192  # a longer text is a batch of its own
    patience: float = 7.5


@dataclass(slots=True)
class Tally:
    """Counts of what the thread has done; no other thread writes them."""

    batches: int = 0
    texts: int = 0
    failed: int = 0
    stopped: int = 0
    lost: int = 0
    seconds: float = 0.0


class Batcher(AbstractContextManager["Batcher"]):
    """A queue and its thread; use it in a ``with``, which starts and ends both.

    The end takes no more requests, answers those that wait, and ends the thread and the engine.
    """

    def __init__(
        self,
        engine: Engine,
        limits: QueueLimits = QueueLimits(),
        *,
        on_death: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """``on_death`` is called if the engine cannot be started, or the thread fails."""
        self.tally = Tally()
        self._engine, self._limits, self._on_death, self._clock = engine, limits, on_death, clock
        self._jobs: deque[Job] = deque()
        self._batch: list[Text] = []  # under way
        self._changed = threading.Condition()  # guards the jobs and ``_is_open``
        self._is_open = self._is_warm = self._is_aborted = self._is_lost = False
        self._over_at: float | None = None  # when the batch under way was stopped
        self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)

    def __enter__(self) -> "Batcher":
        """Start the thread."""
        self._is_open = True
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the thread and the engine when all requests are answered."""
        with self._changed:
            self._is_open = False
            self._changed.notify()
        self._thread.join()
        self._engine.end()

    def abort(self) -> None:
        """Take no more requests, fail those that wait, end the engine."""
        self._is_aborted = True
        self._close()
        self._engine.end()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken and answered: the model is warm, alive and not stuck."""
        over_at = self._over_at
        is_stuck = over_at is not None and self._clock() - over_at > _OVERDUE
        return self._is_open and self._is_warm and self._thread.is_alive() and not is_stuck

    @property
    def is_live(self) -> bool:
        """Whether a model exists or is started for the first time, not replaced after a loss."""
        return self._thread.is_alive() and not self._is_lost

    @property
    def waiting(self) -> int:
        """The number of requests with a text that is not under way."""
        return len(self._jobs)

    @property
    def is_full(self) -> bool:
        """Whether no request is taken, of whatever size."""
        if not self._jobs:
            return False
        with self._changed:
            return self._exceeds(1)

    def _exceeds(self, size: int) -> bool:
        """Whether a request of ``size`` characters exceeds a limit; the caller holds the lock.

        The batch under way counts, too. An empty queue takes any size.
        """
        self._jobs = deque(job for job in self._jobs if not job.future.done())
        under_way = sum(text.size for text in self._batch if text.is_wanted)
        queued = under_way + sum(job.left for job in self._jobs)
        is_too_long = queued > 0 and queued + size > self._limits.queued
        return is_too_long or len(self._jobs) >= self._limits.requests

    def submit(self, request: AnnotateRequest) -> Future[tuple[str, ...]]:
        """Queue a request; its future has the formatted documents in order.

        The future may raise ``AnnotationFailed`` or ``WorkerStopped``. Raises ``QueueFull`` and
        ``WorkerStopped``.
        """
        job = Job(request, request.size)
        with self._changed:
            if not (self._is_open and self._thread.is_alive()):
                raise WorkerStopped
            if self._exceeds(job.left):
                raise QueueFull
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    def _work(self) -> None:
        """Run the thread; at its end, fail all requests that still wait."""
        try:
            self._begin()
            while self._fill():
                start = self._clock()
                for texts in _compatible(self._batch):
                    self._answer(texts)
                self.tally.seconds += self._clock() - start
        except (ProcessLost, ModelError):
            if not self._is_aborted:
                _LOG.error("the model process cannot be begun")
        finally:
            is_expected = not self._is_open
            self._close()
            if not is_expected:
                self._on_death()

    def _begin(self) -> None:
        """Start the engine; raises ``ProcessLost``."""
        self._engine.begin()
        self._is_warm, self._is_lost = True, False

    def _fill(self) -> bool:
        """Wait for texts and take a batch of them; return False at the end."""
        with self._changed:
            self._batch = []
            while not self._batch:
                self._changed.wait_for(lambda: self._jobs or not self._is_open)
                if not self._jobs:
                    return False
                self._batch = list(self._take())
        return True

    def _take(self) -> Iterator[Text]:
        """Take one text of each request in turn, up to the limits of a batch."""
        num_texts = characters = 0
        while self._jobs and num_texts < self._limits.texts:
            if self._jobs[0].future.done():
                self._jobs.popleft()
                continue
            characters += len(self._jobs[0].next_document.text)
            if num_texts and characters > self._limits.characters:
                return
            job = self._jobs.popleft()
            num_texts += 1
            yield job.take()
            if job.has_more:
                self._jobs.append(job)

    def _answer(self, texts: Sequence[Text]) -> None:
        """Annotate compatible texts in one batch; if that fails, one by one."""
        texts = [text for text in texts if text.is_wanted]
        if not texts:
            return
        try:
            replies = self._annotate(texts)
        except Cancelled:
            self.tally.stopped += 1
            self._answer_singly(texts)
        except BatchFailed as error:
            self._answer_singly(texts, str(error))
        except ProcessLost:
            self._replace_process(texts)
        else:
            self.tally.batches += 1  # first, as clients with a reply may ask for the tally next
            self.tally.texts += len(texts)
            for text, reply in zip(texts, replies, strict=True):
                text.job.add_reply(text.index, reply)

    def _annotate(self, texts: Sequence[Text]) -> list[str]:
        """Annotate a batch; stop it if nobody waits or if several texts take too long."""
        deadline = self._clock() + self._limits.patience

        def is_over() -> bool:
            if self._over_at is None:
                is_late = len(texts) > 1 and self._clock() > deadline
                if is_late or not any(text.is_wanted for text in texts):
                    self._over_at = self._clock()
            return self._over_at is not None

        try:
            documents = [text.document for text in texts]
            return self._engine.annotate(texts[0].job.request, documents, is_over)
        finally:
            self._over_at = None

    def _answer_singly(self, texts: Sequence[Text], failure: str | None = None) -> None:
        """Annotate the texts of a batch one by one, short ones first; a single one fails."""
        if len(texts) > 1:
            for text in sorted(texts, key=lambda text: text.size):
                self._answer([text])
        elif failure is not None:
            self._fail(texts[0], failure)

    def _replace_process(self, texts: Sequence[Text]) -> None:
        """Start another process and go on with a batch; raises ``ProcessLost``."""
        self.tally.lost += 1
        self._is_warm, self._is_lost = False, True
        if not self._is_aborted:
            _LOG.error("the model process was lost with %d texts; another is begun", len(texts))
        self._begin()
        self._answer_singly(texts, "it ended the model process")

    def _fail(self, text: Text, failure: str) -> None:
        """Fail the request of a text."""
        _LOG.error("a text of %d characters could not be annotated: %s", text.size, failure)
        self.tally.failed += 1
        text.job.fail(AnnotationFailed(text.index))

    def _close(self) -> None:
        """Take no more requests, and fail those that wait."""
        with self._changed:
            self._is_open = False
            for job in (*(text.job for text in self._batch), *self._jobs):
                job.fail(WorkerStopped())
            self._jobs.clear()
            self._changed.notify()


def _compatible(batch: Sequence[Text]) -> Iterator[list[Text]]:
    """Yield groups of texts with equal tasks, formats and choices."""
    groups: dict[tuple[object, ...], list[Text]] = {}
    for text in batch:
        request = text.job.request
        key = request.tasks, request.with_tokens, request.format, request.choices
        groups.setdefault(key, []).append(text)
    yield from groups.values()


class Lanes(AbstractContextManager["Lanes"]):
    """A queue for short and one for long requests, each with an engine; use it in a ``with``.

    Short requests never wait for a long one. Health is that of the short queue: a long text that
    kills its model must not stop all others.
    """

    def __init__(
        self,
        short: Engine,
        long: Engine,
        limits: QueueLimits,
        on_death: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_death`` is called if an engine is lost for good."""
        self.short = Batcher(short, limits, on_death=on_death)
        self.long = Batcher(long, limits, on_death=on_death)
        self._max_short_request = limits.characters
        self._stack = ExitStack()

    def __enter__(self) -> "Lanes":
        """Start both queues."""
        self._stack.enter_context(self.short)
        self._stack.enter_context(self.long)
        return self

    def __exit__(self, *error: object) -> None:
        """End both queues."""
        self._stack.close()

    def submit(self, request: AnnotateRequest) -> Future[tuple[str, ...]]:
        """Queue a request; raises what ``Batcher.submit`` raises."""
        is_short = request.longest <= MAX_SHORT and request.size <= self._max_short_request
        return (self.short if is_short else self.long).submit(request)

    def abort(self) -> None:
        """Abort both queues."""
        self.short.abort()
        self.long.abort()

    @property
    def is_ready(self) -> bool:
        """Whether short requests are taken and answered."""
        return self.short.is_ready

    @property
    def is_live(self) -> bool:
        """Whether the model of short requests exists, or is started for the first time."""
        return self.short.is_live

    @property
    def is_full(self) -> bool:
        """Whether no short request is taken."""
        return self.short.is_full

    @property
    def waiting(self) -> int:
        """The number of requests that wait in both queues."""
        return self.short.waiting + self.long.waiting

    @property
    def tally(self) -> Tally:
        """The sums of both tallies."""
        tallies = astuple(self.short.tally), astuple(self.long.tally)
        return Tally(*map(sum, zip(*tallies, strict=True)))
