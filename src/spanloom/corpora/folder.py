"""Locate a corpus, and find and read its splits: a folder of splits, a flat folder, or a file.

corpus/train/… dev/… test/…            brat collections, nested to any depth
corpus/train.jsonl dev.jsonl …         or files of any other format that can be recognized
                                       (``splits`` has the accepted names)
corpus/…                               documents without splits: the split "all"
corpus.jsonl                           the split "all"
"""

import gc
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from spanloom.annotation.excerpt import clip
from spanloom.corpora import card, files
from spanloom.corpora.places import VARIABLE, places
from spanloom.corpora.splits import SPLITS, find
from spanloom.document import SENTENCES, Document
from spanloom.errors import DataError, FormatError
from spanloom.formats import _files, jsonl
from spanloom.formats._document_builder import is_counted
from spanloom.formats._text import UTF8
from spanloom.formats.brat import folder
from spanloom.formats.brat.draft import Problem
from spanloom.formats.brat.read import Reading

ALL = "all"
_HELD_OUT = 0.1  # fraction of documents, or of the only one's sentences
_MIN_SENTENCES = 10


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of one split, sorted by name, and the problems found in their files.

    ``root`` is the folder that document names are relative to; None for documents created in
    memory. ``formats`` are those that were read.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    root: Path | None = None
    formats: tuple[str, ...] = ()


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


def splits(path: Path, encoding: str = UTF8) -> dict[str, Path]:
    """Return the folder or file of each split, in the order train, dev, test.

    Documents without splits are the split "all"; ``encoding`` is that of text files. Raises
    ``DataError`` if the path is missing or holds no documents, ``FormatError`` for a broken file,
    and the errors of ``splits.find``.
    """
    if path.is_file() and files.holds_documents(path, encoding):
        return {ALL: path}
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if not path.is_dir():
        if broken := files.problem_of(path, encoding):
            raise broken
        hint = "spanloom convert --from NAME reads it"
        if path.suffix in files.BRAT:
            hint = f"a brat corpus is a folder, as {path.parent}"
        raise DataError(f"{path}: expected a corpus folder or a file of documents; {hint}")
    by_split = find(path, encoding)
    if by_split:
        return by_split
    if not files.holds_documents(path, encoding):
        folders = ", ".join(f"{name}/" for name in SPLITS)
        raise DataError(f"{path}: no documents; looked for {folders} and *.txt, *.ann, *.jsonl")
    return {ALL: path}


def _read_file(path: Path, encoding: str) -> Iterable[Document]:
    """Yield the named documents of one file; JSON lines are always UTF-8."""
    format_name = files.require_format(path, encoding)
    if format_name == files.LINES:
        return jsonl.read(path)  # line by line
    file_format = _files.load(format_name)
    options = _files.sniff_options(path, file_format, encoding)
    stream = _files.read(path, file_format, options, encoding=encoding)
    return _files.name_documents(stream, path.stem)


def split_path(path: Path, split: str, encoding: str = UTF8) -> Path:
    """Return the path of one split; raises ``DataError`` that lists the splits of the corpus."""
    by_split = splits(path, encoding)
    if split not in by_split:
        raise DataError(f"{path}: no split {split!r} (splits there: {', '.join(by_split)})")
    return by_split[split]


class BratReader(Protocol):
    """Reads a brat folder as ``formats.brat.folder.read_all`` does."""

    def __call__(
        self, root: Path, *, encoding: str, unreadable: list[Problem] | None
    ) -> Iterable[Reading]:
        """Raises what that raises."""


@pause_gc()
def read(
    path: Path,
    split: str,
    *,
    skip_unreadable: bool = False,
    encoding: str = UTF8,
    read_brat: BratReader = folder.read_all,
) -> Corpus:
    """Read one split of a corpus; document names are relative to the split's folder.

    Raises ``DataError`` if the split is missing or empty or two documents have one name, and
    ``FormatError`` for unreadable files; invalid lines become problems, and so do unreadable files
    if they may be skipped: a corpus without documents then has at least one problem.
    """
    root = split_path(path, split, encoding)
    unreadable: list[Problem] | None = [] if skip_unreadable else None
    if root.is_file():
        documents = _documents_of(root, encoding, unreadable)
        return _corpus(documents, unreadable or (), root, [files.require_format(root, encoding)])
    readings = list(read_brat(root, encoding=encoding, unreadable=unreadable))
    documents = [reading.document for reading in readings]
    format_names = [_files.BRAT] * bool(documents)
    other_files = _other_files(root, documents, encoding)
    for path in other_files:
        in_file = _documents_of(path, encoding, unreadable)
        documents += in_file if len(other_files) == 1 else _with_file_names(in_file, path)
        format_names.append(files.require_format(path, encoding))
    problems = [*folder.collect(root).problems, *(unreadable or ())]
    problems += [problem for reading in readings for problem in reading.problems]
    return _corpus(documents, problems, root, format_names)


def _documents_of(
    path: Path, encoding: str, unreadable: list[Problem] | None
) -> Sequence[Document]:
    """Return the documents of a file; one that cannot be read has none if ``unreadable`` lists it.

    Without such a list it raises ``FormatError``.
    """
    try:
        return list(_read_file(path, encoding))
    except FormatError as error:
        if unreadable is None:
            raise
        unreadable.append(Problem(path.name, error.line, "", error.problem))
        return ()


