"""Draw the portions of a text that are masked, up to a budget of pieces that is never passed.

A portion that would pass the budget is drawn again. So the last spans of a text are shorter than
those before: what that bias comes to, ``training.text_data`` reports.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanloom.tokenization import Bounds

_NUM_GUESSES = 8  # random starts tried before all are listed; at 15 % more than half fit
_NUM_REDRAWS = 32  # spans over the budget in a row, until single words fill it
_NUM_LENGTHS, _NUM_DRAWN = 32, 128  # lengths and positions drawn at a time


@dataclass(slots=True)
class WordLine:
    """All words in a line, with a gap after each run of adjacent words.

    ``start`` and ``end`` are the bounds of a word's pieces; ``room`` is the number of free words
    from it on, up to ``longest``, and 0 for a gap.
    """

    start: list[int]
    end: list[int]
    room: list[int]
    longest: int
    guesses: list[int] = field(default_factory=list)  # random positions that were not tried yet

    @classmethod
    def of(
        cls, words: Int[Tensor, "word 2"], run: Int[Tensor, " word"], longest: int
    ) -> "WordLine":
        """Return the line of words; ``run`` numbers the run of adjacent words of each."""
        position = torch.arange(len(words)) + run
        gap = torch.bincount(run).cumsum(0)[run] + run  # the one after a word's run
        line = torch.zeros(3, int(gap[-1]) + 1, dtype=torch.long)
        line[:, position] = torch.stack([*words.unbind(-1), (gap - position).clamp(max=longest)])
        start, end, room = line.tolist()
        return cls(start, end, room, longest)

    def fill(self, budget: int, weights: Float[Tensor, " length"]) -> list[Bounds]:
        """Return spans with at most ``budget`` pieces in all that neither overlap nor touch.

        ``weights`` are those of lengths, from one word. All positions at which a span fits are
        equally likely; if it fits nowhere, it is shortened. A span over the rest of the budget is
        drawn again; after many of them single words fill it.
        """
        spans: list[Bounds] = []
        lengths: list[int] = []
        num_redraws = 0
        while budget and num_redraws < _NUM_REDRAWS:
            if not lengths:
                lengths = torch.multinomial(weights, _NUM_LENGTHS, replacement=True).tolist()
            length = lengths.pop() + 1
            first = self._position(length)
            if first is None:
                length = max(self.room)
                first = self._position(length) if length else None
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
        return spans + self._fill_with_words(budget)

    def _fill_with_words(self, budget: int) -> list[Bounds]:
        """Take random free words until none is left that fits into the budget."""
        spans: list[Bounds] = []
        for i in torch.randperm(len(self.room)).tolist() if budget else ():
            size = self.end[i] - self.start[i]
            if self.room[i] and size <= budget:
                self._take(i, i + 1)
                spans.append((self.start[i], self.end[i]))
                budget -= size
        return spans

    def _position(self, length: int) -> int | None:
        """Draw a position at which a span of this length fits; None where it fits nowhere."""
        for _ in range(_NUM_GUESSES):
            if not self.guesses:
                self.guesses = torch.randint(len(self.room), (_NUM_DRAWN,)).tolist()
            i = self.guesses.pop()
            if self.room[i] >= length:
                return i
        fits = [i for i, room in enumerate(self.room) if room >= length]
        return fits[int(torch.randint(len(fits), ()))] if fits else None

    def _take(self, start: int, end: int) -> None:
        """Leave no room in the words ``[start, end)`` and their two neighbours."""
        last = max(0, start - 1)
        for i in range(max(0, start - self.longest), last):
            self.room[i] = min(self.room[i], last - i)
        self.room[last : end + 1] = [0] * (end + 1 - last)


def draw_portions(portions: Sequence[Bounds], budget: int) -> list[Bounds]:
    """Return random portions of at most ``budget`` pieces in all; one at least, if there is any."""
    selected: list[Bounds] = []
    order = torch.randperm(len(portions)).tolist()
    for i in order:
        start, end = portions[i]
        if end - start <= budget:
            selected.append((start, end))
            budget -= end - start
            if not budget:
                break
    return selected or [portions[i] for i in order[:1]]


def draw_with_spans(words: Sequence[Bounds], spans: Sequence[Bounds], budget: int) -> list[Bounds]:
    """Return random portions of at most ``budget`` pieces: half of them spans, half of them words.

    Portions do not overlap. Where spans are used up, words alone fill the budget.
    """
    queues = [
        [portions[i] for i in torch.randperm(len(portions)).tolist()] for portions in (spans, words)
    ]
    selected: list[Bounds] = []
    used: set[int] = set()
    while budget and any(queues):
        chosen = int(torch.rand(()) < 0.5)
        start, end = (queues[chosen] or queues[1 - chosen]).pop()
        if end - start <= budget and used.isdisjoint(range(start, end)):
            selected.append((start, end))
            used.update(range(start, end))
            budget -= end - start
    return selected
