"""Files and folders that are written whole or not at all, and folders that are checked when read.

A file or folder is made beside its place under a hidden name (``.NAME.staging…``), flushed to the
disk and renamed into place, so that a reader finds the old state or the new one. A folder that
replaces another needs two renames; a crash between them leaves no ``NAME`` but ``.NAME.old-…``,
which ``recover`` (called by ``write_folder`` and ``verify_folder``) puts back. Locks (``flock``,
which end with their process) tell what a dead process left from what a living one is writing.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from spanloom.errors import ModelError, StorageError

MANIFEST = "manifest.json"
MANIFEST_BYTES = 1_000_000  # a larger manifest is refused before it is parsed
MAX_FILES = 2_000  # files in one folder, subfolders included
PICKLED = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"}  # loading these runs code


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, whole or not at all; a link at ``path`` is replaced by a file.

    Raises ``StorageError`` where that is not possible (disk full, read-only, no such folder, a pipe
    or device); what was there before is then untouched and no temporary file is left.
    """
    write_chunks(path, (data,))


def write_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """Write what ``chunks`` yields, one held at a time, otherwise as ``write_file`` does."""
    staging = _beside(path, "staging")
    check_replaceable(path)
    with reported(path), _opened_alone(staging) as handle:
        with ExitStack() as undo:
            undo.callback(_unlink, staging)
            os.ftruncate(handle, 0)
            for chunk in chunks:
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
            os.replace(staging, path)
            undo.pop_all()
        flush(path.parent)


