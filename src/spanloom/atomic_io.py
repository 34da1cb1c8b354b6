"""Write files and folders completely or not at all, and check folders when they are read.

A file or folder is written beside its target under a hidden name (``.NAME.staging…``), flushed to
the disk and renamed, so a reader finds the old state or the new one. Replacing a folder takes two
renames; a crash between them leaves no ``NAME`` but ``.NAME.old-…``, which ``recover`` (called by
``write_folder`` and ``verify_folder``) renames back. Locks tell what a dead process left from what
a living one is writing.
"""

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from spanloom.errors import ModelError, StorageError
from spanloom.file_lock import LockHeld, open_locked
from spanloom.strict_json import unique_keys

MANIFEST = "manifest.json"
MANIFEST_BYTES = 1_000_000  # a larger manifest is refused before it is parsed
MAX_FILES = 2_000  # files in one folder, subfolders included
PICKLED = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"}  # loading these runs code
_BESIDE = {".git", ".gitattributes", ".cache"}  # of git, and of the hub


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` completely or not at all; a link is replaced by a file.

    Raises ``StorageError`` if that is not possible (disk full, read-only, no such folder, a pipe or
    device); an existing file is then unchanged and no temporary file is left.
    """
    write_chunks(path, (data,))


def write_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """Write the chunks one after the other, otherwise as ``write_file`` does."""
    staging = _hidden_sibling(path, "staging")
    check_replaceable(path)
    with report_os_errors(path), open_locked(staging, os.O_WRONLY | os.O_CREAT) as handle:
        with ExitStack() as undo:
            undo.callback(staging.unlink, missing_ok=True)
            os.ftruncate(handle, 0)
            for chunk in chunks:
                write_all(handle, chunk)
            os.fsync(handle)
            os.replace(staging, path)
            undo.pop_all()
        flush(path.parent)


def write_all(handle: int, data: bytes) -> None:
    """Write all data to an open file; raises ``OSError``."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(handle, remaining) :]


def sha256_of(path: Path | str) -> str:
    """Return the SHA-256 (hex) of a file; raises ``OSError``."""
    with open(path, "rb", buffering=0) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def write_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end it becomes ``target``, with a manifest.

    If the block raises, the staging folder is deleted and ``target`` is unchanged. A ``target``
    that exists is replaced if it is empty or has a manifest; a folder of another origin is never
    deleted. Raises ``StorageError``, also for an ``OSError`` of the block.
    """
    staging = _hidden_sibling(target, f"staging-{_unique_suffix()}")
    _delete_leftovers(target)
    with report_os_errors(target):
        recover(target)
        with _lock(target.parent):  # another writer may be between its two renames
            _check_target(target)
    with ExitStack() as undo:
        with report_os_errors(target):
            _make_locked(staging, undo)
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        with report_os_errors(target):  # a full disk mostly shows while the folder is filled
            yield staging
            write_file(staging / MANIFEST, _manifest(staging))
            _flush_tree(staging)
            _swap(staging, target)
    _delete_leftovers(target)  # after the lock has ended, which protects the replaced folder


def recover(target: Path) -> None:
    """Restore the folder that a crashed replacement of ``target`` had renamed, if any.

    Raises ``StorageError`` if it cannot be restored.
    """
    if os.path.lexists(target) or not target.parent.is_dir():
        return
    with report_os_errors(target), _lock(target.parent):
        replaced = _leftovers(target, "old")
        # checked again under the lock: another writer may have finished its replacement
        if replaced and not os.path.lexists(target):
            os.rename(max(replaced, key=lambda path: path.stat().st_mtime_ns), target)
            flush(target.parent)


def verify_folder(folder: Path, *, blobs: Path | None = None) -> dict[str, Path]:
    """Check ``folder`` against its manifest and return its files by name (relative, posix).

    All files must be listed, regular, and of the listed size and SHA-256; links and names of
    pickled files are refused. Links to files directly in ``blobs``, the folder of a download cache,
    are accepted. Raises ``ModelError``, and the errors of ``recover``.
    """
    recover(folder)
    try:
        paths = _files(folder, blobs)
        listed = _read_manifest(folder, paths)
        for name, (size, digest) in listed.items():
            _check_file(folder, paths, name, size, digest)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read: {error.strerror or error}") from error
    extra = sorted(set(paths) - set(listed) - {MANIFEST})
    if extra:
        raise ModelError(f"{folder}: {extra[0]!r} is not listed in {MANIFEST}; it was added later")
    return {name: paths[name] for name in listed}


def _check_file(folder: Path, paths: dict[str, Path], name: str, size: int, digest: str) -> None:
    """Raise ``ModelError`` unless the file exists with this size and SHA-256."""
    if name not in paths:
        raise ModelError(f"{folder}: {name!r} is listed in {MANIFEST} but is not there")
    actual_size = paths[name].stat().st_size
    if actual_size != size:
        raise ModelError(f"{folder}: {name!r} has {actual_size} bytes, {MANIFEST} says {size}")
    actual = sha256_of(paths[name])
    if actual != digest:
        raise ModelError(f"{folder}: {name!r} has SHA-256 {actual}, {MANIFEST} says {digest}")


def _files(folder: Path, blobs: Path | None = None) -> dict[str, Path]:
    """Return all files under ``folder`` by name; ``ModelError`` for links, devices, pickles.

    What the hub and git lay beside them is passed over.
    """
    files: dict[str, Path] = {}
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                path = Path(entry.path)
                name = path.relative_to(folder).as_posix()
                if name in _BESIDE:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                    continue
                if not entry.is_file(follow_symlinks=False) and not _leads_into(blobs, path):
                    raise ModelError(f"{folder}: {name!r} is not a regular file (a link?)")
                if path.suffix.lower() in PICKLED:
                    raise ModelError(f"{folder}: {name!r} may hold pickled code; use safetensors")
                files[name] = path
                if len(files) + len(pending) > MAX_FILES:
                    raise ModelError(f"{folder}: more than {MAX_FILES} files")
    return files


def _leads_into(blobs: Path | None, link: Path) -> bool:
    """Return whether a link's final target is a regular file directly in the folder ``blobs``."""
    if blobs is None:
        return False
    target = os.path.realpath(link)
    return os.path.dirname(target) == os.path.realpath(blobs) and os.path.isfile(target)


def _manifest(folder: Path) -> bytes:
    """Return the manifest of a staging folder: SHA-256 and size of all files, sorted by name."""
    try:
        files = {
            _require_safe(name): {"sha256": sha256_of(path), "size": path.stat().st_size}
            for name, path in sorted(_files(folder).items())
            if name != MANIFEST
        }
    except (ModelError, ValueError) as error:  # a folder that could not be read back
        raise StorageError(str(error)) from error
    manifest = (json.dumps({"files": files}, indent=1) + "\n").encode()
    if len(manifest) > MANIFEST_BYTES:
        raise StorageError(f"{folder}: its {MANIFEST} would exceed {MANIFEST_BYTES} bytes")
    return manifest


def _read_manifest(folder: Path, paths: dict[str, Path]) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of the files that the manifest lists."""
    if MANIFEST not in paths:
        raise ModelError(f"{folder}: no {MANIFEST}; a model folder has one")
    with paths[MANIFEST].open("rb") as stream:
        raw = stream.read(MANIFEST_BYTES + 1)
    if len(raw) > MANIFEST_BYTES:
        raise ModelError(f"{folder}: {MANIFEST} is larger than {MANIFEST_BYTES} bytes")
    try:
        files = json.loads(raw, object_pairs_hook=unique_keys)["files"]
        return {_require_safe(name): _parse_entry(entry) for name, entry in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{folder}: {MANIFEST} is broken: {error}") from error


def _parse_entry(entry: dict[str, Any]) -> tuple[int, str]:
    """Return size and digest of one manifest entry."""
    size, digest = entry["size"], entry["sha256"]
    if type(size) is not int or not isinstance(digest, str):
        raise ValueError(f"expected size (integer) and sha256 (string), got {entry!r:.80}")
    return size, digest


def _require_safe(name: str) -> str:
    """Return the name; ValueError if it leads out of its folder on any system."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/") or re.search(r"[\\\0]", name):
        raise ValueError(f"{name!r} is no relative name inside the folder")
    return name


def _check_target(target: Path) -> None:
    """Raise ``StorageError`` if ``target`` exists and must not be replaced."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise StorageError(f"{target}: expected a folder or nothing, something else is there")
    if any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise StorageError(f"{target}: not replaced, for it has no {MANIFEST}: not written by us")


def _swap(staging: Path, target: Path) -> None:
    """Rename ``staging`` to ``target``; an existing folder is renamed first."""
    replaced = _hidden_sibling(target, f"old-{_unique_suffix()}")
    with _lock(target.parent):
        _check_target(target)
        if target.exists():
            os.rename(target, replaced)
        with ExitStack() as undo:
            if replaced.exists():
                undo.callback(os.rename, replaced, target)
            os.rename(staging, target)
            undo.pop_all()
        flush(target.parent)


def _delete_leftovers(target: Path) -> None:
    """Delete folders that ``target`` replaced or dead writers left; errors are ignored."""
    with suppress(OSError), _lock(target.parent):
        if target.exists():
            for path in _leftovers(target, "old"):
                # renamed before it is deleted, because a partial folder must not be restored
                os.rename(path, _hidden_sibling(target, f"staging-{_unique_suffix()}"))
    with suppress(OSError):
        for path in _leftovers(target, "staging"):
            with suppress(OSError, LockHeld), _lock(path, seconds=0, required=True):
                shutil.rmtree(path, ignore_errors=True)


def _leftovers(target: Path, kind: str) -> list[Path]:
    """Return the hidden siblings of ``target`` of one kind (``staging`` or ``old``)."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.{kind}-[0-9]+-[0-9a-f]+")
    return [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]


def _hidden_sibling(target: Path, ending: str) -> Path:
    """Return the hidden sibling of ``target`` with this ending."""
    if target.name in ("", ".."):
        raise StorageError(f"{target}: expected a path that ends in a name")
    return target.with_name(f".{target.name}.{ending}")


def _unique_suffix() -> str:
    """Return the end of a hidden name: the process id, for people who look, and a random token."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


def check_replaceable(path: Path) -> None:
    """Raise ``StorageError`` for a folder, and for a pipe, device or link to an open file."""
    with report_os_errors(path):
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        is_open_file = path.is_symlink() and path.readlink().is_relative_to("/proc")
        if is_open_file or (path.exists() and not path.is_file() and not path.is_dir()):
            problem = "could not be written: expected a file or a new name, got a pipe or device"
            raise StorageError(f"{path}: {problem}")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents; raises ``StorageError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be made: {error.strerror}") from error


@contextmanager
def report_os_errors(path: Path) -> Iterator[None]:
    """Context manager that turns an ``OSError`` into a ``StorageError`` of one line."""
    try:
        yield
    except OSError as error:
        has_no_folder = error.errno == errno.ENOENT and not path.parent.is_dir()
        problem = f"no folder {path.parent}" if has_no_folder else error.strerror or str(error)
        raise StorageError(f"{path}: could not be written: {problem}") from error


def _lock(
    folder: Path, *, seconds: float = math.inf, required: bool = False
) -> AbstractContextManager[int]:
    """Return a context manager that holds the lock of a folder; see ``open_locked``."""
    real = Path(os.path.realpath(folder))
    return open_locked(real, os.O_RDONLY, seconds=seconds, required=required)


def _make_locked(folder: Path, locks: ExitStack) -> None:
    """Create a folder and hold its lock, so that no other writer deletes it as a leftover."""
    while True:
        folder.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # deleted before it was locked
            locks.enter_context(_lock(folder))
            return


def _flush_tree(folder: Path) -> None:
    """Flush all files and folders under ``folder`` to the disk."""
    for subfolder, _, names in os.walk(folder):
        for name in names:
            flush(Path(subfolder, name))
        flush(Path(subfolder))


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
