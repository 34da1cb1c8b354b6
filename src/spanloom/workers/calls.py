"""Functions that are called in worker processes, with results in the order of their arguments.

Functions and values are pickled. That is safe here: both ends are processes that one command
started, and the pipes between them are their own.
"""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

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
        jobs = (_dumps((function, argument)) for argument in arguments)
        for answer in in_order(self._executor, jobs):
            error, result = pickle.loads(answer)
            if error is not None:
                raise error
            yield result


def answer_call(content: bytes) -> bytes:
    """Call a function in a worker and return its pickled error, or None, and its result."""
    function, argument = pickle.loads(content)
    try:
        return _dumps((None, function(argument)))
    except (SpanloomError, OSError) as error:
        return _dumps((error, None))


class _Pickler(pickle.Pickler):
    """Pickles frozen dataclasses with slots by position.

    Documents are hundreds of thousands of them; their own way takes half as long again.
    """

    def reducer_override(self, value: object) -> Any:
        """Return how to make such a value anew, NotImplemented for any other."""
        cls: type = type(value)
        names = _slot_names(cls)
        if not names:
            return NotImplemented
        return _restore, (cls, *(getattr(value, name) for name in names))


def _dumps(value: object) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


@cache
def _slot_names(cls: type) -> tuple[str, ...]:
    """Return the fields of a frozen dataclass with slots, none of another class."""
    if not (is_dataclass(cls) and "__slots__" in vars(cls)):
        return ()
    params: Any = vars(cls)["__dataclass_params__"]
    return tuple(field.name for field in fields(cls)) if params.frozen else ()


@cache
def _setters(cls: type) -> tuple[Callable[[object, object], None], ...]:
    """Return what sets each slot, past the check that the value is frozen."""
    return tuple(getattr(cls, name).__set__ for name in _slot_names(cls))


def _restore(cls: type, *values: object) -> object:
    restored: object = object.__new__(cls)
    for set_slot, value in zip(_setters(cls), values, strict=True):
        set_slot(restored, value)
    return restored
