"""What training will not see of a layer, by reason."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from spanloom.tasks._base import TrainDocuments
from spanloom.tokenization import Bounds


class PartialGold(Protocol):
    """A document's gold that counts what it leaves out, by reason."""

    @property
    def skipped(self) -> Counter[str]:
        """How many things are left out, for each reason: "across sentences"."""

    def __len__(self) -> int:
        """How many things there are to learn from."""


def coverage_notes(
    name: str,
    things: str,
    train: TrainDocuments,
    whole: Sequence[Sequence[Bounds]],
    gold: Mapping[int, PartialGold],
) -> list[str]:
    """Return a line on a task's gold, and one a reason why some of its layer is not in it.

    ``whole`` are each document's sentences before long ones were cut, ``train`` has them after.
    """
    learnt = sum(map(len, gold.values()))
    lines = [f"{name}: {len(gold)} documents, {learnt} {things} to learn from"]
    left: Counter[str] = sum((each.skipped for each in gold.values()), Counter())
    lines += [f"{name}: {times} {things} {why} are not learnt" for why, times in left.items()]
    long = sum(len(train[row][1].sentences) > len(whole[row]) for row in gold)
    if long:
        lines.append(f"{name}: long sentences of {long} documents are cut, and count as several")
    return lines
