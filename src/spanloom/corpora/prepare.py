"""From raw files to a brat corpus: each split a collection, with what was counted beside it.

OUT/NAME/{train,dev,test}/…            brat, given words in NAME.words, annotation.conf
OUT/NAME/prepared.json                 the card's digest, the raw files' sums, the counts

A dataset is made beside its place and renamed: it is there whole or not at all. One that is there
and was made from the same card and the same files is left as it is.
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

from spanloom.corpora import card as cards
from spanloom.corpora import sources
from spanloom.corpora.card import Card
from spanloom.corpora.tally import Tally
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats.brat import conf
from spanloom.formats.brat.save import inside
from spanloom.formats.brat.write import parts, text_file

PREPARED = "prepared.json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What stands in ``prepared.json``: ``counts`` by split, and whether it was made just now."""

    name: str
    key: str
    counts: Mapping[str, Mapping[str, int]]
    fresh: bool

    def differing(self, card: Card) -> list[str]:
        """Return where the counts are not those that the card says, in words."""
        counted = {**self.counts} if cards.ALL in self.counts else {**self.counts, **self.total}
        return [
            f"{split}: {counted[split].get(what, 0):,} {what}, the card says {number:,}"
            for split, said in card.counts.items()
            for what, number in said.items()
            if counted[split].get(what, 0) != number
        ]

    @property
    def total(self) -> dict[str, dict[str, int]]:
        """What all splits hold together, as if they were one."""
        whole: Counter[str] = Counter()
        for counted in self.counts.values():
            whole.update(counted)
        return {cards.ALL: dict(whole)}


def prepare(
    name: str, raw: Path, out: Path, progress: Callable[[str], None] = lambda _: None
) -> Prepared:
    """Make the dataset ``out/name`` from raw files; one that is there already is only read.

    Raises ``DataError`` where files are missing or are others than the card's, and as the readers
    do; the dataset that was there before is then untouched.
    """
    card = cards.load(name)
    key = _key(name, card, sources.check(card, raw))
    there = already(out, name)
    if there is not None and there.key == key:
        return there
    staging = out / f".{name}.staging"
    shutil.rmtree(staging, ignore_errors=True)  # what a run that was stopped has left
    staging.mkdir(parents=True)
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        counts = {split: _split(card, split, raw, staging, progress) for split in card.splits}
        made = {"dataset": name, "key": key, "version": card.version, "counts": counts}
        (staging / PREPARED).write_text(json.dumps(made, indent=1) + "\n", "utf-8")
        os.sync()  # once for all files
        target = out / name
        if target.exists():
            shutil.rmtree(target)
        os.rename(staging, target)
        undo.pop_all()
    return Prepared(name, key, counts, fresh=True)


def already(out: Path, name: str) -> Prepared | None:
    """Return what was prepared before, None where nothing was."""
    try:
        said: dict[str, Any] = json.loads((out / name / PREPARED).read_text("utf-8"))
        return Prepared(name, str(said["key"]), dict(said["counts"]), fresh=False)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _key(name: str, card: Card, sums: Mapping[str, str]) -> str:
    """A digest of all that the result follows from: cards, files, how files are read."""
    others = [cards.text(rule.like) for rule in card.splits.values() if rule.like]
    said = json.dumps([cards.text(name), others, sums, _VERSION], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


_VERSION = 2  # raised where readers or the layout change, so that datasets are made anew


def _split(
    card: Card, split: str, raw: Path, staging: Path, progress: Callable[[str], None]
) -> dict[str, int]:
    """Write one split, and count it."""
    folder = staging / split
    folder.mkdir()
    tally = Tally()

    def written() -> Iterator[Document]:
        for number, document in enumerate(sources.documents(card, split, raw, cards.load), 1):
            _put(document, folder)
            tally.add(document)
            if not number % 2000:
                progress(f"{split}: {number:,} documents")
            yield document

    config = conf.dumps(conf.from_documents(written()))
    (folder / conf.NAME).write_text(config, "utf-8")
    if not tally.found["documents"]:
        raise DataError(f"{raw}: split {split} has no documents")
    return tally.counts


def _put(document: Document, folder: Path) -> None:
    """Write a document's files into a folder that nobody else sees yet."""
    base = inside(folder, document.name)
    base.parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in {".txt": text_file(document), **parts(document)}.items():
        with open(f"{base}{suffix}", "wb") as stream:
            stream.write(content.encode())
