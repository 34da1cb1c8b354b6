"""A worker process: jobs come from standard input, answers go to standard output."""

import os
import queue
import sys
import threading
from collections.abc import Callable

from spanloom.workers.frames import read_frame, write_frame

Answerer = Callable[[bytes], bytes]


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in a process that imports from where this one does.

    ``python -m`` would look into the current folder first, where any file may be called like a
    module of Python's.
    """
    sees_current_folder = not {"", os.getcwd()}.isdisjoint(sys.path)
    return [sys.executable, *([] if sees_current_folder else ["-P"]), "-m", module, *arguments]


def answer_jobs(make_answerer: Callable[[], Answerer], *, at_end: Callable[[], None]) -> None:
    """Answer jobs until the input ends; ``at_end`` is called then, by the thread that reads.

    ``make_answerer`` prepares the process. What it or any library prints goes to stderr, because it
    is no answer.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answer = make_answerer()
    jobs: queue.Queue[tuple[str, bytes] | None] = queue.Queue()
    threading.Thread(target=_read, args=(jobs, at_end), daemon=True).start()
    while (job := jobs.get()) is not None:
        key, content = job
        write_frame(answers, key, answer(content))


def _read(jobs: "queue.Queue[tuple[str, bytes] | None]", at_end: Callable[[], None]) -> None:
    """Queue the jobs of the input, also while one is answered."""
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as stream:
        while (job := read_frame(stream)) is not None:
            jobs.put(job)
    jobs.put(None)
    at_end()
