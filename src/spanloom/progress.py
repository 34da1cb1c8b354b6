"""How far a long piece of work has come, so that one that was killed goes on where it was.

Results are appended to a file; a log beside it (``NAME.log``) says in lines of JSON what the work
is, which processes did it, and behind each unit of it how much is done so far::

    {"format": 1, "work": {"model": "5f70…", "tasks": "ner"}}
    {"process": 4711}
    {"units": 1, "inputs": 60, "bytes": 8123, "read": "9a3e…", "written": "77c0…"}

``read`` and ``written`` are SHA-256 of all inputs and of all results up to there. The results are
on the disk before their line is, so a line that is whole counts if they are as it says. What stands
behind the last one that counts was torn and is cut off, wherever either file ends.

A shard of a large corpus is a piece of work like any other, whose ``work`` says which documents
are its own: results of all shards, in their order, are the results of the whole.
"""

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spanloom.atomic_io import check_replaceable, flush, is_at, reported
from spanloom.errors import StorageError

_FORMAT = 1
_NOTHING = hashlib.sha256().hexdigest()
_BLOCK = 2**20  # bytes that are read at once


@dataclass(frozen=True, slots=True)
class Done:
    """How much is done: units, inputs, bytes of results, and SHA-256 of inputs and of results."""

    units: int = 0
    inputs: int = 0
    bytes: int = 0
    read: str = _NOTHING
    written: str = _NOTHING


@dataclass(slots=True)
class Work:
    """A piece of work under way, which ``opened`` returns; ``replaced`` inputs were given up."""

    path: Path
    results: int
    log: int
    done: Done = field(default_factory=Done)
    replaced: int = 0
    finished: bool = False
    _inputs: int = 0
    _bytes: int = 0
    _read: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    _written: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def repeat(self, inputs: Iterable[bytes]) -> None:
        """Take in again the inputs that are done; raises ``StorageError`` where they are others."""
        for each in inputs:
            self._take(each)
        if (self._inputs, self._read.hexdigest()) != (self.done.inputs, self.done.read):
            raise StorageError(
                f"{self.path}: cannot be gone on with: its {self.done.inputs} inputs are not the "
                "first ones of what is read now"
            )

    def add(self, read: bytes, written: bytes) -> None:
        """Append the result of an input; raises ``StorageError``."""
        self._take(read)
        with reported(self.path):
            _put(self.results, written)
        self._written.update(written)
        self._bytes += len(written)

    def acknowledge(self) -> None:
        """End a unit: what was added is on the disk, and stays done. Raises ``StorageError``."""
        done = Done(
            self.done.units + 1,
            self._inputs,
            self._bytes,
            self._read.hexdigest(),
            self._written.hexdigest(),
        )
        with reported(self.path):
            os.fsync(self.results)
            _put(self.log, _line(asdict(done)))
            os.fsync(self.log)
        self.done = done

    def finish(self, target: Path | None = None) -> None:
        """Rename the results to ``target``, else delete them; the log goes. ``StorageError``."""
        with reported(target or self.path):
            if target is None:
                os.unlink(self.path)
            else:
                os.fsync(self.results)
                os.replace(self.path, target)
                flush(target.parent)
            os.unlink(log_of(self.path))
        self.finished = True

    def resume(self, work: Mapping[str, str], raw: bytes) -> None:
        """Go on behind the last unit that the log proves; ``StorageError`` for other work."""
        lines = _whole(raw)
        self.done, end = self._proved(lines)
        if not self.done.units:
            self.begin(work)
            return
        _check_same(lines[0][0], work, self.path)
        self._bytes = self.done.bytes
        os.ftruncate(self.results, self.done.bytes)
        os.ftruncate(self.log, end)

    def begin(self, work: Mapping[str, str]) -> None:
        """Begin anew."""
        os.ftruncate(self.log, 0)
        os.ftruncate(self.results, 0)
        _put(self.log, _line({"format": _FORMAT, "work": dict(work)}))

    def _take(self, read: bytes) -> None:
        self._inputs += 1
        self._read.update(hashlib.sha256(read).digest())  # where one ends counts, too

    def _proved(self, lines: list[tuple[dict[str, Any], int]]) -> tuple[Done, int]:
        """Return how much is done and where its line ends; its results have been read."""
        done, end = Done(), 0
        for said, stop in lines[1:]:
            if "process" in said:
                continue
            each = _done(said)
            digest = self._written.copy()
            if each is None or not _reads(self.results, done.bytes, each.bytes, digest):
                break
            if digest.hexdigest() != each.written:
                break
            done, end, self._written = each, stop, digest
        return done, end