@contextmanager
def write_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end it becomes ``target``, with a manifest.

    If the block raises, the staging folder is removed and ``target`` is untouched. An empty
    ``target`` counts as none; any other needs ``replace``, and must itself have a manifest, so that
    no folder of another origin is ever deleted. Raises ``StorageError``, also for an ``OSError``
    of the block.
    """
    staging = _beside(target, f"staging-{_unique()}")
    _sweep(target)
    with reported(target):
        recover(target)
        with _locked(target.parent):  # between the two renames of another writer it looks broken
            _check_target(target, replace=replace)
    with ExitStack() as undo:
        with reported(target):
            undo.enter_context(_made_alone(staging))
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        with reported(target):  # a full disk mostly shows while the folder is filled
            yield staging
            write_file(staging / MANIFEST, _manifest(staging))
            _flush_tree(staging)
            _swap(staging, target, replace=replace)
    _sweep(target)  # only now: until its lock ends, no sweep takes what was just replaced


def recover(target: Path) -> None:
    """Put back the folder that a crashed replacement of ``target`` had moved aside, if any.

    Raises ``StorageError`` where it is there but cannot be put back.
    """
    if os.path.lexists(target) or not target.parent.is_dir():
        return
    with reported(target), _locked(target.parent):
        aside = _leftovers(target, "old")
        # under the lock: a living writer may have ended its replacement meanwhile
        if aside and not os.path.lexists(target):
            os.rename(max(aside, key=lambda each: each.stat().st_mtime_ns), target)
            flush(target.parent)


def verify_folder(
    folder: Path, *, allowed: Collection[str] = (), blobs: Path | None = None
) -> dict[str, Path]:
    """Check ``folder`` against its manifest and return its files by name (relative, posix).

    Every file must be listed (but those in ``allowed``), regular, and of the listed size and
    SHA-256; links and names of pickled files are refused. Links to files right in ``blobs`` are let
    through: so a cache of downloads keeps its files. Raises ``ModelError``, and what ``recover``
    raises.
    """
    recover(folder)
    try:
        there = _files(folder, blobs)
        listed = _listed(folder, there)
        for name, (size, digest) in listed.items():
            _check_file(folder, there, name, size, digest)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read: {error.strerror or error}") from error
    extra = sorted(set(there) - set(listed) - {MANIFEST, *allowed})
    if extra:
        raise ModelError(f"{folder}: {extra[0]!r} is not listed in {MANIFEST}; it was added later")
    return {name: there[name] for name in listed}


def _check_file(folder: Path, there: dict[str, Path], name: str, size: int, digest: str) -> None:
    """Raise ``ModelError`` unless the file is there with that size and SHA-256."""
    if name not in there:
        raise ModelError(f"{folder}: {name!r} is listed in {MANIFEST} but is not there")
    got = there[name].stat().st_size
    if got != size:
        raise ModelError(f"{folder}: {name!r} has {got} bytes, {MANIFEST} says {size}")
    found = _digest(there[name])
    if found != digest:
        raise ModelError(f"{folder}: {name!r} has SHA-256 {found}, {MANIFEST} says {digest}")


def _files(folder: Path, blobs: Path | None = None) -> dict[str, Path]:
    """Every file under ``folder`` by its name; ``ModelError`` for links, devices, pickles."""
    found: dict[str, Path] = {}
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                path = Path(entry.path)
                name = path.relative_to(folder).as_posix()
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                    continue
                if not entry.is_file(follow_symlinks=False) and not _kept_in(blobs, path):
                    raise ModelError(f"{folder}: {name!r} is not a regular file (a link?)")
                if path.suffix.lower() in PICKLED:
                    raise ModelError(f"{folder}: {name!r} may hold pickled code; use safetensors")
                found[name] = path
                if len(found) + len(waiting) > MAX_FILES:
                    raise ModelError(f"{folder}: more than {MAX_FILES} files")
    return found


def _kept_in(blobs: Path | None, link: Path) -> bool:
    """Whether the link leads in the end to a regular file right in the folder ``blobs``."""
    if blobs is None:
        return False
    target = os.path.realpath(link)
    return os.path.dirname(target) == os.path.realpath(blobs) and os.path.isfile(target)


def _manifest(folder: Path) -> bytes:
    """The manifest of a staging folder: SHA-256 and size of every file, sorted by name."""
    try:
        there = _files(folder)
        files = {
            _safe(name): {"sha256": _digest(path), "size": path.stat().st_size}
            for name, path in sorted(there.items())
            if name != MANIFEST
        }
    except (ModelError, ValueError) as error:  # what could not be read back is not written either
        raise StorageError(str(error)) from error
    manifest = (json.dumps({"files": files}, indent=1) + "\n").encode()
    if len(manifest) > MANIFEST_BYTES:
        raise StorageError(f"{folder}: its {MANIFEST} would exceed {MANIFEST_BYTES} bytes")
    return manifest


def _listed(folder: Path, there: dict[str, Path]) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of every file the manifest lists."""
    if MANIFEST not in there:
        raise ModelError(f"{folder}: no {MANIFEST}; a model folder has one")
    with there[MANIFEST].open("rb") as stream:
        raw = stream.read(MANIFEST_BYTES + 1)
    if len(raw) > MANIFEST_BYTES:
        raise ModelError(f"{folder}: {MANIFEST} is larger than {MANIFEST_BYTES} bytes")
    try:
        files = json.loads(raw, object_pairs_hook=_without_twins)["files"]
        listed = {_safe(name): _entry(entry) for name, entry in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{folder}: {MANIFEST} is broken: {error}") from error
    return listed


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ; parsers disagree on which of two equal keys counts."""
    known = dict(pairs)
    if len(known) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return known


def _entry(entry: dict[str, Any]) -> tuple[int, str]:
    """Size and digest of one manifest entry."""
    size, digest = entry["size"], entry["sha256"]
    if type(size) is not int or not isinstance(digest, str):
        raise ValueError(f"expected size (integer) and sha256 (string), got {entry!r:.80}")
    return size, digest


def _safe(name: str) -> str:
    """The name, if it stays inside its folder on every system."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/") or re.search(r"[\\\0]", name):
        raise ValueError(f"{name!r} is no relative name inside the folder")
    return name


