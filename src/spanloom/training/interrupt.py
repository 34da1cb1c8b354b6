"""Ctrl-C or SIGTERM while training: the update under way is finished and kept, then it ends.

One process ends at once when told a second time. Several are told again by what started them, so
there only the first time counts: they agree on the update after which they stop.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers


class Stopped(KeyboardInterrupt):
    """Training stopped on request, with a checkpoint; the message says which model is left."""


@dataclass(slots=True)
class Interrupt:
    """Whether a stop was requested."""

    asked: bool = False
    waiting: bool = True

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let an interrupt end the block by ``KeyboardInterrupt``, one from before it too."""
        self.waiting = False
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self.waiting = True


@contextmanager
def defer_interrupt(*, patient: bool = False) -> Iterator[Interrupt]:
    """Hold the first interrupt back and note it, all of them if ``patient``.

    Outside the main thread nothing is held.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {signum: signal.getsignal(signum) or signal.SIG_DFL for signum in SIGNALS}

    def note(_number: int, _frame: FrameType | None) -> None:
        interrupt.asked = True
        if not patient:
            _set(before)
        if not interrupt.waiting:
            raise KeyboardInterrupt

    _set(dict.fromkeys(SIGNALS, note))
    try:
        yield interrupt
    finally:
        _set(before)


def ignore_signals() -> None:
    """Ignore further signals: this process is about to end."""
    if threading.current_thread() is threading.main_thread():
        _set(dict.fromkeys(SIGNALS, signal.SIG_IGN))


def _set(handlers: Mapping[signal.Signals, _Handler]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
