"""Where jobs are answered: in this process, or in worker processes of this machine.

A job and its answer are bytes. ``ray_workers`` has the same for a Ray cluster.
"""

import os
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from spanloom.workers.frames import read_frame, write_frame
from spanloom.workers.process import Answerer

# Threads that wait for each other must not spin: on a busy machine that takes most of the time.
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
}
_PATIENCE = 5.0  # seconds that workers have to stop by themselves until they are killed


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the job with a key; None if its worker died."""

    key: str
    content: bytes | None


class Executor(Protocol):
    """Answers jobs, ``size`` at a time."""

    size: int

    def start(self, key: str, content: bytes) -> None:
        """Start a job; fewer than ``size`` may be running."""

    def wait(self) -> Answer:
        """Wait until a job ends."""

    def close(self) -> None:
        """Stop what is running and release all workers."""


class InProcess:
    """Answers jobs in this process, one at a time, when ``wait`` asks for the answer."""

    size = 1

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self._job: tuple[str, bytes] | None = None

    def start(self, key: str, content: bytes) -> None:
        """Keep the job until ``wait``."""
        self._job = key, content

    def wait(self) -> Answer:
        """Answer the job; raises what the answering function raises."""
        assert self._job is not None
        key, content = self._job
        return Answer(key, self._answer(content))

    def close(self) -> None:
        """Release nothing: there are no workers."""


class LocalWorkers:
    """Worker processes of one thread each, which stay alive from job to job."""

    def __init__(self, size: int, command: Sequence[str]) -> None:
        """``command`` starts a worker (``process.answer_jobs``); that happens when jobs come."""
        self.size = size
        self._command = command
        self._idle: list[_Worker] = []
        self._busy: dict[str, _Worker] = {}
        self._answers: queue.Queue[Answer] = queue.Queue()

    def start(self, key: str, content: bytes) -> None:
        """Start a job in an idle worker, or in a new one."""
        worker = self._idle.pop() if self._idle else _Worker(self._command, self._answers)
        self._busy[key] = worker
        worker.start(key, content)

    def wait(self) -> Answer:
        """Wait until a job ends."""
        answer = self._answers.get()
        worker = self._busy.pop(answer.key)
        if answer.content is None:
            worker.stop()
            worker.join(_PATIENCE)
        else:
            self._idle.append(worker)
        return answer

    def close(self) -> None:
        """Ask all workers to stop, and wait for them; those that do not react are killed."""
        workers = [*self._idle, *self._busy.values()]
        for worker in workers:
            worker.stop()
        deadline = time.monotonic() + _PATIENCE
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))


class _Worker:
    """One worker process; a thread reads its answers."""

    def __init__(self, command: Sequence[str], answers: "queue.Queue[Answer]") -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,  # ctrl-C reaches this process, which stops its workers itself
        )
        self._answers = answers
        self._key = ""
        self._has_ended = False
        self._lock = threading.Lock()  # guards the two
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, key: str, content: bytes) -> None:
        """Send a job; a dead worker's job ends at once."""
        with self._lock:
            self._key = key
            if self._has_ended:
                self._answers.put(Answer(key, None))
                return
        assert self.process.stdin is not None
        try:
            write_frame(self.process.stdin, key, content)
        except BrokenPipeError:
            pass  # the reading thread reports its end

    def stop(self) -> None:
        """End the worker's input, upon which it stops."""
        stdin = self.process.stdin
        assert stdin is not None
        # the rest of a job whose sending was interrupted may not fit into the pipe
        os.set_blocking(stdin.fileno(), False)
        with suppress(BrokenPipeError, BlockingIOError):
            stdin.close()

    def join(self, seconds: float) -> None:
        """Wait for the end of the process, which is killed if it takes longer."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            while (frame := read_frame(stream)) is not None:
                self._key = ""  # before the next job can be sent
                self._answers.put(Answer(*frame))
        with self._lock:
            self._has_ended = True
            if self._key:
                self._answers.put(Answer(self._key, None))
