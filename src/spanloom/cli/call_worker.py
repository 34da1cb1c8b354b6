"""A worker of ``check`` and ``convert``: ``python -m spanloom.cli.call_worker [MODULE]…``.

Answers calls of functions (``workers.calls``). The modules are plugins.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from spanloom import plugins
from spanloom.cli.worker_count import DOCUMENT_WORK, default_workers
from spanloom.corpora.files import total_bytes
from spanloom.corpora.folder import pause_gc
from spanloom.workers.calls import Mapper, WorkerCalls, answer_call, map_here
from spanloom.workers.executors import LocalWorkers
from spanloom.workers.process import answer_jobs

SMALL_BYTES = 2_000_000  # of input, about a second's work: a worker takes as long to start


@contextmanager
def open_mapper(workers: int | None, source: Path) -> Iterator[Mapper]:
    """Yield what calls functions: this process, or worker processes where there is enough work.

    ``workers`` None is as many as are worth it. Workers end with the block, however it ends.
    """
    num_bytes = total_bytes(source.rglob("*") if source.is_dir() else [source])
    size = workers or default_workers(num_bytes, "cpu", DOCUMENT_WORK)
    if size == 1 or num_bytes < SMALL_BYTES:
        yield map_here
        return
    executor = LocalWorkers(size, worker_command())
    try:
        yield WorkerCalls(executor)
    finally:
        executor.close()


def worker_command() -> list[str]:
    """Return the command that starts a worker process."""
    return [sys.executable, "-m", __name__, *plugins.modules]


def _answer(content: bytes) -> bytes:
    with pause_gc():
        return answer_call(content)


def main(modules: Sequence[str]) -> None:
    """Answer calls until the command that started this process is gone."""
    for module in modules:
        plugins.load(module)
    answer_jobs(_answer, at_end=partial(os._exit, 0))


if __name__ == "__main__":
    main(sys.argv[1:])
