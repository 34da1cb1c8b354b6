"""Read a brat collection: a folder of documents, with subfolders.

A document's name is its path from the root without ``.txt``, so ``a/PMID.1.txt`` is ``a/PMID.1``.
Hidden files and folders are skipped; a link that leads out of the root is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats.brat.draft import Problem
from spanloom.formats.brat.read import LINK_OUT, PARTS, Reading, load


@dataclass(frozen=True, slots=True)
class Collection:
    """The documents of a folder by name, sorted, and the problems of files without a text."""

    root: Path
    documents: tuple[tuple[str, Path], ...] = ()
    problems: tuple[Problem, ...] = ()


def collect(root: Path) -> Collection:
    """Return the documents under ``root``; raises ``FormatError`` if it is not a folder."""
    if not root.is_dir():
        raise FormatError(str(root), None, "expected a folder of .txt and .ann files")
    texts: dict[str, Path] = {}
    suffix_by_stem: dict[str, str] = {}
    problems: list[Problem] = []
    for path in _files(root, problems):
        name = path.relative_to(root).as_posix()
        stem, suffix = name[: -len(path.suffix)], path.suffix
        if suffix == ".txt":
            texts[stem] = path
        elif suffix in (".ann", *PARTS):
            suffix_by_stem.setdefault(stem, suffix)
    without_text = [(stem, suffix) for stem, suffix in suffix_by_stem.items() if stem not in texts]
    problems += [
        Problem(stem, None, suffix, "has no .txt beside it") for stem, suffix in without_text
    ]
    return Collection(root, tuple(sorted(texts.items())), tuple(problems))


def read_all(
    root: Path, *, encoding: str = "utf-8", unreadable: list[Problem] | None = None
) -> Iterator[Reading]:
    """Yield every document under ``root`` by name.

    A document that cannot be read, such as one in another encoding, is added to ``unreadable`` and
    left out; without such a list it raises ``FormatError`` as ``load`` does.
    """
    for name, path in collect(root).documents:
        try:
            yield load(path, name=name, encoding=encoding)
        except FormatError as error:
            if unreadable is None:
                raise
            suffix = Path(error.path).suffix  # of the .txt or of an annotation file
            unreadable.append(Problem(name, error.line, suffix, error.problem))


def _files(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield the files under ``root``; each folder is visited once, so cyclic links end."""
    real_root = root.resolve()
    folders, seen = [root], {real_root}
    while folders:
        for path in _entries(folders.pop()):
            if path.name.startswith("."):
                continue
            real_path = path.resolve()
            if not real_path.is_relative_to(real_root):
                name = path.relative_to(root).as_posix()
                problems.append(Problem(name, None, "", LINK_OUT))
            elif real_path.is_file():
                yield path
            elif real_path.is_dir() and real_path not in seen:
                seen.add(real_path)
                folders.append(path)


def _entries(folder: Path) -> list[Path]:
    """Return the paths in a folder, sorted by name."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise FormatError(str(folder), None, f"cannot be read: {error.strerror}") from error
