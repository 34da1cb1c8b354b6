"""Open files under an exclusive lock (``flock``); the lock of a dead process ends by itself."""

import errno
import fcntl
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

_BUSY = (errno.EWOULDBLOCK, errno.EACCES)
_POLL_SECONDS = 0.02
_held: set[int] = set()  # handles of this process


class LockHeld(Exception):
    """Another process holds the lock of a file."""


@contextmanager
def open_locked(
    path: Path, flags: int, *, seconds: float = math.inf, required: bool = False
) -> Iterator[int]:
    """Open a file or folder and hold its lock; yield the handle, which is closed at the end.

    ``flags`` are those of ``os.open``. If another process renames or deletes the file while this
    one waits, what is at ``path`` then is opened instead. Raises ``LockHeld`` if another process
    holds the lock for more than ``seconds``, and ``OSError`` if the file cannot be opened. On a
    disk without locks none is held, or ``OSError`` is raised if the lock is ``required``. A forked
    process has no part in the lock, which it would keep when this one is gone.
    """
    while True:
        handle = os.open(path, flags | os.O_NOFOLLOW, 0o666)
        _held.add(handle)
        try:
            with nullcontext() if required else suppress(OSError):
                _lock(handle, seconds)
            if _is_at(handle, path):
                yield handle
                return
        finally:
            _held.discard(handle)
            os.close(handle)


def _close_held() -> None:
    """Close what the process that this one was forked from holds."""
    for handle in _held:
        with suppress(OSError):
            os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_close_held)


def _lock(handle: int, seconds: float) -> None:
    """Take the lock of an open file, waiting up to ``seconds``; raises ``LockHeld``."""
    if math.isinf(seconds):
        return fcntl.flock(handle, fcntl.LOCK_EX)
    deadline = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise
            if time.monotonic() >= deadline:
                raise LockHeld from None
        time.sleep(_POLL_SECONDS)


def _is_at(handle: int, path: Path) -> bool:
    """Return whether the open file is still the one at ``path``."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    return False
