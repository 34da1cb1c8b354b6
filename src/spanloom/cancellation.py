"""Stop a long computation at its next checkpoint when nobody waits for its result.

::

    with cancellable(lambda: client.is_gone):
        model(text)  # raises Cancelled soon after the client went away

A computation calls ``checkpoint()`` before each of its steps. Outside ``cancellable`` this costs
one look-up of a context variable, 50 nanoseconds. Threads and tasks have their own contexts, so
other computations continue.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_OVER: ContextVar[Callable[[], bool] | None] = ContextVar("is_over", default=None)


class Cancelled(Exception):
    """The computation stopped at a checkpoint because nobody waits for its result."""


@contextmanager
def cancellable(is_over: Callable[[], bool]) -> Iterator[None]:
    """Context manager in which checkpoints raise ``Cancelled`` once ``is_over()`` is true.

    ``is_over`` is called often, so it should be cheap. Of nested ones the innermost counts.
    """
    token = _IS_OVER.set(is_over)
    try:
        yield
    finally:
        _IS_OVER.reset(token)


def checkpoint() -> None:
    """Raise ``Cancelled`` if the current computation was cancelled."""
    is_over = _IS_OVER.get()
    if is_over is not None and is_over():
        raise Cancelled
