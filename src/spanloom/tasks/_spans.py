"""Spans and relations between documents and batches: what span tasks of all kinds share."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch

from spanloom.data.units import Unit
from spanloom.document import Layer, Relation, Span
from spanloom.tasks._base import Fresh
from spanloom.tensors import Chosen, Linked, SpanTargets
from spanloom.words import Bounds


@dataclass(frozen=True, slots=True)
class Gold:
    """A document's gold annotation over its words: ``(start, end, label)`` and ``(i, j, label)``.

    Sorted by start; labels are rows of the inventory plus one. What words or inventory cannot
    express is not in it, and so is missed.
    """

    spans: tuple[tuple[int, int, int], ...] = ()
    pairs: tuple[tuple[int, int, int], ...] = ()

    def __len__(self) -> int:
        """How many spans there are to learn from."""
        return len(self.spans)


@dataclass(slots=True)
class Found:
    """What was predicted in one unit: spans in its words, links between their rows."""

    spans: list[tuple[int, int, str, float]] = field(default_factory=list)
    links: list[tuple[int, int, str, float]] = field(default_factory=list)


def placed(layer: Layer, words: Sequence[Bounds]) -> dict[str, Bounds]:
    """Return word bounds of the spans that stand on word borders in one piece, by id."""
    starts = {start: row for row, (start, _) in enumerate(words)}
    ends = {end: row for row, (_, end) in enumerate(words, 1)}
    found = {}
    for span in layer.spans:
        if len(span.fragments) == 1:
            a, b = starts.get(span.start), ends.get(span.end)
            if a is not None and b is not None and a < b:
                found[span.id] = (a, b)
    return found


def lay(units: Sequence[Unit], gold: Mapping[int, Gold]) -> SpanTargets:
    """Lay the gold of some units flat, as ``collate`` lays their words.

    A span that leaves its unit is left out, with its relations.
    """
    bounds: list[tuple[int, int]] = []
    labels: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    bases = accumulate((len(unit.forms) for unit in units), initial=0)
    for base, unit in zip(bases, units, strict=False):
        mine, end = gold[unit.document], unit.first + len(unit.forms)
        first = bisect_left(mine.spans, (unit.first,))
        last = bisect_left(mine.spans, (end,))
        whole = [row for row in range(first, last) if mine.spans[row][1] <= end]
        place = {row: len(bounds) + n for n, row in enumerate(whole)}
        shift = base - unit.first
        bounds += [(mine.spans[row][0] + shift, mine.spans[row][1] + shift) for row in whole]
        labels += [mine.spans[row][2] for row in whole]
        pairs += [
            (place[i], place[j], label) for i, j, label in mine.pairs if i in place and j in place
        ]
    return SpanTargets(
        torch.tensor(bounds, dtype=torch.long).reshape(-1, 2),
        torch.tensor(labels, dtype=torch.long),
        torch.tensor(pairs, dtype=torch.long).reshape(-1, 3),
    )


def share(
    units: Sequence[Unit],
    chosen: Chosen,
    linked: Linked,
    labels: Sequence[str],
    names: Sequence[str],
) -> Iterator[Found]:
    """Give each unit its spans and links; ``labels`` and ``names`` say what rows of labels mean.

    Rows of labels count from 1. Spans stand in the order of the text.
    """
    bases = list(accumulate((len(unit.forms) for unit in units), initial=0))
    first = chosen.bounds[:, 0].contiguous().cpu()
    owner = torch.bucketize(first, torch.tensor(bases[1:]), right=True).tolist()
    found = [Found() for _ in units]
    place: list[int] = []
    columns = chosen.bounds.tolist(), chosen.labels.tolist(), chosen.scores.tolist()
    for (start, end), label, score, which in zip(*columns, owner, strict=True):
        mine, base = found[which].spans, bases[which]
        place.append(len(mine))
        mine.append((start - base, end - base, labels[label - 1], score))
    columns = linked.ends.tolist(), linked.labels.tolist(), linked.scores.tolist()
    for (head, tail), label, score in zip(*columns, strict=True):
        link = (place[head], place[tail], names[label - 1], score)
        found[owner[head]].links.append(link)
    yield from found


def spans_and_relations(
    found: Sequence[tuple[Unit, Found]], fresh: Fresh
) -> tuple[list[Span], list[Relation]]:
    """Return what was found in a document in characters: spans in text order, links without ids."""
    spans: list[tuple[int, int, str, float]] = []
    links: list[tuple[int, int, str, float]] = []
    for unit, mine in found:
        base = len(spans)
        for start, end, label, score in mine.spans:
            spans.append((unit.words[start][0], unit.words[end - 1][1], label, score))
        links += [(base + i, base + j, label, score) for i, j, label, score in mine.links]
    order = sorted(range(len(spans)), key=lambda row: spans[row][:3])
    ids = {row: fresh("T") for row in order}
    made = [
        Span(ids[row], label, ((start, end),), score)
        for row in order
        for start, end, label, score in (spans[row],)
    ]
    links.sort(key=lambda link: (spans[link[0]], spans[link[1]]))
    return made, [Relation("", label, ids[i], ids[j], score=score) for i, j, label, score in links]
