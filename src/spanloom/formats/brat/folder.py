"""A collection: a folder of brat documents, with folders in it.

A document's name is its path from the root without ``.txt``, so ``a/PMID.1.txt`` is ``a/PMID.1``.
Hidden files and folders are left out; a link that leads out of the root is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats.brat.draft import Problem
from spanloom.formats.brat.read import PARTS, Reading, load


@dataclass(frozen=True, slots=True)
class Collection:
    """The documents of a folder by name, sorted, and what in it is no document but looks it."""

    root: Path
    documents: tuple[tuple[str, Path], ...] = ()
    problems: tuple[Problem, ...] = ()


def collect(root: Path) -> Collection:
    """Return the documents under ``root``; raises ``FormatError`` where it is no folder."""
    if not root.is_dir():
        raise FormatError(str(root), None, "expected a folder of .txt and .ann files")
    texts: dict[str, Path] = {}
    annotated: dict[str, str] = {}
    problems: list[Problem] = []
    for path in _files(root, problems):
        name = path.relative_to(root).as_posix()
        stem, suffix = name[: -len(path.suffix)], path.suffix
        if suffix == ".txt":
            texts[stem] = path
        elif suffix in (".ann", *PARTS):
            annotated.setdefault(stem, suffix)
    lonely = [(stem, suffix) for stem, suffix in annotated.items() if stem not in texts]
    problems += [Problem(stem, None, suffix, "has no .txt beside it") for stem, suffix in lonely]
    return Collection(root, tuple(sorted(texts.items())), tuple(problems))


def read_all(root: Path, *, encoding: str = "utf-8") -> Iterator[Reading]:
    """Yield every document under ``root`` by name; raises ``FormatError`` as ``load`` does."""
    for name, path in collect(root).documents:
        yield load(path, name=name, encoding=encoding)


def _files(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield the files, folder by folder; every folder once, so links in a circle end."""
    inside = root.resolve()
    waiting, seen = [root], {inside}
    while waiting:
        for path in _entries(waiting.pop()):
            if path.name.startswith("."):
                continue
            real = path.resolve()
            if not real.is_relative_to(inside):
                name = path.relative_to(root).as_posix()
                problems.append(Problem(name, None, "", "a link that leaves the folder; not read"))
            elif real.is_file():
                yield path
            elif real.is_dir() and real not in seen:
                seen.add(real)
                waiting.append(path)


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder, by name."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise FormatError(str(folder), None, f"cannot be read: {error.strerror}") from error
