"""One run a folder: whoever trains there holds its lock, which ends with the process."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from spanloom.errors import StorageError, TrainingError
from spanloom.training.distributed import ProcessGroup

_NAME = "lock"


@contextmanager
def locked(folder: Path, processes: ProcessGroup) -> Iterator[None]:
    """Hold the folder of a run for these processes; the first of them holds it for all.

    Raises ``TrainingError`` that names the process which holds it, on all of them, and
    ``StorageError`` where nothing can be written there. Where a disk has no locks none is held.
    """
    handle = _opened(folder / _NAME) if processes.first else None
    try:
        holder = processes.agree(None if handle is None else _take(handle, folder / _NAME))
        if holder is not None:
            raise TrainingError(
                f"{folder}: {holder} trains here; wait for it, end it, or choose another -o"
            )
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise StorageError(f"{path}: could not be opened: {error.strerror}") from error


def _take(handle: int, path: Path) -> str | None:
    """Take the lock and say in the file who did; returns who has it, if somebody else does."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(os.pread(handle, 4096, 0))
    except OSError:  # some network disks have none
        pass
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    said = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(said).encode(), 0)
    except OSError as error:
        raise StorageError(f"{path}: could not be written: {error.strerror}") from error
    return None


def _holder(raw: bytes) -> str:
    """Say who holds a lock, from what it wrote there."""
    try:
        said = json.loads(raw)
        return f"process {said['pid']} on {said['host']} (since {said['since']})"
    except (ValueError, LookupError, TypeError):  # it took the lock this very moment
        return "another process"
