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

_NUM_GUESSES = 8  # random starts tried before all are listed; at 15 % more than half fit
_NUM_REDRAWS = 32  # spans over the budget in a row, until single words fill it
_NUM_LENGTHS = 16  # drawn at a time

Item = TypeVar("Item")


@dataclass(slots=True)
class WordLine:
    """The words of a text in a line, with a gap after each run of adjacent words.

    ``start`` and ``end`` are the bounds of a word's pieces; ``room`` is the number of free words
    from it on, up to ``longest``, and 0 for a gap.
    """

    start: list[int]
    end: list[int]
    room: list[int]
    longest: int

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
        num_redraws = 0
        while budget and num_redraws < _NUM_REDRAWS:
            if not lengths:
                choices = range(1, len(cumulative) + 1)
                lengths = rng.choices(choices, cum_weights=cumulative, k=_NUM_LENGTHS)
            length = lengths.pop()
            first = self._position(length, rng)
            if first is None:
                length = max(self.room)
                first = self._position(length, rng) if length else None
            if first is None:
                return spans
            span = self.start[first], self.end[first + length - 1]
            if span[1] - span[0] > budget:
                num_redraws += 1
                continue
            self._take(first, first + length)
            spans.append(span)
            budget -= span[1] - span[0]
            num_redraws = 0
        return spans + self._fill_with_words(budget, rng)

    def _fill_with_words(self, budget: int, rng: Random) -> list[Bounds]:
        """Take random free words until none is left that fits into the budget."""
        spans: list[Bounds] = []
        for i in shuffled(range(len(self.room)), rng) if budget else ():
            size = self.end[i] - self.start[i]
            if self.room[i] and size <= budget:
                self._take(i, i + 1)
                spans.append((self.start[i], self.end[i]))
                budget -= size
        return spans

    def _position(self, length: int, rng: Random) -> int | None:
        """Draw a position at which a span of this length fits; None where it fits nowhere."""
        for _ in range(_NUM_GUESSES):
            i = int(rng.random() * len(self.room))
            if self.room[i] >= length:
                return i
        fits = [i for i, room in enumerate(self.room) if room >= length]
        return rng.choice(fits) if fits else None

    def _take(self, start: int, end: int) -> None:
        """Leave no room in the words ``[start, end)`` and their two neighbours."""
        last = max(0, start - 1)
        for i in range(max(0, start - self.longest), last):
            self.room[i] = min(self.room[i], last - i)
        self.room[last : end + 1] = [0] * (end + 1 - last)


def word_lines(
    index: Int[np.ndarray, " piece"],
    word: Int[np.ndarray, " piece"],
    num_words: Sequence[int],
    longest: int,
) -> Iterator[WordLine]:
    """Yield the line of words of each of some texts, all computed at once.

    ``index`` and ``word`` are the place and the word of each piece; pieces that follow each other
    have adjacent places. A word in two windows counts twice. ``num_words`` are those of each text.
    """
    begins_run = np.diff(index, prepend=index[:1] - 2) != 1
    start = np.flatnonzero(begins_run | (np.diff(word, prepend=word[:1]) != 0))
    runs = begins_run[start].cumsum() - 1
    position = np.arange(len(start)) + runs
    gap = np.bincount(runs).cumsum()[runs] + runs  # the one after a word's run
    line = np.zeros((3, len(start) + int(begins_run.sum())), np.int64)
    end = np.append(start, len(index))[1:]
    line[:, position] = start, end, np.minimum(gap - position, longest)
    firsts = np.searchsorted(word[start], np.cumsum([0, *num_words]))
    cuts = np.append(position, line.shape[1])[firsts].tolist()
    starts, ends, rooms = line.tolist()
    for a, b in zip(cuts, cuts[1:], strict=False):
        yield WordLine(starts[a:b], ends[a:b], rooms[a:b], longest)


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
