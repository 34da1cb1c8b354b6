"""Save a document's files to a folder: atomically, and never over another program's edit."""

import os
from pathlib import Path, PurePosixPath

from spanloom.atomic_io import make_folder, write_file
from spanloom.document import Document
from spanloom.errors import StorageError
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.write import original, parts, text_file

_MAX_BYTES = 230  # of a file's name: 255 in most file systems, less our suffixes


def save(
    document: Document,
    folder: Path,
    *,
    encoding: str = "utf-8",
    overwrite: bool = False,
    list_layers: bool = False,
) -> tuple[Path, ...]:
    """Write ``NAME.txt`` and its annotation files under ``folder``; return the written paths.

    A file whose content would not change is not touched. Raises ``StorageError``, and then writes
    nothing, for a name that ``inside`` refuses, a read-only file, a character that the
    encoding lacks, or a file that changed on disk since it was read (``overwrite`` replaces that
    one); raises ``DocumentError`` as ``write.parts`` does, which says what ``list_layers`` is.
    """
    base = inside(folder, document.name)
    contents = {".txt": text_file(document), **parts(document, list_layers=list_layers)}
    for suffix in (".ann", sidecar.SUFFIX, queries.SUFFIX):
        if base.with_name(base.name + suffix).exists():
            # what the document no longer holds must not stay on disk
            contents.setdefault(suffix, "")
    original_contents = {suffix: original(document, suffix) for suffix in contents}
    original_contents[".txt"] = contents[".txt"]  # the text is never edited here
    changed_files: list[tuple[Path, bytes]] = []
    for suffix, content in contents.items():
        path = base.with_name(base.name + suffix)
        data = _encode(path, content, encoding)
        old = _encode(path, original_contents[suffix] or "", encoding)
        if _must_write(path, data, old, overwrite=overwrite):
            changed_files.append((path, data))
    if changed_files:
        make_folder(base.parent)
    for path, data in changed_files:
        write_file(path, data)
    return tuple(path for path, _ in changed_files)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a document in a folder.

    Raises ``StorageError`` if there is no name, if it leads out of the folder, is hidden, as
    readers skip hidden files and folders, is longer than names of files can be, or has a character
    that none can have.
    """
    if not name:
        raise StorageError(f"{folder}: expected a document with a name, got one without")
    relative = PurePosixPath(name)
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        problem = f"the document name {name!r} has a character that no path can have"
        raise StorageError(f"{folder}: {problem}: {error.reason}") from error
    is_invalid = (
        not relative.name
        or relative.is_absolute()
        or ".." in relative.parts
        or set(name) & {"\\", "\0"}
    )
    path = folder.joinpath(*relative.parts)
    if is_invalid or not path.resolve().is_relative_to(folder.resolve()):
        raise StorageError(f"{folder}: the document name {name!r} leads out of the folder")
    too_long = next((part for part in relative.parts if len(os.fsencode(part)) > _MAX_BYTES), None)
    if too_long is not None:
        problem = f"expected a name of at most {_MAX_BYTES} bytes, got {too_long[:60]!r}…"
        raise StorageError(f"{folder}: {problem}")
    hidden = next((part for part in relative.parts if part.startswith(".")), None)
    if hidden is not None:
        problem = f"the document name {name!r} is hidden, so no reader would find it"
        raise StorageError(f"{folder}: {problem}: expected no dot at the start of {hidden!r}")
    return path


def _encode(path: Path, content: str, encoding: str) -> bytes:
    """Return the content as bytes; raises ``StorageError``."""
    try:
        return content.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise StorageError(f"{path}: cannot be written as {encoding}: {error}") from error


def _must_write(path: Path, data: bytes, original_data: bytes, *, overwrite: bool) -> bool:
    """Whether the file must be written; raises ``StorageError`` if it must not be replaced."""
    try:
        disk = path.read_bytes() if path.exists() else None
        is_read_only = disk is not None and not path.stat().st_mode & 0o222
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
    if disk == data:
        return False
    if is_read_only:
        raise StorageError(f"{path}: not written, the file is read-only")
    if disk and disk != original_data and not overwrite:
        raise StorageError(
            f"{path}: not written, the file is not the one that was read (changed since, or "
            "another document's); choose another place, or delete the file"
        )
    return True
