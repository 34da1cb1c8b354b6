"""Record the progress of a long piece of work, so that it can be resumed after it was killed.

Results are appended to a file. A log beside it (``NAME.log``) holds lines of JSON: what the work
is, which processes did it, and after each unit how much is done so far::

    {"format": 1, "work": {"model": "5f70…", "tasks": "ner"}}
    {"process": 4711}
    {"units": 1, "inputs": 60, "bytes": 8123, "read": "9a3e…", "written": "77c0…"}

``read`` and ``written`` are the SHA-256 of all inputs and of all results so far. Results are on the
disk before their line is, so a complete line counts if the results agree with it. Both files are
truncated after the last line that counts.

A shard of a large corpus is a piece of work of its own, whose ``work`` says which documents it has;
the results of all shards, concatenated, are those of the full corpus.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spanloom.atomic_io import check_replaceable, flush, report_os_errors, write_all
from spanloom.errors import StorageError
from spanloom.file_lock import LockHeld, open_locked

_FORMAT = 1
_EMPTY_DIGEST = hashlib.sha256().hexdigest()
_CHUNK_BYTES = 2**20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True, slots=True)
class Done:
    """Numbers of units, inputs and bytes of results, and the SHA-256 of inputs and of results."""

    units: int = 0
    inputs: int = 0
    bytes: int = 0
    read: str = _EMPTY_DIGEST
    written: str = _EMPTY_DIGEST


@dataclass(slots=True)
class Work:
    """A piece of work in progress, made by ``open_work``.

    ``results`` and ``log`` are open files; ``replaced`` counts the inputs that an earlier run had
    finished and this one does again.
    """

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
        """Read the finished inputs again; raises ``StorageError`` if they differ."""
        for content in inputs:
            self._count_input(content)
        if (self._inputs, self._read.hexdigest()) != (self.done.inputs, self.done.read):
            raise StorageError(
                f"{self.path}: cannot be gone on with: its {self.done.inputs} inputs are not the "
                "first ones of what is read now"
            )

    def add(self, read: bytes, written: bytes) -> None:
        """Append the result of an input; raises ``StorageError``."""
        self._count_input(read)
        with report_os_errors(self.path):
            write_all(self.results, written)
        self._written.update(written)
        self._bytes += len(written)

    def acknowledge(self) -> None:
        """End a unit and flush it to the disk, so that it stays done; raises ``StorageError``."""
        done = Done(
            self.done.units + 1,
            self._inputs,
            self._bytes,
            self._read.hexdigest(),
            self._written.hexdigest(),
        )
        with report_os_errors(self.path):
            os.fsync(self.results)
            write_all(self.log, json_line(asdict(done)))
            os.fsync(self.log)
        self.done = done

    def finish(self, target: Path | None = None) -> None:
        """Rename the results to ``target`` or delete them; delete the log. ``StorageError``."""
        with report_os_errors(target or self.path):
            if target is None:
                os.unlink(self.path)
            else:
                os.fsync(self.results)
                os.replace(self.path, target)
                flush(target.parent)
            os.unlink(log_of(self.path))
        self.finished = True

    def resume(self, work: Mapping[str, str], raw: bytes) -> None:
        """Continue after the last unit that the log ``raw`` proves; begin anew if there is none.

        Raises ``StorageError`` for other work.
        """
        lines = complete_lines(raw)
        self.done, end = self._read_done(lines)
        if not self.done.units:
            self.begin(work)
            return
        check_same(lines[0][0], work, self.path)
        self._bytes = self.done.bytes
        os.ftruncate(self.results, self.done.bytes)
        os.ftruncate(self.log, end)

    def begin(self, work: Mapping[str, str]) -> None:
        """Begin anew; results are only there with the head of a log, as ``_check_ours`` expects."""
        os.ftruncate(self.results, 0)
        os.ftruncate(self.log, 0)
        write_all(self.log, head_line(work))
        os.fsync(self.log)

    def begin_anew(self) -> None:
        """Forget what is done, as its inputs were changed; raises ``StorageError``."""
        with report_os_errors(self.path):
            head, _ = complete_lines(log_of(self.path).read_bytes())[0]
            self.begin(head["work"])
        self.done, self._inputs, self._bytes = Done(), 0, 0
        self._read, self._written = hashlib.sha256(), hashlib.sha256()

    def _count_input(self, content: bytes) -> None:
        self._inputs += 1
        self._read.update(hashlib.sha256(content).digest())  # depends on where inputs end, too

    def _read_done(self, lines: list[tuple[dict[str, Any], int]]) -> tuple[Done, int]:
        """Return how much is done, by log and results, and where its line ends in the log."""
        done, end = Done(), 0
        for fields, line_end in lines[1:]:
            if "process" in fields:
                continue
            unit = _parse_done(fields)
            digest = self._written.copy()
            if unit is None or not _hash_range(self.results, done.bytes, unit.bytes, digest):
                break
            if digest.hexdigest() != unit.written:
                break
            done, end, self._written = unit, line_end, digest
        return done, end


@contextmanager
def open_work(path: Path, work: Mapping[str, str], *, resume: bool) -> Iterator[Work]:
    """Open results and log under a lock; both are deleted at the end if no unit was done.

    ``work`` names everything that the results depend on except the inputs. With ``resume`` the work
    continues after the last acknowledged unit, if there is one; else it begins anew. Raises
    ``StorageError`` if another process does this work, if it was begun as other work, and for
    results that no log is about: these are not ours.
    """
    check_replaceable(path)
    with ExitStack() as stack:
        with report_os_errors(path):
            log = stack.enter_context(_open_log(log_of(path)))
            _check_ours(path)
            results = os.open(path, _FLAGS | os.O_NOFOLLOW, 0o666)
            stack.callback(os.close, results)
        in_progress = Work(path, results, log)
        try:
            with report_os_errors(path):
                _start(in_progress, work, resume=resume)
            yield in_progress
        finally:
            if not (in_progress.finished or in_progress.done.inputs):
                in_progress.finish()


def _check_ours(path: Path) -> None:
    """Raise ``StorageError`` for a file with content whose log has no head; the log is locked."""
    log = log_of(path)
    with log.open("rb") as lines:
        head = lines.readline()
    if (
        any("work" in fields for fields, _ in complete_lines(head))
        or not path.exists()
        or not path.stat().st_size
    ):
        return
    if not head:
        log.unlink()  # it was created a moment ago
    problem = f"not replaced, for no {log.name} says what is in it: not written by us"
    raise StorageError(f"{path}: {problem}; move it, or choose another name")


def log_of(path: Path) -> Path:
    """Return the log beside the results."""
    return path.with_name(path.name + ".log")


def _start(in_progress: Work, work: Mapping[str, str], *, resume: bool) -> None:
    """Resume some work or begin it anew, and log the process."""
    raw = log_of(in_progress.path).read_bytes()
    if resume:
        in_progress.resume(work, raw)
    else:
        units = (_parse_done(fields) for fields, _ in complete_lines(raw))
        in_progress.replaced = max((unit.inputs for unit in units if unit), default=0)
        in_progress.begin(work)
    write_all(in_progress.log, json_line({"process": os.getpid()}))
    flush(in_progress.path.parent)


@contextmanager
def _open_log(log: Path) -> Iterator[int]:
    """Open a log and hold its lock; raises ``StorageError`` with the process that holds it."""
    try:
        with open_locked(log, _FLAGS, seconds=0) as handle:
            yield handle
    except LockHeld:
        lines = complete_lines(log.read_bytes())
        owners = [fields["process"] for fields, _ in lines if "process" in fields]
        name = f"process {owners[-1]}" if owners else "another process"
        problem = f"{name} is at work here; wait for it, or end it first"
        raise StorageError(f"{log}: {problem}") from None


def json_line(fields: Mapping[str, Any]) -> bytes:
    """Return a line of a log."""
    return json.dumps(fields).encode() + b"\n"


def head_line(work: Mapping[str, str]) -> bytes:
    """Return the first line of a log, which says what the work is."""
    return json_line({"format": _FORMAT, "work": dict(work)})


def complete_lines(raw: bytes) -> list[tuple[dict[str, Any], int]]:
    """Return the complete lines and where each ends, up to the first that is not."""
    lines: list[tuple[dict[str, Any], int]] = []
    end = 0
    while (newline := raw.find(b"\n", end)) >= 0:
        try:
            fields = json.loads(raw[end:newline])
        except (ValueError, RecursionError):
            break
        if not isinstance(fields, dict):
            break
        end = newline + 1
        lines.append((fields, end))
    return lines


def _parse_done(fields: Mapping[str, Any]) -> Done | None:
    """Return how much is done by a line of the log, None for a line of another kind."""
    types = {name: type(value) for name, value in asdict(Done()).items()}
    is_done = {name: type(value) for name, value in fields.items()} == types
    return Done(**fields) if is_done else None


def _hash_range(handle: int, start: int, end: int, digest: "hashlib._Hash") -> bool:
    """Add a range of a file's bytes to a digest; return whether the file has all of them."""
    while start < end and (data := os.pread(handle, min(_CHUNK_BYTES, end - start), start)):
        digest.update(data)
        start += len(data)
    return start == end


def check_same(head: Mapping[str, Any], work: Mapping[str, str], path: Path) -> None:
    """Raise ``StorageError`` unless a log begins as the same work."""
    began = head.get("work")
    if head.get("format") != _FORMAT or not isinstance(began, dict):
        raise StorageError(f"{path}: expected a log of format {_FORMAT}; begin anew")
    for key in (*work, *began):
        before, now = began.get(key), work.get(key)
        if before != now:
            raise StorageError(
                f"{path}: cannot be gone on with: it was begun with {key} {before!r:.80}, now "
                f"{key} is {now!r:.80}; ask for the same, or begin anew"
            )
