"""Answers in the order of their jobs, whichever worker is done first; dead workers' jobs again."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from spanloom.errors import SpanloomError, WorkersDied
from spanloom.workers.executors import Executor

MAX_DEATHS = 3  # of workers over one job, after which it is given up


def in_order(executor: Executor, jobs: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the answer to each job, in order.

    Jobs are read as workers need them, so memory is bounded: at most four per worker are kept,
    with answers that wait for an earlier one. If reading a job fails, the answers to the jobs
    before it come first. Raises ``WorkersDied`` for a job over which workers died again and again.
    """
    window = _Window(executor, iter(jobs))
    while window.is_open():
        yield window.next_answer()


class _Window:
    """The jobs of which not all answers were yielded yet; keys are their numbers."""

    def __init__(self, executor: Executor, jobs: Iterator[bytes]) -> None:
        self._executor, self._jobs = executor, jobs
        self._ready: deque[tuple[int, bytes]] = deque()
        self._running: dict[int, bytes] = {}
        self._answers: dict[int, bytes] = {}
        self._deaths: Counter[int] = Counter()
        self._num_read = self._num_yielded = 0
        self._is_exhausted = False
        self._error: SpanloomError | None = None

    def is_open(self) -> bool:
        """Whether there is another answer; raises the error that ended the jobs after the last."""
        self._read()
        if self._num_yielded < self._num_read:
            return True
        if self._error is not None:
            raise self._error
        return False

    def next_answer(self) -> bytes:
        """Return the next answer, and keep the workers busy meanwhile."""
        self._start()
        while self._num_yielded not in self._answers:
            self._read()
            self._receive()
            self._start()
        self._num_yielded += 1
        return self._answers.pop(self._num_yielded - 1)

    def _read(self) -> None:
        """Read jobs ahead, so that no worker waits for one."""
        limit = self._num_yielded + 4 * self._executor.size
        while not self._is_exhausted and len(self._ready) < self._executor.size:
            if self._num_read >= limit:
                return
            try:
                job = next(self._jobs, None)
            except SpanloomError as error:
                self._error, job = error, None
            if job is None:
                self._is_exhausted = True
                return
            self._ready.append((self._num_read, job))
            self._num_read += 1

    def _start(self) -> None:
        while self._ready and len(self._running) < self._executor.size:
            number, job = self._ready.popleft()
            self._running[number] = job
            self._executor.start(str(number), job)

    def _receive(self) -> None:
        """Take an answer; the job of a dead worker is the next to start."""
        answer = self._executor.wait()
        number = int(answer.key)
        job = self._running.pop(number)
        if answer.content is not None:
            self._answers[number] = answer.content
            return
        self._deaths[number] += 1
        if self._deaths[number] >= MAX_DEATHS:
            raise WorkersDied(MAX_DEATHS, number - self._num_yielded)
        self._ready.appendleft((number, job))