def _other_files(root: Path, documents: Sequence[Document], encoding: str) -> list[Path]:
    """Return the files of other formats in a brat folder with these documents.

    Beside annotated documents only JSON lines count; beside plain texts, where a licence may lie,
    files of recognized content; without any text, every file with the suffix of a format.
    """
    children = sorted(child for child in root.iterdir() if child.is_file())
    if any(document.layers or document.queries for document in documents):
        return [
            child
            for child in children
            if child.suffix.lower() == f".{files.LINES}" and files.is_file(child, encoding)
        ]
    suffixes = _files.suffixes()
    candidates = [
        child
        for child in children
        if child.suffix.lower() in suffixes and child.name not in files.NOTES
    ]
    if not documents:
        return candidates
    return [child for child in candidates if files.is_file(child, encoding)]


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
    by_name = _sort_by_name(documents)
    problems = tuple(problems)
    if not by_name and problems:
        return Corpus((), problems, root, tuple(dict.fromkeys(format_names)))
    if not by_name:
        raise DataError(f"{root}: no documents; looked for *.txt (with .ann) and *.jsonl")
    name, count = Counter(document.name for document in by_name).most_common(1)[0]
    if count > 1:
        raise DataError(f"{root}: expected one document {name!r}, got {count}")
    return Corpus(by_name, problems, root, tuple(dict.fromkeys(format_names)))


def locate(data: str, recipe_dir: Path) -> Path:
    """Return the first place of a corpus that exists; ``DataError`` with all that were tried."""
    tried = places(data, recipe_dir)
    for path in tried:
        if path.exists():
            return path
    names = ", ".join(map(str, tried))
    hint = f"set {VARIABLE} to where corpora lie, or say --data DIR to study and glad"
    if data in card.names():
        hint = f"spanloom glad prepare {data} --raw DOWNLOADS -o DIR makes it; {hint}"
    raise DataError(f"no corpus {data!r}; looked at {names} ({hint})")


def hold_out_dev(
    documents: Sequence[Document], *, seed: int
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Split documents without a dev of their own into (train, dev): a tenth of them, or of one.

    Raises ``DataError`` if that is too little.
    """
    if len(documents) != 1:
        return hold_out(documents, seed=seed)
    train, dev = hold_out_sentences(documents[0])
    return (train,), (dev,)


def hold_out(
    documents: Sequence[Document], *, seed: int
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Split documents into (kept, held out), both sorted by name.

    The tenth with the smallest hash of seed and name is held out, at least one document. Raises
    ``DataError`` for fewer than two documents.
    """
    if len(documents) < 2:
        raise DataError(f"hold out: expected at least 2 documents, got {len(documents)}")
    size = max(1, round(_HELD_OUT * len(documents)))
    ranked = sorted(documents, key=lambda document: (_rank(document.name, seed), document.name))
    held_out, kept = ranked[:size], ranked[size:]
    return _sort_by_name(kept), _sort_by_name(held_out)


def last_held_out(held_out: Iterable[Document], *, seed: int) -> str:
    """Return the largest hash (hex) of seed and name among documents that were held out."""
    return max(_rank(document.name, seed) for document in held_out).hex()


def held_out_until(documents: Iterable[Document], last: str, *, seed: int) -> tuple[Document, ...]:
    """Return the documents whose hash is at most ``last``.

    Where some of them were learnt from, and those up to ``last`` held out, these are none of those:
    documents may have come or gone since.
    """
    return tuple(doc for doc in documents if _rank(doc.name, seed).hex() <= last)


def hold_out_sentences(document: Document) -> tuple[Document, Document]:
    """Split the only document of a corpus into its first sentences and the last tenth of them.

    Sentences are those that it gives, else its lines; relations between both parts are lost. Raises
    ``DataError`` for fewer than ten sentences.
    """
    starts = _sentence_starts(document)
    if len(starts) < _MIN_SENTENCES:
        problem = f"expected at least 2 documents, or {_MIN_SENTENCES} sentences in one"
        raise DataError(f"hold out: {problem}, got {len(starts)} in {document.name}")
    cut = starts[-max(1, round(_HELD_OUT * len(starts)))]
    held_out = clip(document, cut, len(document.text))
    return clip(document, 0, cut), replace(held_out, name=f"{document.name}-dev")


def _sentence_starts(document: Document) -> list[int]:
    """Return where sentences begin, or lines that are not blank."""
    if document.has_layer(SENTENCES):
        return sorted(span.start for span in document[SENTENCES].spans)
    offsets = accumulate((len(line) for line in document.text.splitlines(keepends=True)), initial=0)
    lines = zip(offsets, document.text.splitlines(), strict=False)
    return [start for start, line in lines if line.strip()]


def with_names(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents; those without a name get their number as one.

    Raises ``TypeError`` for what is no document.
    """
    for number, document in enumerate(documents, 1):
        if not isinstance(document, Document):
            raise TypeError(f"expected annotated documents, got {type(document).__name__}")
        yield document if document.name else replace(document, name=f"document-{number:06}")


def fingerprint(documents: Iterable[Document]) -> str:
    """Return the SHA-256 (hex) of names, texts, meta, queries and annotations.

    It depends neither on the order of the documents nor on their source.
    """
    digests = sorted(
        hashlib.sha256(repr(_content(document)).encode()).digest() for document in documents
    )
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _content(document: Document) -> tuple[object, ...]:
    """Return all content of a document; queries only if there are any, so old hashes stay valid."""
    fields = document.name, document.text, document.meta, document.layers
    return (*fields, document.queries) if document.queries else fields


def _rank(name: str, seed: int) -> bytes:
    """Return a sort key that depends on the name and the seed alone."""
    return hashlib.sha256(repr((seed, name)).encode()).digest()


def _sort_by_name(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents sorted by name."""
    return tuple(sorted(documents, key=lambda document: document.name))
