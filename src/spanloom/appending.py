"""Append lines to a file that other programs write, too, without changing what it holds.

A block of lines is appended in one call, under the file's lock (``flock``) and through links, so
owner, mode and links stay. A program that appends without a lock loses nothing either, because the
system puts each write at the end. A journal beside the file, ``.NAME.adding``, holds the block
until the disk does, so the next ``extend`` completes a block that a crash tore.

Two things cannot be prevented: a program may rewrite the file from an earlier copy; and if only a
part of a block fits on the disk and is removed again, a line that another program appends between
these two calls is removed with it.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from spanloom.atomic_io import flush, report_os_errors
from spanloom.errors import StorageError
from spanloom.file_lock import LockHeld, open_locked

PATIENCE = 10.0  # seconds to wait for another program's lock
_MAX_TRIES = 100  # how often a file may change while it is read
_CHUNK_BYTES = 1 << 20
_ANN_LINE = re.compile(rb"[A-Za-z#*][^ \t\r\n]*\t")  # how a line with an annotation begins


class Author(Protocol):
    """Decides what is appended to a file."""

    def block(self, content: bytes) -> bytes:
        """Return the whole lines to append to a file with this content; b"" for nothing."""

    def holds(self, block: bytes, more: bytes) -> bool:
        """Whether the block is still right after others appended ``more``."""


def extend(path: Path, author: Author) -> bytes:
    """Append the author's block to the file at ``path``; return what was appended.

    A missing file is created if there is something to append. Raises ``StorageError`` if that is
    not possible (read-only, locked by another program for long, disk full: no partial block stays),
    and any error of the author, before anything is appended.
    """
    with report_os_errors(path):
        for _ in range(_MAX_TRIES):
            if not path.exists() and not author.block(b""):
                return b""
            with _open_to_append(path) as file:
                block = None if file is None else file.extend(author)
            if block is not None:
                return block
    raise StorageError(f"{path}: not written, another program changes it again and again")


class _LockedFile:
    """An open and locked file; its journal is beside ``real``, the target of its links."""

    def __init__(self, handle: int, path: Path, real: Path) -> None:
        self._handle, self._path = handle, path
        self._journal = Journal(real)

    def extend(self, author: Author) -> bytes | None:
        """Append the author's block; return None if it must be tried again."""
        self._complete()
        content = self._read()
        block = author.block(content)
        if not block:
            return block
        self._note(len(content), block)
        current = self._read()
        if not current.startswith(content) or not self.is_at_its_path():
            self._journal.forget()
            return None
        size, more = len(content), current[len(content) :]
        while more:
            if not author.holds(block, more):
                self._journal.forget()
                return None
            size += len(more)
            more = os.pread(self._handle, _CHUNK_BYTES, size)
        start = self._append_new(block, size)
        between = os.pread(self._handle, start - size, size)
        if between and not author.holds(block, between):
            self._journal.forget()
            problem = "another program wrote the same ids, or half a line, at the same moment"
            raise StorageError(f"{self._path}: {problem}; look at what stands at its end")
        os.fsync(self._handle)
        self._journal.forget()
        return block if self.is_at_its_path() else None

    def is_at_its_path(self) -> bool:
        """Return whether the path still leads to this file."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._handle), os.stat(self._path))
        return False

    def is_empty(self) -> bool:
        """Return whether the file has no content."""
        return os.fstat(self._handle).st_size == 0

    def _read(self) -> bytes:
        with open(self._handle, "rb", closefd=False) as stream:
            stream.seek(0)
            return stream.read()

    def _append_new(self, block: bytes, size: int) -> int:
        """Append a new block to a file of this size, and return the block's offset."""
        try:
            return self._append(block)
        except OSError:
            if not missing(self._read()[size:], block):
                self._journal.forget()  # the partial block was removed
            raise

    def _append(self, block: bytes) -> int:
        """Append a block and return its offset; remove a partial block if nothing follows it."""
        written = start = 0
        while written < len(block):
            try:
                count = os.write(self._handle, block[written:])
            except OSError:
                is_last = os.fstat(self._handle).st_size == start + written
                if written and is_last:
                    os.ftruncate(self._handle, start)
                raise
            end = os.lseek(self._handle, 0, os.SEEK_CUR)
            if written and end != start + written + count:
                raise StorageError(f"{self._path}: torn by another program; the next run mends it")
            start = end - count - written
            written += count
        return start

    def _note(self, offset: int, block: bytes, *, owed: bool = False) -> None:
        mode = stat.S_IMODE(os.fstat(self._handle).st_mode)
        self._journal.note(Noted(offset, block, owed), mode)

    def _complete(self) -> None:
        """Complete an earlier block that a crash tore."""
        noted = self._journal.read()
        if noted is not None:
            content = self._read()
            remainder = missing(content[noted.offset :], noted.block, owed=noted.owed)
            if remainder and not noted.block.endswith(remainder):
                self._note(len(content), remainder, owed=True)
            if remainder:
                self._append(remainder)
                os.fsync(self._handle)
        self._journal.forget()


