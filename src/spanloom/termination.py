"""SIGTERM ends a block of work as ctrl-C does, so that what is kept or released at its end is."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def terminable() -> Iterator[None]:
    """Context manager: SIGTERM raises ``KeyboardInterrupt``, unless it has a handler already.

    Signals come to the main thread alone; in others this does nothing.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(*_: object) -> NoReturn:
    raise KeyboardInterrupt
