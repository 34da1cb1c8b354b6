"""A process that calls functions: ``python -m spanloom.corpora.call_worker [MODULE]…``.

The modules are plugins. It never imports the script that started it, so a script needs no
``if __name__ == "__main__"``.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from spanloom import plugins
from spanloom.corpora.folder import pause_gc
from spanloom.workers.calls import WorkerCalls, answer_call
from spanloom.workers.executors import LocalWorkers
from spanloom.workers.process import Answerer, answer_jobs, module_command


@contextmanager
def open_calls(size: int) -> Iterator[WorkerCalls]:
    """Yield what calls functions in so many processes; they end with the block, however it ends."""
    executor = LocalWorkers(size, worker_command())
    try:
        yield WorkerCalls(executor)
    finally:
        executor.close()


def worker_command() -> list[str]:
    """Return the command that starts a worker process."""
    return module_command(__name__, *plugins.modules)


def _answer(content: bytes) -> bytes:
    with pause_gc():
        return answer_call(content)


def _make_answerer(modules: Sequence[str]) -> Answerer:
    plugins.load(*modules)
    return _answer


def main(modules: Sequence[str]) -> None:
    """Answer calls until the process that started this one is gone."""
    answer_jobs(partial(_make_answerer, modules), at_end=partial(os._exit, 0))


if __name__ == "__main__":
    main(sys.argv[1:])
