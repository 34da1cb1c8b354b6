"""Convert raw files to a brat corpus: one collection per split, and a file of counts.

OUT/NAME/{train,dev,test}/…            brat, given words in NAME.words, annotation.conf
OUT/NAME/prepared.json                 digest of the card, sums of the raw files, counts, and how
                                       labels are read where they are extracted

A dataset is written to a temporary folder and renamed, so it is complete or absent. An existing
one made from the same card and files is left unchanged.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
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
from spanloom.errors import DataError
from spanloom.formats.brat import conf
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

    Raises ``DataError`` if files are missing or differ from the card's, and the errors of the
    readers; an existing dataset is then unchanged.
    """
    card = cards.load(name)
    key = _cache_key(name, card, raw_files.check(card, raw))
    existing = read_summary(out, name)
    if existing is not None and existing.key == key:
        return existing
    staging = out / f".{name}.staging"
    shutil.rmtree(staging, ignore_errors=True)  # left by an interrupted run
    staging.mkdir(parents=True)
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        counts = {
            split: _prepare_split(card, split, raw, staging, progress) for split in card.splits
        }
        summary = {"dataset": name, "key": key, "version": card.version, "counts": counts}
        if card.prompts:
            summary["prompts"] = {
                layer: prompt.model_dump() for layer, prompt in card.prompts.items()
            }
        (staging / PREPARED).write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
        os.sync()  # once for all files
        target = out / name
        if target.exists():
            shutil.rmtree(target)
        os.rename(staging, target)
        undo.pop_all()
    return Prepared(name, key, counts, fresh=True)


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


_VERSION = 2  # to raise when readers or the layout change, so that datasets are prepared again


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

    config = conf.dumps(conf.from_documents(write_documents()))
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
