"""Where the documents of a corpus lie: a folder of splits, one flat folder, or one file.

corpus/train/… dev/… test/…            brat collections, nested as they like
corpus/train.jsonl dev.jsonl …         or files of any other format that its looks tell
                                       (``splits`` knows the names)
corpus/…                               documents without splits: the split "all"
corpus.jsonl                           the split "all"
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from spanloom.corpora import files
from spanloom.corpora.splits import SPLITS, find
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats import _files, jsonl
from spanloom.formats._names import is_counted
from spanloom.formats.brat import folder
from spanloom.formats.brat.draft import Problem

ALL = "all"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of one split, sorted by name, and what was wrong with their files.

    ``root`` is the folder their names start from; None for documents that were made, not read.
    ``forms`` are the formats that were read.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    root: Path | None = None
    forms: tuple[str, ...] = ()


@contextmanager
def growing() -> Iterator[None]:
    """While many values are made that stay, keep Python from looking for cycles among them.

    Documents are millions of small frozen values without cycles; looking through them again and
    again as they grow took half of the time of reading a corpus.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


def splits(path: Path) -> dict[str, Path]:
    """Return the folder or file of each split, in the order train, dev, test.

    Documents without splits are the split "all". Raises ``DataError`` where the path is missing or
    holds no documents, and what ``splits.find`` raises.
    """
    if files.is_file(path):
        return {ALL: path}
    if not path.is_dir():
        raise DataError(f"{path}: expected a corpus folder or a file of documents, found none")
    found = find(path)
    if found:
        return found
    if not files.holds_documents(path):
        looked = ", ".join(f"{name}/" for name in SPLITS)
        raise DataError(f"{path}: no documents; looked for {looked} and *.txt, *.ann, *.jsonl")
    return {ALL: path}


def _lines(path: Path) -> Iterable[Document]:
    """The documents of one file, each named."""
    name = files.known_form(path)
    if name == files.LINES:
        return jsonl.read(path)  # line by line
    form = _files.load(name)
    return _files.named(_files.read(path, form, _files.suited(path, form)), path)


def place(path: Path, split: str) -> Path:
    """Return where one split lies; raises ``DataError`` with the splits there are."""
    known = splits(path)
    if split not in known:
        raise DataError(f"{path}: no split {split!r} (splits there: {', '.join(known)})")
    return known[split]


@growing()
def read(path: Path, split: str) -> Corpus:
    """Read one split of a corpus; names of documents start from the split's own folder.

    Raises ``DataError`` where the split is missing or empty or two documents have one name, and
    ``FormatError`` for files that cannot be read at all; lines that make no sense are problems.
    """
    root = place(path, split)
    if root.is_file():
        return _corpus(_lines(root), (), root, [files.known_form(root)])
    readings = list(folder.read_all(root))
    documents = [reading.document for reading in readings]
    forms = [_files.BRAT] * bool(documents)
    others = _beside(root, documents)
    for path in others:
        documents += _lines(path) if len(others) == 1 else _apart(_lines(path), path)
        forms.append(files.known_form(path))
    problems = list(folder.collect(root).problems)
    problems += [problem for reading in readings for problem in reading.problems]
    return _corpus(documents, problems, root, forms)


def _beside(root: Path, texts: Sequence[Document]) -> list[Path]:
    """The files of other formats in a folder of these texts.

    Beside annotated ones only JSON lines are meant; beside others (a licence) what is recognized,
    and without any texts all that end as if they held documents.
    """
    there = sorted(each for each in root.iterdir() if each.is_file())
    if any(each.layers or each.queries for each in texts):
        return [e for e in there if e.suffix.lower() == f".{files.LINES}" and files.is_file(e)]
    endings = _files.suffixes()
    known = [each for each in there if each.suffix.lower() in endings]
    return [each for each in known if files.is_file(each)] if texts else known


def _apart(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    """Yield the documents of one of several files; those called by number: by its name too."""
    for each in documents:
        counted = is_counted(each.name)
        yield replace(each, name=f"{path.stem}/{each.name}") if counted else each


def _corpus(
    documents: Iterable[Document], problems: Iterable[Problem], root: Path, forms: Iterable[str]
) -> Corpus:
    """Sort by name; refuse none at all and names that occur twice."""
    ordered = tuple(sorted(documents, key=lambda each: each.name))
    if not ordered:
        raise DataError(f"{root}: no documents; looked for *.txt (with .ann) and *.jsonl")
    name, times = Counter(each.name for each in ordered).most_common(1)[0]
    if times > 1:
        raise DataError(f"{root}: expected one document {name!r}, got {times}")
    return Corpus(ordered, tuple(problems), root, tuple(dict.fromkeys(forms)))
