"""Which folder or file of a corpus is which split: told by the words of its name, in any case.

train/  Train/  training.jsonl  train_v2.jsonl  en_ewt-ud-train.conllu  2013_CG_devel_data/

A word is what stands between signs and digits, so ``trainable`` is none of them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from spanloom.corpora.files import ANNOTATED, holds_annotation, holds_documents
from spanloom.errors import DataError

SPLITS = {
    "train": ("train", "training"),
    "dev": ("dev", "devel", "development", "val", "valid", "validation"),
    "test": ("test", "eval"),  # what is set aside is better never learnt from
}
_KNOWN = {word: split for split, words in SPLITS.items() for word in words}
_WORD = re.compile(r"[^\W\d_]+")


def named(name: str) -> tuple[str, ...]:
    """Return the splits that a name has words for, in the order train, dev, test.

    >>> named("BioNLP-ST_2013_CG_devel_data")
    ('dev',)
    """
    words = {_KNOWN.get(word) for word in _WORD.findall(name.lower())}
    return tuple(split for split in SPLITS if split in words)


def find(corpus: Path) -> dict[str, Path]:
    """Return what folder or file is which split of a corpus, in the order train, dev, test.

    Empty where no name says so. Raises ``DataError`` where a split is there twice, where one name
    has words for two splits, where annotated documents belong to none while others do, and where
    the splits lie deeper: nothing may be left out or taken for another without a word.
    """
    there = sorted(each for each in corpus.iterdir() if not each.name.startswith("."))
    by_split = {split: _of(split, there) for split in SPLITS}
    found = {split: _only(corpus, places) for split, places in by_split.items() if places}
    if found:
        _refuse_others(found, [each for each in there if each not in found.values()])
    else:
        _refuse_mixed(corpus, there)
    return found


def _of(split: str, there: Iterable[Path]) -> list[Path]:
    """The folders and files with a word for this split, those of no document left out.

    A folder whose whole name is that word counts even if it is empty, unless another does not.
    """
    called = [each for each in there if split in named(each.name)]
    full = [each for each in called if holds_documents(each)]
    return full or [each for each in called if each.is_dir() and each.name.lower() in _KNOWN]


def _only(corpus: Path, places: Sequence[Path]) -> Path:
    """The one folder or file of a split."""
    first = places[0]
    if len(places) > 1:
        names = f"{first.name}, {places[1].name}"
        raise DataError(f"{corpus}: expected one of {names}; got both")
    both = named(first.name)
    if len(both) > 1:
        raise DataError(f"{first}: expected a name of one split, got one of {' and '.join(both)}")
    return first


def _refuse_others(found: Mapping[str, Path], others: Iterable[Path]) -> None:
    """Refuse annotated documents that belong to no split while others do."""
    for each in others:
        if holds_annotation(each):
            names = ", ".join(place.name for place in found.values())
            raise DataError(
                f"{each}: belongs to no split, beside {names}; give it a split's name "
                f"({', '.join(_KNOWN)}), or move it"
            )


def _refuse_mixed(corpus: Path, there: Iterable[Path]) -> None:
    """Refuse a corpus without splits in which the names of documents or of folders tell some."""
    deep = {
        split: place
        for place in sorted(corpus.glob("*/**/"))
        for split in SPLITS
        if place.name.lower() in SPLITS[split]
    }
    if len(deep) > 1:
        names = " and ".join(str(each.relative_to(corpus)) for each in deep.values())
        raise DataError(f"{corpus}: its splits lie deeper ({names}); name the folder they are in")
    documents = [each for each in there if each.suffix in ANNOTATED]
    first = [next(iter(_WORD.findall(each.name.lower())), "") for each in documents]
    told = {_KNOWN.get(word): each for word, each in zip(first, documents, strict=True)}
    if len(told) > 1 and None not in told:
        names = " and ".join(each.name for each in told.values())
        raise DataError(
            f"{corpus}: {names} are of different splits by their names, in one folder; "
            f"give each split its own ({', '.join(SPLITS)})"
        )
