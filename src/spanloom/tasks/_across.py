"""What training will not see, said in words before it starts."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from spanloom.tasks._base import TrainDocuments
from spanloom.tasks._spans import SpanGold
from spanloom.tokenization import Bounds


def coverage_notes(
    name: str,
    layer: str,
    train: TrainDocuments,
    whole: Sequence[Sequence[Bounds]],
    gold: Mapping[int, SpanGold],
) -> list[str]:
    """Return a line on a task's gold, and more where sentences take some of it away.

    ``whole`` are each document's sentences before long ones were cut, ``train`` has them after.
    """
    spans = sum(len(each.spans) for each in gold.values())
    pairs = sum(len(each.pairs) for each in gold.values())
    every = sum(len(train[row][0][layer].spans) for row in gold)
    missed = f", {every - spans} others cannot be expressed over words" if every > spans else ""
    counts = f"{len(gold)} documents, {spans} spans{missed}, {pairs} relations to learn from"
    lines = [f"{name}: {counts}"]
    before, after = (0, 0), (0, 0)
    for row, each in gold.items():
        before = _add(before, cross_sentence_gold(whole[row], each))
        after = _add(after, cross_sentence_gold(train[row][1].sentences, each))
    if any(before):
        lines.append(f"{name}: {_both(before)} reach across sentences and are not learnt")
    long = sum(len(train[row][1].sentences) > len(whole[row]) for row in gold)
    if long:
        cost = _both((after[0] - before[0], after[1] - before[1]))
        lines.append(f"{name}: long sentences of {long} documents are cut; that costs {cost}")
    return lines


def cross_sentence_gold(sentences: Sequence[Bounds], gold: SpanGold) -> tuple[int, int]:
    """Count the spans that no sentence holds, and the relations whose spans none holds together."""
    starts = [start for start, _ in sentences]
    homes = [
        {bisect_right(starts, start), bisect_right(starts, end - 1)} for start, end, _ in gold.spans
    ]
    pairs = sum(len(homes[head] | homes[tail]) > 1 for head, tail, _ in gold.pairs)
    return sum(len(home) > 1 for home in homes), pairs


def _add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] + b[0], a[1] + b[1]


def _both(counts: tuple[int, int]) -> str:
    return f"{counts[0]} spans and {counts[1]} relations"
