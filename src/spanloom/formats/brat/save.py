"""Put a document's files into a folder: whole or not at all, never over someone else's edit."""

from pathlib import Path, PurePosixPath

from spanloom.document import Document
from spanloom.errors import StorageError
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.write import original, parts, text_file
from spanloom.storage import write_file


def save(
    document: Document, folder: Path, *, encoding: str = "utf-8", overwrite: bool = False
) -> tuple[Path, ...]:
    """Write ``NAME.txt`` and the files beside it under ``folder``; returns what was written.

    A file whose content would not change is not touched. Raises ``StorageError``, and then writes
    nothing: a name that leaves the folder, a read-only file, a character that the encoding lacks,
    or a file that changed on disk since it was read (with ``overwrite`` that one is replaced);
    ``DocumentError`` as ``write.parts``.
    """
    base = inside(folder, document.name)
    wanted = {".txt": text_file(document), **parts(document)}
    for suffix in (".ann", sidecar.SUFFIX, queries.SUFFIX):
        if base.with_name(base.name + suffix).exists():
            wanted.setdefault(suffix, "")  # what is not in the document must not stay beside it
    before = {suffix: original(document, suffix) for suffix in wanted}
    before[".txt"] = wanted[".txt"]  # the text is never edited here
    changed: list[tuple[Path, bytes]] = []
    for suffix, content in wanted.items():
        path = base.with_name(base.name + suffix)
        data = _encoded(path, content, encoding)
        old = _encoded(path, before[suffix] or "", encoding)
        if _differs(path, data, old, overwrite=overwrite):
            changed.append((path, data))
    if changed:
        make_folder(base.parent)
    for path, data in changed:
        write_file(path, data)
    return tuple(path for path, _ in changed)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a document in a folder; ``StorageError`` if the name leads out of it."""
    pure = PurePosixPath(name)
    wrong = not pure.name or pure.is_absolute() or ".." in pure.parts or set(name) & {"\\", "\0"}
    path = folder.joinpath(*pure.parts)
    if wrong or not path.resolve().is_relative_to(folder.resolve()):
        raise StorageError(f"{folder}: the document name {name!r} leads out of the folder")
    return path


def _encoded(path: Path, content: str, encoding: str) -> bytes:
    """Return the bytes of a file."""
    try:
        return content.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise StorageError(f"{path}: cannot be written as {encoding}: {error}") from error


def _differs(path: Path, data: bytes, old: bytes, *, overwrite: bool) -> bool:
    """Whether the file must be written; raises ``StorageError`` where it must not."""
    try:
        there = path.read_bytes() if path.exists() else None
        locked = there is not None and not path.stat().st_mode & 0o222
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
    if there == data:
        return False
    if locked:
        raise StorageError(f"{path}: not written, the file is read-only")
    if there and there != old and not overwrite:
        raise StorageError(
            f"{path}: not written, the file is not the one that was read (changed since, or "
            "another document's); read it again, or ask to overwrite"
        )
    return True


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; raises ``StorageError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be made: {error.strerror}") from error
