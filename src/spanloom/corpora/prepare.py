"""Convert raw files to a brat corpus: one collection per split, and a file of counts.

OUT/NAME/{train,dev,test}/…            brat, given words in NAME.words, annotation.conf
OUT/NAME/prepared.json                 digest of the card, sums of the raw files, counts, and how
                                       labels are read where they are extracted

A dataset is written to a temporary folder and renamed, so it is complete or absent. An existing
one made from the same card and files is left unchanged. A lock lets one process at a time write a
dataset.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanloom.config.options import Options, validate_options
from spanloom.config.yaml import SourceLocation
from spanloom.corpora import card as cards
from spanloom.corpora import raw_files, sources
from spanloom.corpora.card import Card, LabelPrompt
from spanloom.corpora.files import PREPARED
from spanloom.corpora.statistics import CorpusStatistics
from spanloom.document import Document
from spanloom.errors import DataError, StorageError
from spanloom.file_lock import open_locked
from spanloom.formats.brat import conf
from spanloom.formats.brat.conf_from_documents import config_of
from spanloom.formats.brat.save import inside
from spanloom.formats.brat.write import parts, text_file
from spanloom.tokenization import word_tokenizer, words_of


@dataclass(frozen=True, slots=True)
class Prepared:
    """Content of ``prepared.json``: ``counts`` by split; ``fresh``: whether this run wrote it."""

    name: str
    key: str
    counts: Mapping[str, Mapping[str, int]]
    fresh: bool

    def differing(self, card: Card) -> list[str]:
        """Return a message for each count that differs from the card's."""
        counted = {**self.counts} if cards.ALL in self.counts else {**self.counts, **self.total}
        return [
            f"{split}: {counted[split].get(unit, 0):,} {unit}, the card says {expected_count:,}"
            for split, expected in card.counts.items()
            for unit, expected_count in expected.items()
            if counted[split].get(unit, 0) != expected_count
        ]

    @property
    def total(self) -> dict[str, dict[str, int]]:
        """The sums over all splits, as the counts of the split "all"."""
        totals: Counter[str] = Counter()
        for split_counts in self.counts.values():
            totals.update(split_counts)
        return {cards.ALL: dict(totals)}


class _Prompts(Options):
    """The part of ``prepared.json`` that says how labels are read."""

    prompts: dict[str, LabelPrompt]


def prepare(
    name: str, raw: Path, out: Path, progress: Callable[[str], None] = lambda _: None
) -> Prepared:
    """Write the dataset ``out/name`` from raw files, unless it exists and is up to date.

    Raises ``DataError`` if files are missing or differ from the card's, ``StorageError`` if
    anything else than a prepared dataset is there, and the errors of the readers; what is there is
    then unchanged.
    """
    card = cards.load(name)
    key = _cache_key(name, card, raw_files.check(card, raw))
    if (existing := _up_to_date(out, name, key)) is not None:
        return existing
    target = out / name
    _check_target(target)
    with _lock(target):
        if (existing := _up_to_date(out, name, key)) is not None:  # written while this one waited
            return existing
        counts = _write(card, {"dataset": name, "key": key}, raw, target, progress)
    return Prepared(name, key, counts, fresh=True)


def _up_to_date(out: Path, name: str, key: str) -> Prepared | None:
    """Return the summary of an existing dataset if it has this key."""
    existing = read_summary(out, name)
    return existing if existing is not None and existing.key == key else None


