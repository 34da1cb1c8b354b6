"""Requests that wait, and batches of their texts; texts of several requests share a batch.

Each batch takes one text of each waiting request in turn, so a small request does not wait for all
of a large one.
"""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from spanloom.serve.jobs import AnnotateRequest, Job, Text


class QueueFull(Exception):
    """So many requests wait that another would wait too long."""


class WorkerStopped(Exception):
    """Nothing is annotated any more."""


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


class RequestQueue:
    """A queue that one or several threads empty."""

    def __init__(self, limits: QueueLimits) -> None:
        """It is closed at first."""
        self.limits = limits
        self.is_open = False
        self._jobs: deque[Job] = deque()
        self._under_way: dict[int, Sequence[Text]] = {}  # the batch of each thread
        self._changed = threading.Condition()  # guards the three

    def open(self) -> None:
        """Take requests from now on."""
        self.is_open = True

    def finish(self) -> None:
        """Take no more requests; those that wait are still to be answered."""
        with self._changed:
            self.is_open = False
            self._changed.notify_all()

    def close(self) -> None:
        """Take no more requests, and fail those that wait or are under way."""
        with self._changed:
            self.is_open = False
            texts = (text for batch in self._under_way.values() for text in batch)
            for job in (*(text.job for text in texts), *self._jobs):
                job.fail(WorkerStopped())
            self._jobs.clear()
            self._changed.notify_all()

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

    def submit(self, request: AnnotateRequest) -> Future[tuple[str, ...]]:
        """Queue a request; raises ``QueueFull``, and ``WorkerStopped`` if the queue is closed."""
        job = Job(request, request.size)
        with self._changed:
            if not self.is_open:
                raise WorkerStopped
            if self._exceeds(job.left):
                raise QueueFull
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    def take_batch(self, thread: int) -> list[Text]:
        """Wait for texts and take a batch of them for a thread; it is empty at the end."""
        with self._changed:
            batch: list[Text] = []
            while not batch:
                self._under_way[thread] = ()
                self._changed.wait_for(lambda: self._jobs or not self.is_open)
                if not self._jobs:
                    break
                batch = list(self._take())
            self._under_way[thread] = batch
            if self._jobs:
                self._changed.notify()  # another thread takes what is left
            return batch

    def _exceeds(self, size: int) -> bool:
        """Whether a request of ``size`` characters exceeds a limit; the caller holds the lock.

        Batches under way count, too. An empty queue takes any size.
        """
        self._jobs = deque(job for job in self._jobs if not job.future.done())
        texts = (text for batch in self._under_way.values() for text in batch)
        under_way = sum(text.size for text in texts if text.is_wanted)
        queued = under_way + sum(job.left for job in self._jobs)
        is_too_long = queued > 0 and queued + size > self.limits.queued
        return is_too_long or len(self._jobs) >= self.limits.requests

    def _take(self) -> Iterator[Text]:
        """Take one text of each request in turn, up to the limits of a batch."""
        num_texts = characters = 0
        while self._jobs and num_texts < self.limits.texts:
            job = self._jobs[0]
            if job.future.done():
                self._jobs.popleft()
                continue
            characters += job.request.count_characters(job.next_document)
            if num_texts and characters > self.limits.characters:
                return
            self._jobs.popleft()
            num_texts += 1
            yield job.take()
            if job.has_more:
                self._jobs.append(job)
