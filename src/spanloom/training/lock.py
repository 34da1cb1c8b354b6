"""Allow one run per folder: a run holds the folder's lock, which ends with its process."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from spanloom.atomic_io import report_os_errors, write_all
from spanloom.errors import StorageError, TrainingError
from spanloom.file_lock import LockHeld, open_locked
from spanloom.training.distributed import ProcessGroup

_NAME = "lock"


@contextmanager
def hold_lock(folder: Path, processes: ProcessGroup) -> Iterator[None]:
    """Context manager that holds the lock of a run's folder; the first process holds it for all.

    If another process holds it, all processes raise ``TrainingError`` with its name. Raises
    ``StorageError`` if nothing can be written there. On a disk without locks none is held.
    """
    with ExitStack() as lock:
        holder = processes.agree(_take(folder / _NAME, lock) if processes.is_first else None)
        if holder is not None:
            raise TrainingError(
                f"{folder}: {holder} trains here; wait for it, end it, or choose another -o"
            )
        yield


def _take(path: Path, lock: ExitStack) -> str | None:
    """Take the lock and write the holder into the file; return the holder if it is another."""
    try:
        handle = lock.enter_context(open_locked(path, os.O_RDWR | os.O_CREAT, seconds=0))
    except LockHeld:
        return _holder(path.read_bytes())
    except OSError as error:
        raise StorageError(f"{path}: could not be opened: {error.strerror}") from error
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    with report_os_errors(path):
        os.ftruncate(handle, 0)
        write_all(handle, json.dumps(holder).encode())
    return None


def _holder(raw: bytes) -> str:
    """Return who holds a lock, from the content of its file."""
    try:
        holder = json.loads(raw)
        return f"process {holder['pid']} on {holder['host']} (since {holder['since']})"
    except (ValueError, LookupError, TypeError):  # it has just taken the lock
        return "another process"
