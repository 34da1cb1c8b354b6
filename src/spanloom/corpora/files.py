"""Which files hold documents: by what a name ends in, and where that says little by its looks."""

from collections.abc import Iterator
from pathlib import Path

from spanloom.errors import DataError
from spanloom.formats import _files
from spanloom.formats.brat.read import PARTS

LINES = "jsonl"
LOG = "test-evaluations.jsonl"  # what ``evaluate`` notes in the folder where it is called
ANNOTATED = (".ann", *PARTS)
_BRAT = {".txt", *ANNOTATED}
_PROSE = {"", ".md", ".rst"}  # README, LICENSE: may show examples, and hold no documents


def is_file(path: Path) -> bool:
    """Whether this is a file with documents of a format that is not brat's, by name or looks."""
    suffix = path.suffix.lower()
    if path.name == LOG or not path.is_file():
        return False
    if suffix in _BRAT:
        return suffix == ".txt" and form(path) is not None
    return suffix == f".{LINES}" or (suffix in _files.suffixes() and bool(form(path)))


def form(path: Path) -> str | None:
    """Return the format of a file that is not brat's, None where none is known.

    A text with annotation beside it is brat's.
    """
    if path.suffix == ".txt" and any(path.with_suffix(end).exists() for end in ANNOTATED):
        return None
    return _files.guess(path)


def known_form(path: Path) -> str:
    """The format of a file of documents; what ends in .jsonl has a reader that tells what is wrong.

    Raises ``DataError`` where none is known.
    """
    found = form(path) or (LINES if path.suffix.lower() == f".{LINES}" else None)
    if found is None:
        problem = "cannot tell its format; spanloom convert --from NAME makes it readable"
        raise DataError(f"{path}: {problem}")
    return found


def holds_documents(path: Path) -> bool:
    """Whether a document lies in this file or anywhere below this folder, hidden ones apart.

    A file of any ending counts that looks like a format.
    """
    if not path.is_dir():
        return is_file(path) or _looks(path)
    endings = {*_BRAT, *_files.suffixes()}
    return any(each.suffix.lower() in endings and each.is_file() for each in _shown(path))


def holds_annotation(path: Path) -> bool:
    """Whether annotated documents lie in this file or anywhere below this folder.

    Texts alone do not count, nor do files whose format nobody knows.
    """
    if path.is_file():
        return path.suffix in ANNOTATED or is_file(path) or _looks(path)
    known = _files.suffixes()
    return any(
        each.suffix in ANNOTATED or (each.suffix.lower() in known and is_file(each))
        for each in _shown(path)
    )


def _looks(path: Path) -> bool:
    """Whether a file looks like documents though its name does not end so (``dev.annotated``)."""
    if path.name == LOG or path.suffix.lower() in {*_BRAT, *_PROSE}:
        return False
    return path.is_file() and form(path) is not None


def _shown(folder: Path) -> Iterator[Path]:
    """What lies below a folder, hidden things and what is in them apart."""
    for path in folder.rglob("*"):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path