@contextmanager
def _open_to_append(path: Path) -> Iterator[_LockedFile | None]:
    """Open a file, created if missing, and hold its lock; yield None if it was just replaced.

    A file that was created and stayed empty is deleted.
    """
    real = Path(os.path.realpath(path))
    is_new = not real.exists()
    flags = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | (os.O_CREAT | os.O_EXCL if is_new else 0)
    if not is_new:
        _require_writable(path)
    try:
        with open_locked(real, flags, seconds=PATIENCE, required=True) as handle:
            file = _LockedFile(handle, path, real)
            try:
                yield file if file.is_at_its_path() else None
            finally:
                if is_new and file.is_empty() and file.is_at_its_path():
                    os.unlink(real)
    except LockHeld:
        problem = f"another program has held its lock for {PATIENCE:.0f} seconds"
        raise StorageError(f"{path}: not written, {problem}") from None


def _require_writable(path: Path) -> None:
    """Raise ``StorageError`` for a pipe or device, and for a read-only file even as root."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return  # opening it says so
    if not stat.S_ISREG(mode):
        raise StorageError(f"{path}: not written, expected a file, got a pipe or device")
    if not mode & 0o222:
        raise StorageError(f"{path}: not written, the file is read-only")


class Noted(NamedTuple):
    """A block to be appended at byte ``offset``.

    ``owed``: append it even if a crash came before any part of it was written.
    """

    offset: int
    block: bytes
    owed: bool = False


class Journal:
    """The journal of a file, ``.NAME.adding`` beside it."""

    def __init__(self, file: Path) -> None:
        """``file`` must not be a link, or its two names would have a journal each."""
        self._path = file.with_name(f".{file.name}.adding")
        self._staging = file.with_name(f".{file.name}.adding~")

    def note(self, noted: Noted, mode: int) -> None:
        """Store a block on the disk, in a file of this mode; raises ``OSError``."""
        digest = hashlib.sha256(noted.block).hexdigest()
        header = json.dumps({"offset": noted.offset, "owed": noted.owed, "sha256": digest})
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            handle = os.open(self._staging, flags, mode)
            with open(handle, "wb") as stream:
                stream.write(header.encode() + b"\n" + noted.block)
                stream.flush()
                os.fsync(handle)
            os.replace(self._staging, self._path)
        except OSError:
            self._staging.unlink(missing_ok=True)
            raise
        flush(self._path.parent)

    def read(self) -> Noted | None:
        """Return the stored block; None if there is none, or the journal is torn."""
        if not os.path.lexists(self._path):
            return None
        with report_os_errors(self._path):
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as stream:
            header, _, block = stream.read().partition(b"\n")
        try:
            fields = json.loads(header)
            if fields["sha256"] == hashlib.sha256(block).hexdigest():
                return Noted(int(fields["offset"]), block, bool(fields["owed"]))
        except (ValueError, KeyError, TypeError):
            pass
        return None

    def forget(self) -> None:
        """Delete the journal, if there is one."""
        for path in (self._path, self._staging):
            path.unlink(missing_ok=True)


def missing(tail: bytes, block: bytes, *, owed: bool = False) -> bytes:
    """Return what must be appended to complete a block that a crash tore.

    ``tail`` is all that was appended since. If another program appended to our torn line, its line
    became a part of ours, so it is written again. A block without any written part is missing only
    if it is ``owed``.
    """
    full_block = block if owed else b""
    if block in tail or not tail:
        return b"" if tail else full_block
    if block.startswith(tail):
        return block[len(tail) :]
    lines, end = block.lstrip(b"\r\n"), block[-1:]  # half of a CRLF ends no line
    stop, size = _find_torn(tail, lines, end)
    behind = tail[stop:]
    if not size or not behind:
        return lines[size:] if size else full_block
    complete = lines.rfind(end, 0, size) + 1
    again = lines[complete:] if owed else b""
    other_line, line_end, _ = behind.partition(end)
    if complete < size and line_end and _ANN_LINE.match(other_line):
        again = other_line + line_end + again
    return end + again if again and not tail.endswith(end) else again


def _find_torn(tail: bytes, lines: bytes, end: bytes) -> tuple[int, int]:
    """Return the end and the size of the torn part of some lines in ``tail``; size 0 if none.

    It begins at a line's start. A part that ends the file, or is followed by what looks like
    another program's line, is preferred to one that has only the first word, which another line may
    have as well.
    """
    first_word_size = len(lines.partition(b"\t")[0]) + 1
    fallback = 0, 0
    for match in re.finditer(rb"(?:^|(?<=%b))%b" % (end, re.escape(lines[:1])), tail):
        start = match.start()
        size = len(os.path.commonprefix([tail[start : start + len(lines)], lines]))
        behind = tail[start + size :]
        if not behind or _ANN_LINE.match(behind):
            return start + size, size
        if size >= first_word_size:
            fallback = start + size, size
    return fallback
