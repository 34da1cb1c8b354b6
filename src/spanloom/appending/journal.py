"""What is to be added to a file, noted beside it, and what a crash has left of that."""

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spanloom.atomic_io import flush

_LINE = re.compile(rb"[A-Za-z#*][^ \t\r\n]*\t")  # how a line begins that says something


class Noted(NamedTuple):
    """A block that is to stand behind byte ``offset``.

    ``owed``: it is to be added even if a crash came before anything of it was there.
    """

    offset: int
    block: bytes
    owed: bool = False


class Journal:
    """The journal of a file, ``.NAME.adding`` beside it."""

    def __init__(self, file: Path) -> None:
        """``file`` is no link, or two of its names would have a journal each."""
        self._path = file.with_name(f".{file.name}.adding")
        self._staging = file.with_name(f".{file.name}.adding~")

    def note(self, noted: Noted, mode: int) -> None:
        """Have the disk hold it, in a file of that mode; raises ``OSError``."""
        digest = hashlib.sha256(noted.block).hexdigest()
        head = json.dumps({"offset": noted.offset, "owed": noted.owed, "sha256": digest})
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            handle = os.open(self._staging, flags, mode)
            with open(handle, "wb") as stream:
                stream.write(head.encode() + b"\n" + noted.block)
                stream.flush()
                os.fsync(handle)
            os.replace(self._staging, self._path)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(self._staging)
            raise
        flush(self._path.parent)

    def read(self) -> Noted | None:
        """Return what is noted; None where nothing is, or what is there is not whole."""
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        with open(handle, "rb") as stream:
            head, _, block = stream.read().partition(b"\n")
        try:
            said = json.loads(head)
            if said["sha256"] == hashlib.sha256(block).hexdigest():
                return Noted(int(said["offset"]), block, bool(said["owed"]))
        except (ValueError, KeyError, TypeError):
            pass
        return None

    def forget(self) -> None:
        """Delete the note, if there is one."""
        for path in (self._path, self._staging):
            with suppress(FileNotFoundError):
                os.unlink(path)


def missing(tail: bytes, block: bytes, *, owed: bool = False) -> bytes:
    """Return what must be added so that nothing torn is left of a block that a crash cut short.

    ``tail`` is all that was added since. Where others have gone on behind a torn line of ours,
    their line is part of ours: it is said again. A block that was not begun is missed if ``owed``.
    """
    whole = block if owed else b""
    if block in tail or not tail:
        return b"" if tail else whole
    if block.startswith(tail):
        return block[len(tail) :]
    lines, end = block.lstrip(b"\r\n"), block[-1:]  # half of a CRLF ends no line
    stop, size = _torn(tail, lines, end)
    behind = tail[stop:]
    if not size or not behind:
        return lines[size:] if size else whole
    landed = lines.rfind(end, 0, size) + 1
    again = lines[landed:] if owed else b""
    theirs, ended, _ = behind.partition(end)
    if landed < size and ended and _LINE.match(theirs):
        again = theirs + ended + again
    return end + again if again and not tail.endswith(end) else again


def _torn(tail: bytes, lines: bytes, end: bytes) -> tuple[int, int]:
    """Return where a piece of some lines stops, and its size, 0 where there is none.

    It begins where a line does. One that ends the file, or behind which a line of others seems to
    begin, goes before one that has only the first word, which another line may have as well.
    """
    key, other = len(lines.partition(b"\t")[0]) + 1, (0, 0)
    for found in re.finditer(rb"(?:^|(?<=%b))%b" % (end, re.escape(lines[:1])), tail):
        start = found.start()
        size = len(os.path.commonprefix([tail[start : start + len(lines)], lines]))
        behind = tail[start + size :]
        if not behind or _LINE.match(behind):
            return start + size, size
        if size >= key:
            other = start + size, size
    return other
