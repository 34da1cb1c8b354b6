"""Recognize files that hold documents, by suffix and, where that is not enough, by content."""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from spanloom.atomic_io import MANIFEST
from spanloom.errors import DataError, FormatError
from spanloom.formats import _files, _unrecognized
from spanloom.formats._text import UTF8
from spanloom.formats.brat.read import PARTS

LINES = "jsonl"
LOG = "test-evaluations.jsonl"  # what ``evaluate`` notes in the folder where it is called
PREPARED = "prepared.json"  # what ``glad prepare`` notes in a dataset
HEADS = "heads.json"  # what ``glad heads`` notes
NOTES = frozenset({LOG, MANIFEST, PREPARED, HEADS})  # beside documents, and none themselves
ANNOTATED = (".ann", *PARTS)
BRAT = {".txt", *ANNOTATED}
_PROSE = {"", ".md", ".rst"}  # README, LICENSE: may show examples, and hold no documents


def is_file(path: Path, encoding: str = UTF8) -> bool:
    """Whether this is a file of documents, by suffix or content, in a format other than brat's.

    ``encoding``, here and below, is that of text files.
    """
    suffix = path.suffix.lower()
    if path.name in NOTES or not path.is_file():
        return False
    if suffix in BRAT:
        return suffix == ".txt" and detect_format(path, encoding) is not None
    if suffix == f".{LINES}":
        return True
    return suffix in _files.suffixes() and detect_format(path, encoding) is not None


def total_bytes(paths: Iterable[Path]) -> int:
    """Return the bytes of the files among some paths; one that has just gone counts as none."""
    return sum(path.stat().st_size for path in paths if path.is_file())


def detect_format(path: Path, encoding: str = UTF8) -> str | None:
    """Return the name of a file's format, None for an unknown one and for brat files.

    A text file with an annotation file beside it is brat's.
    """
    if path.suffix == ".txt" and any(path.with_suffix(end).exists() for end in ANNOTATED):
        return None
    return _files.guess(path, encoding)


def require_format(path: Path, encoding: str = UTF8) -> str:
    """Return the format of a file of documents; ``.jsonl`` is the default for its suffix.

    Raises ``DataError`` if the format cannot be recognized, ``FormatError`` for a file that is
    broken or empty.
    """
    default = LINES if path.suffix.lower() == f".{LINES}" else None
    name = detect_format(path, encoding) or default
    if name is None:
        if broken := problem_of(path, encoding):
            raise broken
        problem = "cannot tell its format; spanloom convert --from NAME makes it readable"
        raise DataError(f"{path}: {problem}")
    return name


def holds_documents(path: Path, encoding: str = UTF8) -> bool:
    """Whether this is a file of documents, or one is below this folder; hidden files are ignored.

    A single file may have any suffix if its content looks like a known format.
    """
    if not path.is_dir():
        return is_file(path, encoding) or _has_known_content(path, encoding)
    suffixes = {*BRAT, *_files.suffixes()}
    return any(child.suffix.lower() in suffixes and child.is_file() for child in visible(path))


def holds_annotation(path: Path, encoding: str = UTF8) -> bool:
    """Whether this is a file of annotated documents, or one is below this folder.

    Plain texts do not count, nor do files of unknown format.
    """
    if path.is_file():
        is_named_so = path.suffix in ANNOTATED or is_file(path, encoding)
        return is_named_so or _has_known_content(path, encoding)
    suffixes = _files.suffixes()
    return any(
        child.suffix in ANNOTATED or (child.suffix.lower() in suffixes and is_file(child, encoding))
        for child in visible(path)
    )


def _has_known_content(path: Path, encoding: str) -> bool:
    """Whether a file of unusual name (``dev.annotated``) has the content of a known format."""
    if path.name in NOTES or path.suffix.lower() in {*BRAT, *_PROSE}:
        return False
    return path.is_file() and detect_format(path, encoding) is not None


def problem_of(path: Path, encoding: str = UTF8) -> FormatError | None:
    """Return what is wrong with a file that seems to be of a format, and is broken or empty.

    None for brat files, prose and notes, which are of none.
    """
    if path.name in NOTES or path.suffix.lower() in {*BRAT, *_PROSE}:
        return None
    return _unrecognized.problem_of(path, encoding)


def visible(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder, except hidden files and the content of hidden folders."""
    for path in folder.rglob("*"):
        if not is_hidden(path.relative_to(folder)):
            yield path


def is_hidden(path: PurePath) -> bool:
    """Whether a path, relative to a corpus, is that of a hidden file or in a hidden folder."""
    return any(part.startswith(".") for part in path.parts)
