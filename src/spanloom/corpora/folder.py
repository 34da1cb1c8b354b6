"""Find and read the splits of a corpus: a folder of splits, a flat folder, or a file.

corpus/train/… dev/… test/…            brat collections, nested to any depth
corpus/train.jsonl dev.jsonl …         or files of any other format that can be recognized
                                       (``splits`` has the accepted names)
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
from spanloom.formats._document_builder import is_counted
from spanloom.formats.brat import folder
from spanloom.formats.brat.draft import Problem

ALL = "all"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of one split, sorted by name, and the problems found in their files.

    ``root`` is the folder that document names are relative to; None for documents created in
    memory. ``forms`` are the formats that were read.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    root: Path | None = None
    forms: tuple[str, ...] = ()


@contextmanager
def pause_gc() -> Iterator[None]:
    """Context manager that disables the cyclic garbage collector while many documents are created.

    Documents are millions of small frozen values without cycles; scanning them again and again as
    they grew took half of the time of reading a corpus.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def splits(path: Path) -> dict[str, Path]:
    """Return the folder or file of each split, in the order train, dev, test.

    Documents without splits are the split "all". Raises ``DataError`` if the path is missing or
    holds no documents, and the errors of ``splits.find``.
    """
    if files.is_file(path):
        return {ALL: path}
    if not path.is_dir():
        raise DataError(f"{path}: expected a corpus folder or a file of documents, found none")
    by_split = find(path)
    if by_split:
        return by_split
    if not files.holds_documents(path):
        folders = ", ".join(f"{name}/" for name in SPLITS)
        raise DataError(f"{path}: no documents; looked for {folders} and *.txt, *.ann, *.jsonl")
    return {ALL: path}


def _read_file(path: Path) -> Iterable[Document]:
    """Yield the named documents of one file."""
    format_name = files.known_form(path)
    if format_name == files.LINES:
        return jsonl.read(path)  # line by line
    file_format = _files.load(format_name)
    return _files.named(_files.read(path, file_format, _files.suited(path, file_format)), path)


def place(path: Path, split: str) -> Path:
    """Return the path of one split; raises ``DataError`` that lists the splits of the corpus."""
    by_split = splits(path)
    if split not in by_split:
        raise DataError(f"{path}: no split {split!r} (splits there: {', '.join(by_split)})")
    return by_split[split]


@pause_gc()
def read(path: Path, split: str) -> Corpus:
    """Read one split of a corpus; document names are relative to the split's folder.

    Raises ``DataError`` if the split is missing or empty or two documents have one name, and
    ``FormatError`` for unreadable files; invalid lines become problems.
    """
    root = place(path, split)
    if root.is_file():
        return _corpus(_read_file(root), (), root, [files.known_form(root)])
    readings = list(folder.read_all(root))
    documents = [reading.document for reading in readings]
    format_names = [_files.BRAT] * bool(documents)
    other_files = _other_files(root, documents)
    for path in other_files:
        documents += (
            _read_file(path) if len(other_files) == 1 else _with_file_names(_read_file(path), path)
        )
        format_names.append(files.known_form(path))
    problems = list(folder.collect(root).problems)
    problems += [problem for reading in readings for problem in reading.problems]
    return _corpus(documents, problems, root, format_names)


def _other_files(root: Path, documents: Sequence[Document]) -> list[Path]:
    """Return the files of other formats in a brat folder with these documents.

    Beside annotated documents only JSON lines count; beside plain texts, where a licence may lie,
    files of recognized content; without any text, every file with the suffix of a format.
    """
    children = sorted(child for child in root.iterdir() if child.is_file())
    if any(document.layers or document.queries for document in documents):
        return [
            child
            for child in children
            if child.suffix.lower() == f".{files.LINES}" and files.is_file(child)
        ]
    suffixes = _files.suffixes()
    candidates = [child for child in children if child.suffix.lower() in suffixes]
    return [child for child in candidates if files.is_file(child)] if documents else candidates


def _with_file_names(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    """Yield a file's documents; those named by number get the file's name as a prefix."""
    for document in documents:
        is_numbered = is_counted(document.name)
        yield replace(document, name=f"{path.stem}/{document.name}") if is_numbered else document


def _corpus(
    documents: Iterable[Document],
    problems: Iterable[Problem],
    root: Path,
    format_names: Iterable[str],
) -> Corpus:
    """Return a corpus sorted by name; raises ``DataError`` if it is empty or a name repeats."""
    by_name = tuple(sorted(documents, key=lambda document: document.name))
    if not by_name:
        raise DataError(f"{root}: no documents; looked for *.txt (with .ann) and *.jsonl")
    name, count = Counter(document.name for document in by_name).most_common(1)[0]
    if count > 1:
        raise DataError(f"{root}: expected one document {name!r}, got {count}")
    return Corpus(by_name, tuple(problems), root, tuple(dict.fromkeys(format_names)))
