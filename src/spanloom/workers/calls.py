"""Functions that are called in worker processes, with results in the order of their arguments.

Functions and values are pickled. That is safe here: both ends are processes that one command
started, and the pipes between them are their own.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from spanloom.errors import SpanloomError
from spanloom.workers.executors import Executor
from spanloom.workers.ordered import in_order

A = TypeVar("A")
R = TypeVar("R")


class Mapper(Protocol):
    """Calls a function with each argument and yields the results in order, as ``map`` does."""

    def __call__(self, function: Callable[[A], R], arguments: Iterable[A], /) -> Iterator[R]:
        """Raises what the function raises."""


def map_here(function: Callable[[A], R], arguments: Iterable[A], /) -> Iterator[R]:
    """Call the function in this process, once for each result that is asked for."""
    return map(function, arguments)


class WorkerCalls:
    """Calls functions in the workers of an executor (``answer_call``)."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __call__(self, function: Callable[[A], R], arguments: Iterable[A], /) -> Iterator[R]:
        """Yield the results; the function is one that pickle finds by name, or an object.

        Raises the ``SpanloomError`` or ``OSError`` of a call in its turn, and ``WorkerError``.
        """
        jobs = (pickle.dumps((function, argument)) for argument in arguments)
        for answer in in_order(self._executor, jobs):
            error, result = pickle.loads(answer)
            if error is not None:
                raise error
            yield result


def answer_call(content: bytes) -> bytes:
    """Call a function in a worker and return its pickled error, or None, and its result."""
    function, argument = pickle.loads(content)
    try:
        return pickle.dumps((None, function(argument)))
    except (SpanloomError, OSError) as error:
        return pickle.dumps((error, None))
