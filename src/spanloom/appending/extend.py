"""Lines added at the end of a file that other programs write, too; what is there is not touched.

A block of lines goes where the file ends, in one call, under the file's lock (``flock``), through
links, so that owner, mode and links stay. Whoever appends without a lock loses nothing either: the
system puts every piece at the end. Before that ``.NAME.adding`` beside the file says what is to be
added, and goes when the disk holds it: so what a crash tore is completed by the next ``extend``.

A program that writes the whole file anew, from what it read before, cannot be guarded against. Nor
can this: where a block fits the disk in part only and is taken back, a line that another program
adds between the two calls for that goes with it.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from spanloom.appending.journal import Journal, Noted, missing
from spanloom.errors import StorageError

PATIENCE = 10.0  # seconds to wait for another program's lock
_TRIES = 100  # how often a file may change while we look at it
_PIECE = 1 << 20  # bytes that are looked at at once


class Author(Protocol):
    """Who knows what is to be added to a file."""

    def block(self, content: bytes) -> bytes:
        """Return what is to stand behind that content: whole lines, b"" for nothing."""

    def holds(self, block: bytes, more: bytes) -> bool:
        """Whether the block is right where ``more`` was added to the content meanwhile."""


def extend(path: Path, author: Author) -> bytes:
    """Add the author's block at the end of the file at ``path``; return what was added.

    A file that is not there is made if there is something to add. Raises ``StorageError`` where
    that is not possible (read-only, locked by another program for long, disk full: of half a block
    nothing stays), and what the author raises, before anything is added.
    """
    with _reported(path):
        for _ in range(_TRIES):
            if not path.exists() and not author.block(b""):
                return b""
            with _alone(path) as file:
                added = None if file is None else file.extend(author)
            if added is not None:
                return added
    raise StorageError(f"{path}: not written, another program changes it again and again")


class _File:
    """A file that is open and locked; its journal is beside ``real``, where its links lead to."""

    def __init__(self, handle: int, path: Path, real: Path) -> None:
        self._handle, self._path = handle, path
        self._journal = Journal(real)

    def extend(self, author: Author) -> bytes | None:
        """Add the author's block; None where that is to be tried anew."""
        self._complete()
        content = self._content()
        block = author.block(content)
        if not block:
            return block
        self._note(len(content), block)
        now = self._content()
        if not now.startswith(content) or not self.is_at_its_path():
            self._journal.forget()
            return None
        size, more = len(content), now[len(content) :]
        while more:
            if not author.holds(block, more):
                self._journal.forget()
                return None
            size += len(more)
            more = os.pread(self._handle, _PIECE, size)
        start = self._written(block, size)
        between = os.pread(self._handle, start - size, size)
        if between and not author.holds(block, between):
            self._journal.forget()
            problem = "another program wrote the same ids, or half a line, at the same moment"
            raise StorageError(f"{self._path}: {problem}; look at what stands at its end")
        os.fsync(self._handle)
        self._journal.forget()
        return block if self.is_at_its_path() else None

    def is_at_its_path(self) -> bool:
        """Whether the path still leads to this file."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._handle), os.stat(self._path))
        return False

    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return os.fstat(self._handle).st_size == 0

    def _content(self) -> bytes:
        with open(self._handle, "rb", closefd=False) as stream:
            stream.seek(0)
            return stream.read()

    def _written(self, block: bytes, size: int) -> int:
        """Write a new block and return where it stands; ``size`` is the file's."""
        try:
            return self._put(block)
        except OSError:
            if not missing(self._content()[size:], block):
                self._journal.forget()  # it was taken back
            raise

    def _put(self, block: bytes) -> int:
        """Write at the end and return where; of what is not whole nothing stays, if it can be."""
        done = start = 0
        while done < len(block):
            try:
                count = os.write(self._handle, block[done:])
            except OSError:
                if done and os.fstat(self._handle).st_size == start + done:  # no one went on
                    os.ftruncate(self._handle, start)
                raise
            end = os.lseek(self._handle, 0, os.SEEK_CUR)
            if done and end != start + done + count:
                raise StorageError(f"{self._path}: torn by another program; the next run mends it")
            start = end - count - done
            done += count
        return start

    def _note(self, offset: int, block: bytes, *, owed: bool = False) -> None:
        mode = stat.S_IMODE(os.fstat(self._handle).st_mode)
        self._journal.note(Noted(offset, block, owed), mode)

    def _complete(self) -> None:
        """Bring to its end what a crash has left of an earlier block."""
        noted = self._journal.read()
        if noted is not None:
            content = self._content()
            rest = missing(content[noted.offset :], noted.block, owed=noted.owed)
            if rest and not noted.block.endswith(rest):
                self._note(len(content), rest, owed=True)
            if rest:
                self._put(rest)
                os.fsync(self._handle)
        self._journal.forget()


@contextmanager
def _alone(path: Path) -> Iterator[_File | None]:
    """Open a file, made if need be, and hold its lock; None where another took its place.

    A file that was made for nothing is deleted.
    """
    real = Path(os.path.realpath(path))
    flags = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW
    made = not real.exists()
    try:
        handle = os.open(real, flags | (os.O_CREAT | os.O_EXCL if made else 0), 0o666)
    except FileExistsError:
        yield None
        return
    try:
        file = _File(handle, path, real)
        _check(handle, path)
        _lock(handle, path)
        try:
            yield file if file.is_at_its_path() else None
        finally:
            if made and file.is_empty() and file.is_at_its_path():
                os.unlink(real)
    finally:
        os.close(handle)


def _check(handle: int, path: Path) -> None:
    """Refuse what is no file, or is not to be written: a mode binds the superuser, too."""
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        raise StorageError(f"{path}: not written, expected a file, got a pipe or device")
    if not mode & 0o222:
        raise StorageError(f"{path}: not written, the file is read-only")


def _lock(handle: int, path: Path) -> None:
    """Take the lock of an open file, which ends when it is closed."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                problem = f"another program has held its lock for {PATIENCE:.0f} seconds"
                raise StorageError(f"{path}: not written, {problem}") from None
        time.sleep(0.02)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` into a ``StorageError`` of one line about ``path``."""
    try:
        yield
    except OSError as error:
        other = error.filename not in (None, path)
        where = f" ({error.filename})" if other else ""
        problem = f"could not be written: {error.strerror or error}{where}"
        raise StorageError(f"{path}: {problem}") from error
