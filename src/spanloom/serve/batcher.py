"""A queue of requests and the threads that empty it, each with a model process of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from time import perf_counter

from spanloom.serve.engine import Engine
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.model_thread import ModelThread, Tally, sum_tallies
from spanloom.serve.request_queue import QueueLimits, RequestQueue, WorkerStopped

MAX_SHORT = 2_000  # characters of a text that is annotated in a moment, even as one sentence


class Batcher(AbstractContextManager["Batcher"]):
    """A queue and its threads; use it in a ``with``, which starts and ends them.

    The end takes no more requests, answers those that wait, and ends the threads and the engines.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        limits: QueueLimits = QueueLimits(),
        *,
        on_death: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """``on_death`` is called if an engine cannot be started, or a thread fails."""
        self._queue = RequestQueue(limits)
        self._threads = [ModelThread(engine, self._queue, on_death, clock) for engine in engines]

    def __enter__(self) -> "Batcher":
        """Start the threads."""
        self._queue.open()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the threads and the engines when all requests are answered."""
        self._queue.finish()
        for thread in self._threads:
            thread.join()
        self._queue.close()

    def abort(self) -> None:
        """Take no more requests, fail those that wait, end the engines."""
        self._queue.close()
        for thread in self._threads:
            thread.abort()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken and answered: a model is warm, alive and not stuck."""
        return self._queue.is_open and any(thread.is_ready for thread in self._threads)

    @property
    def is_live(self) -> bool:
        """Whether a model exists or is started for the first time, not replaced after a loss."""
        return any(thread.is_live for thread in self._threads)

    @property
    def waiting(self) -> int:
        """The number of requests with a text that is not under way."""
        return self._queue.waiting

    @property
    def is_full(self) -> bool:
        """Whether no request is taken, of whatever size."""
        return self._queue.is_full

    @property
    def tally(self) -> Tally:
        """The sum of what the threads have done."""
        return sum_tallies(thread.tally for thread in self._threads)

    def submit(self, request: AnnotateRequest) -> Future[tuple[str, ...]]:
        """Queue a request; its future has the formatted documents in order.

        The future may raise ``AnnotationFailed``, ``ChoicesRefused`` or ``WorkerStopped``. Raises
        ``QueueFull`` and ``WorkerStopped``.
        """
        if not any(thread.is_alive for thread in self._threads):
            raise WorkerStopped
        return self._queue.submit(request)


class Lanes(AbstractContextManager["Lanes"]):
    """A queue for short requests, with one engine or several, and one for long ones, with one.

    Use it in a ``with``.

    Short requests never wait for a long one. Health is that of the short queue: a long text that
    kills its model must not stop all others.
    """

    def __init__(
        self,
        short: Sequence[Engine],
        long: Engine,
        limits: QueueLimits,
        on_death: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_death`` is called if an engine is lost for good."""
        self.short = Batcher(short, limits, on_death=on_death)
        self.long = Batcher([long], limits, on_death=on_death)
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
        return sum_tallies((self.short.tally, self.long.tally))
