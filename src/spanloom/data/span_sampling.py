"""Draw the portions of a text that are masked, up to a budget of pieces that is never passed.

A portion that would pass the budget is drawn again. So the last spans of a text are shorter than
those before: what that bias comes to, ``training.text_data`` reports.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np
from jaxtyping import Int

from spanloom.tokenization import Bounds

_NUM_REDRAWS = 32  # spans over the budget in a row, until single words fill it
_NUM_LENGTHS = 16  # drawn at a time

Item = TypeVar("Item")


@dataclass(slots=True)
class WordLine:
    """The words of a text in a line, with a gap after each run of adjacent words.

    ``start`` and ``end`` are the bounds of a word's pieces, both 0 for a gap; bit ``i`` of ``free``
    says whether word ``i`` may be taken.
    """

    start: list[int]
    end: list[int]
    free: int

    @property
    def num_pieces(self) -> int:
        """The pieces of all words, which follow each other."""
        return self.end[-2] - self.start[0] if self.start else 0  # the last item is a gap

    def words(self) -> list[Bounds]:
        """Return the bounds of each word's pieces, without gaps."""
        return [word for word in zip(self.start, self.end, strict=True) if word[0] < word[1]]

    def fill(self, budget: int, cumulative: Sequence[float], rng: Random) -> list[Bounds]:
        """Return spans with at most ``budget`` pieces in all that neither overlap nor touch.

        ``cumulative`` are the weights of lengths, from one word, summed up. All positions at which
        a span fits are equally likely; if it fits nowhere, it is shortened. A span over the rest of
        the budget is drawn again; after many of them single words fill it.
        """
        spans: list[Bounds] = []
        lengths: list[int] = []
        num_redraws, num_runs = 0, self.end.count(0)  # of free words, at most
        while budget and self.free and num_redraws < _NUM_REDRAWS:
            if not lengths:
                choices = range(1, len(cumulative) + 1)
                lengths = rng.choices(choices, cum_weights=cumulative, k=_NUM_LENGTHS)
            length = lengths.pop()
            if self.free.bit_count() <= num_runs * (length - 1):  # else one run has so many
                length = self._longest(length)
            first = self._draw(length, rng)
            span = self.start[first], self.end[first + length - 1]
            if span[1] - span[0] > budget:
                num_redraws += 1
                continue
            self._take(first, first + length)
            spans.append(span)
            budget -= span[1] - span[0]
            num_redraws, num_runs = 0, num_runs + 1
        return spans + self._fill_with_words(budget, rng)

    def _longest(self, length: int) -> int:
        """Return how many free words are adjacent anywhere, at most ``length``."""
        fits = self.free  # a bit for each word from which on so many are free
        for size in range(1, length):
            fits &= self.free >> size
            if not fits:
                return size
        return length

    def _draw(self, length: int, rng: Random) -> int:
        """Draw the first of so many free words that are adjacent somewhere."""
        free, num_words, all_free = self.free, len(self.start), (1 << length) - 1
        while True:
            first = int(rng.random() * num_words)
            if free >> first & all_free == all_free:
                return first

    def _fill_with_words(self, budget: int, rng: Random) -> list[Bounds]:
        """Take random free words until none is left that fits into the budget."""
        spans: list[Bounds] = []
        for i in shuffled(range(len(self.start)), rng) if budget else ():
            size = self.end[i] - self.start[i]
            if self.free >> i & 1 and size <= budget:
                self._take(i, i + 1)
                spans.append((self.start[i], self.end[i]))
                budget -= size
        return spans

    def _take(self, first: int, end: int) -> None:
        """Take the words ``[first, end)``; their two neighbours are not free either."""
        self.free &= ~((1 << (end - first + 2)) - 1 << first >> 1)


def word_lines(
    index: Int[np.ndarray, " piece"], word: Int[np.ndarray, " piece"], num_words: Sequence[int]
) -> Iterator[WordLine]:
    """Yield the line of words of each of some texts, all computed at once.

    ``index`` and ``word`` are the place and the word of each piece; pieces that follow each other
    have adjacent places. A word in two windows counts twice. ``num_words`` are those of each text.
    """
    begins_run = np.diff(index, prepend=index[:1] - 2) != 1
    start = np.flatnonzero(begins_run | (np.diff(word, prepend=word[:1]) != 0))
    position = np.arange(len(start)) + begins_run[start].cumsum() - 1
    line = np.zeros((3, len(start) + int(begins_run.sum())), np.int64)
    line[:, position] = start, np.append(start, len(index))[1:], np.ones(len(start))
    firsts = np.searchsorted(word[start], np.cumsum([0, *num_words]))
    cuts = np.append(position, line.shape[1])[firsts].tolist()
    starts, ends = line[:2].tolist()
    bits = np.packbits(line[2].astype(np.uint8), bitorder="little").tobytes()
    free = int.from_bytes(bits, "little")
    for a, b in zip(cuts, cuts[1:], strict=False):
        yield WordLine(starts[a:b], ends[a:b], free >> a & (1 << b - a) - 1)


def shuffled(items: Sequence[Item], rng: Random) -> Iterator[Item]:
    """Yield items in random order; only those that are read are drawn."""
    left = list(items)
    while left:
        row = int(rng.random() * len(left))
        left[row], left[-1] = left[-1], left[row]
        yield left.pop()


def draw_portions(portions: Sequence[Bounds], budget: int, rng: Random) -> list[Bounds]:
    """Return random portions of at most ``budget`` pieces in all; one at least, if there is any."""
    selected: list[Bounds] = []
    first: list[Bounds] = []
    for start, end in shuffled(portions, rng):
        first = first or [(start, end)]
        if end - start <= budget:
            selected.append((start, end))
            budget -= end - start
        if budget <= 0:
            break
    return selected or first


def draw_with_spans(
    words: Sequence[Bounds], spans: Sequence[Bounds], budget: int, rng: Random
) -> list[Bounds]:
    """Return random portions of at most ``budget`` pieces: half of them spans, half of them words.

    Portions do not overlap. Where spans are used up, words alone fill the budget.
    """
    queues = [shuffled(spans, rng), shuffled(words, rng)]
    selected: list[Bounds] = []
    used: set[int] = set()
    while budget:
        chosen = int(rng.random() < 0.5)
        portion = next(queues[chosen], None) or next(queues[1 - chosen], None)
        if portion is None:
            break
        if portion[1] - portion[0] <= budget and used.isdisjoint(range(*portion)):
            selected.append(portion)
            used.update(range(*portion))
            budget -= portion[1] - portion[0]
    return selected