@contextmanager
def opened(path: Path, work: Mapping[str, str], *, resume: bool) -> Iterator[Work]:
    """Open results and log for this process alone; both go at the end if no unit was done.

    ``work`` says all that results depend on but the inputs. With ``resume`` they go on behind the
    last unit that was acknowledged, where there is one, else they begin anew. Raises
    ``StorageError``: another process writes them (named), or they were begun as other work.
    """
    check_replaceable(path)
    with ExitStack() as held:
        with reported(path):
            log = held.enter_context(_alone(log_of(path)))
            results = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND, 0o666)
            held.callback(os.close, results)
        under_way = Work(path, results, log)
        try:
            with reported(path):
                _take_up(under_way, work, resume=resume)
            yield under_way
        finally:
            if not (under_way.finished or under_way.done.inputs):
                under_way.finish()


def log_of(path: Path) -> Path:
    """Return the log beside the results."""
    return path.with_name(path.name + ".log")


def _take_up(under_way: Work, work: Mapping[str, str], *, resume: bool) -> None:
    """Go on with some work or begin it anew, and say who does it."""
    raw = log_of(under_way.path).read_bytes()
    if resume:
        under_way.resume(work, raw)
    else:
        acknowledged = (_done(said) for said, _ in _whole(raw))
        under_way.replaced = max((each.inputs for each in acknowledged if each), default=0)
        under_way.begin(work)
    _put(under_way.log, _line({"process": os.getpid()}))
    flush(under_way.path.parent)


@contextmanager
def _alone(log: Path) -> Iterator[int]:
    """Open a log and hold its lock; raises ``StorageError`` with the process that holds it."""
    while True:
        handle = os.open(log, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND, 0o666)
        try:
            _lock(handle, log)
            if is_at(handle, log):  # else its owner has just finished and deleted it
                yield handle
                return
        finally:
            os.close(handle)


def _lock(handle: int, log: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            return  # a network disk without locks
        owners = [said["process"] for said, _ in _whole(log.read_bytes()) if "process" in said]
        name = f"process {owners[-1]}" if owners else "another process"
        raise StorageError(
            f"{log}: {name} is at work here; wait for it, or end it first"
        ) from error


def _put(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"


def _whole(raw: bytes) -> list[tuple[dict[str, Any], int]]:
    """Return the lines that are whole, each with where it ends, up to the first that is not."""
    found: list[tuple[dict[str, Any], int]] = []
    end = 0
    while (stop := raw.find(b"\n", end)) >= 0:
        try:
            said = json.loads(raw[end:stop])
        except (ValueError, RecursionError):
            break
        if not isinstance(said, dict):
            break
        end = stop + 1
        found.append((said, end))
    return found


def _done(said: Mapping[str, Any]) -> Done | None:
    """Return what a line says is done, None where it says something else."""
    kinds = {each: type(value) for each, value in asdict(Done()).items()}
    return Done(**said) if {key: type(value) for key, value in said.items()} == kinds else None


def _reads(handle: int, start: int, end: int, digest: "hashlib._Hash") -> bool:
    """Feed a stretch of a file to a digest; whether all of it is there."""
    while start < end and (data := os.pread(handle, min(_BLOCK, end - start), start)):
        digest.update(data)
        start += len(data)
    return start == end


def _check_same(head: Mapping[str, Any], work: Mapping[str, str], path: Path) -> None:
    """Raise ``StorageError`` unless a log begins as the same work."""
    began = head.get("work")
    if head.get("format") != _FORMAT or not isinstance(began, dict):
        raise StorageError(f"{log_of(path)}: expected a log of format {_FORMAT}; begin anew")
    for key in (*work, *began):
        before, now = began.get(key), work.get(key)
        if before != now:
            raise StorageError(
                f"{path}: cannot be gone on with: it was begun with {key} {before!r:.80}, now "
                f"{key} is {now!r:.80}; ask for the same, or begin anew"
            )
