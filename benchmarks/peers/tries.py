"""One run of a peer: several learning rates, the best on dev, its annotation of test, a record.

A peer hands in how it trains at one rate and how it annotates; all else is the same for all.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from exchange import OUTSIDE, Record, Seconds, Sentence, read, versions, write, write_record

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

Annotate = Callable[[Sequence[Sentence]], list[Sentence]]
"""Sentences in, the same with what the peer says of them out."""

AnnotateT = TypeVar("AnnotateT")

WARM = 32  # sentences annotated ahead, not timed


@dataclass(frozen=True, slots=True)
class Data:
    """Train and dev, and a folder for what a peer leaves on disk."""

    train: list[Sentence]
    dev: list[Sentence]
    scratch: Path


@dataclass(frozen=True, slots=True)
class Trained(Generic[AnnotateT]):
    """A model at its best epoch: how it annotates, its figure on dev, which epoch it was."""

    annotate: AnnotateT
    dev: float
    epoch: int | None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line sets."""

    rate: float
    epochs: int
    batch: int
    seed: int
    bf16: bool


@dataclass(frozen=True, slots=True)
class Tries(Generic[AnnotateT]):
    """All tries as a record tells them, and the model of the one that is best on dev."""

    rows: list[dict[str, Any]]
    best: Trained[AnnotateT]

    @property
    def winner(self) -> dict[str, Any]:
        """What the record tells of the best try."""
        return max(self.rows, key=lambda each: each["dev"])


Train = Callable[[Data, Settings], Trained[Annotate]]


def try_rates(
    peer: str, rates: Sequence[float], train: Callable[[float], Trained[AnnotateT]]
) -> Tries[AnnotateT]:
    """Train at each rate and tell how it went; of equal figures the first one is best."""
    rows: list[dict[str, Any]] = []
    best: Trained[AnnotateT] | None = None
    for rate in rates:
        seconds = Seconds()
        with seconds.counted():
            trained = train(rate)
        minutes = round(seconds.taken / 60, 3)
        rows.append({"rate": rate, "dev": trained.dev, "epoch": trained.epoch, "minutes": minutes})
        print(f"{peer} {rows[-1]}", flush=True)
        if best is None or trained.dev > best.dev:
            best = trained
    if best is None:
        raise SystemExit("expected at least one rate")
    return Tries(rows, best)


def parser(
    about: str | None, *, rates: Sequence[float], epochs: int, batch: int
) -> argparse.ArgumentParser:
    """Return the command line of a peer, with its documented or chosen defaults."""
    arguments = argparse.ArgumentParser(description=about)
    arguments.add_argument("data", type=Path, help="folder with train, dev and test.jsonl")
    arguments.add_argument(
        "-o", "--out", type=Path, required=True, help="folder for what comes out"
    )
    arguments.add_argument("--rates", type=float, nargs="+", default=list(rates))
    arguments.add_argument("--epochs", type=int, default=epochs)
    arguments.add_argument("--batch", type=int, default=batch)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--bf16", action="store_true", help="multiply in bf16 (autocast)")
    return arguments


def run(
    chosen: argparse.Namespace,
    peer: str,
    train: Train,
    packages: Sequence[str],
    said: Mapping[str, Any],
) -> None:
    """Train at each rate, annotate test with the best, write predictions and record.

    ``said`` are further settings that the record tells.
    """
    bare = [_bare(each) for each in read(chosen.data / "test.jsonl")]
    data = Data(read(chosen.data / "train.jsonl"), read(chosen.data / "dev.jsonl"), chosen.out)
    chosen.out.mkdir(parents=True, exist_ok=True)

    def train_at(rate: float) -> Trained[Annotate]:
        settings = Settings(rate, chosen.epochs, chosen.batch, chosen.seed, chosen.bf16)
        return train(data, settings)

    tries = try_rates(peer, chosen.rates, train_at)
    best = tries.best
    best.annotate(bare[:WARM])
    seconds = Seconds()
    with seconds.counted():
        found = best.annotate(bare)
    write(found, chosen.out / "test.jsonl")
    winner = tries.winner
    plain = {
        "epochs": chosen.epochs,
        "batch": chosen.batch,
        "bf16": chosen.bf16,
        "rate": winner["rate"],
    }
    words = sum(len(each.words) for each in bare)
    record = Record(
        peer=peer,
        seed=chosen.seed,
        train_minutes=winner["minutes"],
        words_per_second=round(words / seconds.taken, 1),
        settings={**plain, **said},
        tries=tries.rows,
        versions=versions(*packages),
    )
    write_record(record, chosen.out / "record.json")


def _bare(sentence: Sentence) -> Sentence:
    """The words alone: all that a peer may read of test."""
    return Sentence(sentence.document, sentence.index, sentence.words)


def tagged(sentence: Sentence, tags: Sequence[str]) -> Sentence:
    """Return the sentence with its tags; a word without one is outside."""
    return replace(sentence, tags=tuple(each or OUTSIDE for each in tags))