def _check_target(target: Path) -> None:
    """Raise ``StorageError`` for anything but a prepared dataset: it may be the raw files."""
    if not os.path.lexists(target):
        return
    if target.is_dir() and not target.is_symlink():
        if not any(target.iterdir()) or read_summary(target.parent, target.name) is not None:
            return
    expected = f"expected nothing, an empty folder or a dataset with a valid {PREPARED}"
    raise StorageError(
        f"{target}: not replaced: {expected}, something else is there; move it, or write to "
        "another folder (-o)"
    )


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Hold the lock of a dataset, whose file is deleted at the end; wait for another process."""
    lock = target.with_name(f".{target.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open_locked(lock, os.O_RDWR | os.O_CREAT):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _write(
    card: Card,
    head: Mapping[str, str],
    raw: Path,
    target: Path,
    progress: Callable[[str], None],
) -> dict[str, dict[str, int]]:
    """Write a dataset, whose summary begins with ``head``, and return its counts by split."""
    staging = target.with_name(f".{target.name}.staging")
    shutil.rmtree(staging, ignore_errors=True)  # left by an interrupted run
    staging.mkdir()
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        counts = {
            split: _prepare_split(card, split, raw, staging, progress) for split in card.splits
        }
        summary = {**head, "version": card.version, "counts": counts}
        if card.prompts:
            summary["prompts"] = {
                layer: prompt.model_dump() for layer, prompt in card.prompts.items()
            }
        (staging / PREPARED).write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
        os.sync()  # once for all files
        _replace(staging, target)
        undo.pop_all()
    return counts


def _replace(staging: Path, target: Path) -> None:
    """Rename ``staging`` to ``target``; an existing dataset is renamed before it is deleted.

    So a killed run never leaves a part of a dataset under its name.
    """
    replaced = target.with_name(f".{target.name}.old")
    shutil.rmtree(replaced, ignore_errors=True)  # left by a killed run
    _check_target(target)  # again, as preparation takes a while
    with ExitStack() as undo:
        if target.exists():
            os.rename(target, replaced)
            undo.callback(os.rename, replaced, target)
        os.rename(staging, target)
        undo.pop_all()
    shutil.rmtree(replaced, ignore_errors=True)


def read_summary(out: Path, name: str) -> Prepared | None:
    """Return the summary of an existing dataset, None if there is none."""
    try:
        summary: dict[str, Any] = json.loads((out / name / PREPARED).read_text("utf-8"))
        return Prepared(name, str(summary["key"]), dict(summary["counts"]), fresh=False)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_prompts(corpus: Path) -> dict[str, LabelPrompt]:
    """Return how the labels of a prepared corpus are read, by layer; none for other corpora.

    Raises ``RecipeError`` for prompts that are no valid ones.
    """
    path = corpus / PREPARED
    try:
        summary: dict[str, Any] = json.loads(path.read_text("utf-8"))
        raw = {"prompts": summary.get("prompts", {})}
    except (OSError, ValueError, AttributeError):
        return {}
    return validate_options(_Prompts, raw, SourceLocation(str(path))).prompts


def _cache_key(name: str, card: Card, sums: Mapping[str, str]) -> str:
    """Return a digest of all inputs of the result: cards, files, and the version of the readers."""
    name_source_cards = [
        cards.text(name)
        for rule in card.splits.values()
        for name in (rule.same_names_as, rule.names_not_in)
        if name
    ]
    inputs = json.dumps([cards.text(name), name_source_cards, sums, _VERSION], sort_keys=True)
    return hashlib.sha256(inputs.encode()).hexdigest()


_VERSION = 3  # to raise when readers or the layout change, so that datasets are prepared again


def _prepare_split(
    card: Card, split: str, raw: Path, staging: Path, progress: Callable[[str], None]
) -> dict[str, int]:
    """Write one split, and return its counts."""
    folder = staging / split
    folder.mkdir()
    statistics = CorpusStatistics()
    tokenizer = word_tokenizer("whitespace", "newline")

    def write_documents() -> Iterator[Document]:
        for number, document in enumerate(sources.documents(card, split, raw, cards.load), 1):
            _write_document(document, folder)
            statistics.add(document, words_of(document, tokenizer))
            if not number % 2000:
                progress(f"{split}: {number:,} documents")
            yield document

    config = conf.dumps(config_of(write_documents()))
    (folder / conf.NAME).write_text(config, "utf-8")
    if not statistics.documents:
        raise DataError(f"{raw}: split {split} has no documents")
    return statistics.card_counts()


def _write_document(document: Document, folder: Path) -> None:
    """Write a document's files into a folder that no other process reads yet."""
    base = inside(folder, document.name)
    base.parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in {".txt": text_file(document), **parts(document)}.items():
        with open(f"{base}{suffix}", "wb") as stream:
            stream.write(content.encode())
