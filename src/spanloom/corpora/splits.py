"""Recognize the splits of a corpus by the words in file and folder names, in any case.

train/  Train/  training.jsonl  train_v2.jsonl  en_ewt-ud-train.conllu  2013_CG_devel_data/

Words are separated by punctuation and digits, so ``trainable`` names no split. ``eng.testa`` and
``eng.testb`` are dev and test, as CoNLL-2003 has them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from spanloom.corpora.files import ANNOTATED, holds_annotation, holds_documents, problem_of
from spanloom.errors import DataError
from spanloom.formats import _files
from spanloom.formats._text import UTF8
from spanloom.quantity import shorten_list

SPLITS = {
    "train": ("train", "training"),
    "dev": ("dev", "devel", "development", "val", "valid", "validation", "testa"),
    "test": ("test", "eval", "testb"),  # held-out data should never be trained on
}
_SPLIT_BY_WORD = {word: split for split, words in SPLITS.items() for word in words}
_WORD = re.compile(r"[^\W\d_]+")


def splits_of_name(name: str) -> tuple[str, ...]:
    """Return the splits that a name has words for, in the order train, dev, test.

    >>> splits_of_name("BioNLP-ST_2013_CG_devel_data")
    ('dev',)
    """
    words = {_SPLIT_BY_WORD.get(word) for word in _WORD.findall(name.lower())}
    return tuple(split for split in SPLITS if split in words)


def is_split(name: str) -> bool:
    """Return whether a name is a split's, without any other word."""
    return name.lower() in _SPLIT_BY_WORD


def find(corpus: Path, encoding: str = UTF8) -> dict[str, Path]:
    """Return the folder or file of each split of a corpus, in the order train, dev, test.

    Empty if no name has a split's word; ``encoding`` is that of text files. Raises ``DataError`` if
    a split occurs twice, if one name has words for two splits, if annotated documents belong to no
    split while others do, and if the splits lie deeper: nothing may be silently left out or
    mistaken for another split.
    """
    children = sorted(path for path in corpus.iterdir() if not path.name.startswith("."))
    by_split = {split: _split_paths(split, children, encoding) for split in SPLITS}
    path_by_split = {
        split: _single_path(corpus, paths) for split, paths in by_split.items() if paths
    }
    if path_by_split:
        others = [path for path in children if path not in path_by_split.values()]
        _refuse_unassigned(path_by_split, others, encoding)
    else:
        _refuse_mixed(corpus, children)
    return path_by_split


def _split_paths(split: str, children: Iterable[Path], encoding: str) -> list[Path]:
    """Return the folders and files with a word for this split, except those without documents.

    If all lack documents, empty folders count whose full name is such a word. Raises
    ``FormatError`` for a broken file where all lack documents.
    """
    matches = [path for path in children if split in splits_of_name(path.name)]
    with_documents = [path for path in matches if holds_documents(path, encoding)]
    if not with_documents:
        _refuse_broken(matches, encoding)
    return with_documents or [path for path in matches if path.is_dir() and is_split(path.name)]


def _refuse_broken(paths: Iterable[Path], encoding: str) -> None:
    """Raise ``FormatError`` for a file that is called as files of documents are, and is broken."""
    for path in paths:
        if path.is_file() and path.suffix.lower() in _files.suffixes():
            if broken := problem_of(path, encoding):
                raise broken


def _single_path(corpus: Path, paths: Sequence[Path]) -> Path:
    """Return the only folder or file of a split; raises ``DataError`` if it is ambiguous."""
    first = paths[0]
    if len(paths) > 1:
        names = f"{first.name}, {paths[1].name}"
        raise DataError(f"{corpus}: expected one of {names}; got both")
    named_splits = splits_of_name(first.name)
    if len(named_splits) > 1:
        raise DataError(
            f"{first}: expected a name of one split, got one of {' and '.join(named_splits)}"
        )
    return first


def _refuse_unassigned(
    path_by_split: Mapping[str, Path], others: Iterable[Path], encoding: str
) -> None:
    """Raise ``DataError`` for annotated documents that belong to no split while others do."""
    outside = [path for path in others if holds_annotation(path, encoding)]
    if outside:
        names = ", ".join(split_path.name for split_path in path_by_split.values())
        raise DataError(
            f"{outside[0].parent}: {shorten_list([path.name for path in outside])}: of no split, "
            f"beside {names}; give names of splits ({', '.join(_SPLIT_BY_WORD)}), or move them"
        )


def _refuse_mixed(corpus: Path, children: Iterable[Path]) -> None:
    """Raise ``DataError`` if documents or subfolders of a corpus without splits name splits."""
    subfolders = {
        split: folder
        for folder in sorted(corpus.glob("*/**/"))
        for split in SPLITS
        if folder.name.lower() in SPLITS[split]
    }
    if len(subfolders) > 1:
        names = " and ".join(str(path.relative_to(corpus)) for path in subfolders.values())
        raise DataError(f"{corpus}: its splits lie deeper ({names}); name the folder they are in")
    documents = [path for path in children if path.suffix in ANNOTATED]
    first_words = [next(iter(_WORD.findall(path.name.lower())), "") for path in documents]
    file_by_split = {
        _SPLIT_BY_WORD.get(word): path for word, path in zip(first_words, documents, strict=True)
    }
    if len(file_by_split) > 1 and None not in file_by_split:
        names = " and ".join(path.name for path in file_by_split.values())
        raise DataError(
            f"{corpus}: {names} are of different splits by their names, in one folder; "
            f"give each split its own ({', '.join(SPLITS)})"
        )