def _check_target(target: Path, *, replace: bool) -> None:
    """Raise ``StorageError`` where something stands at ``target`` that must not be replaced."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise StorageError(f"{target}: expected a folder or nothing, something else is there")
    if not any(target.iterdir()):
        return
    if not replace:
        raise StorageError(f"{target}: already there; choose another name or ask to replace it")
    if not (target / MANIFEST).is_file():
        raise StorageError(f"{target}: not replaced, for it has no {MANIFEST}: not written by us")


def _swap(staging: Path, target: Path, *, replace: bool) -> None:
    """Rename ``staging`` to ``target``, then delete what stood there."""
    aside = _beside(target, f"old-{_unique()}")
    with _locked(target.parent):
        _check_target(target, replace=replace)
        if target.exists():
            os.rename(target, aside)
        with ExitStack() as undo:
            if aside.exists():
                undo.callback(os.rename, aside, target)
            os.rename(staging, target)
            undo.pop_all()
        flush(target.parent)


def _sweep(target: Path) -> None:
    """Delete what ``target`` replaced, and what dead writers of it left; what resists may stay."""
    with suppress(OSError), _locked(target.parent):
        if target.exists():
            for path in _leftovers(target, "old"):
                # first no longer an old one: half deleted, it must never be put back
                os.rename(path, _beside(target, f"staging-{_unique()}"))
    with suppress(OSError):
        for path in _leftovers(target, "staging"):
            with suppress(OSError), _locked(path, wait=False) as alone:
                if alone:
                    shutil.rmtree(path, ignore_errors=True)


def _leftovers(target: Path, kind: str) -> list[Path]:
    """The hidden neighbours of ``target`` of one kind (``staging`` or ``old``)."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.{kind}-[0-9]+-[0-9a-f]+")
    return [each for each in target.parent.iterdir() if pattern.fullmatch(each.name)]


def _beside(target: Path, ending: str) -> Path:
    """The hidden neighbour of ``target`` with that ending."""
    if target.name in ("", ".."):
        raise StorageError(f"{target}: expected a path that ends in a name")
    return target.with_name(f".{target.name}.{ending}")


def _unique() -> str:
    """The end of a hidden name: the process, for people who look, and what no one else has."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


def check_replaceable(path: Path) -> None:
    """Refuse folders, and pipes, devices and links to open files, which a rename would destroy."""
    with reported(path):
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        opened = path.is_symlink() and path.readlink().is_relative_to("/proc")
        if opened or (path.exists() and not path.is_file() and not path.is_dir()):
            problem = "could not be written: expected a file or a new name, got a pipe or device"
            raise StorageError(f"{path}: {problem}")


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` into a ``StorageError`` of one line about ``path``."""
    try:
        yield
    except OSError as error:
        lost = error.errno == errno.ENOENT and not path.parent.is_dir()
        problem = f"no folder {path.parent}" if lost else error.strerror or str(error)
        raise StorageError(f"{path}: could not be written: {problem}") from error


@contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a folder; yields whether it is held (some network disks have none)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        yield _lock(handle, wait=wait)
    finally:
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Take the lock of an open file, which ends when it is closed; returns whether it is held."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


@contextmanager
def _opened_alone(path: Path) -> Iterator[int]:
    """Open the file for writing, made if need be, once no other process writes it."""
    while True:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
        handle = os.open(path, flags, 0o666)
        _lock(handle, wait=True)
        if is_at(handle, path):
            break
        os.close(handle)  # while we waited, its writer renamed it away
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _made_alone(path: Path) -> Iterator[None]:
    """Make a folder and hold its lock, so that no sweep takes it for a leftover."""
    while True:
        path.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # a sweep may come between any two of these lines
            handle = os.open(path, os.O_RDONLY)
            _lock(handle, wait=True)
            if is_at(handle, path):
                break
            os.close(handle)
    try:
        yield
    finally:
        os.close(handle)


def is_at(handle: int, path: Path) -> bool:
    """Whether the open file is still the one at ``path``."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    return False


def _unlink(path: Path) -> None:
    """Delete a file that may be gone."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def _digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flush_tree(folder: Path) -> None:
    """Have the disk hold every file and folder under ``folder``."""
    for place, _, names in os.walk(folder):
        for name in names:
            flush(Path(place, name))
        flush(Path(place))


def flush(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
