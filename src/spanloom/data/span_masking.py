"""Which pieces a language model has to guess: spans, words or pieces (SpanBERT, sections 3.1, 6.1).

Everything random comes from torch's global generator, so a seed decides the masks of a batch.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from spanloom.tensors import Batch
from spanloom.tokenization import Bounds

_GUESSES = 8  # starts tried blindly before all are listed; at 15 % more than half of them fit


@dataclass(frozen=True, slots=True)
class Masking:
    """How much is masked, in which portions, and what stands there instead.

    ``rate`` is a share of pieces, met in expectation. A span has l words with probability
    proportional to ``(1 - p) ** (l - 1)``, up to ``longest``: 3.8 words in the mean. All of a
    portion becomes mask pieces (``replaced``), random pieces (``random``), or stays (the rest).
    """

    mlm_probability: float = 0.15
    geometric_p: float = 0.2
    max_span_length: int = 10
    replaced: float = 0.8
    random: float = 0.1
    scheme: Literal["span", "whole-word", "subword"] = "span"


@dataclass(frozen=True, slots=True)
class MaskTargets:
    """What is to be guessed, one row a masked piece in reading order.

    ``rows``, ``left`` and ``right`` are places in ``ids.flatten()``: of the piece itself, and of
    the two around the masked stretch it stands in, which are not masked but may be special pieces.
    ``place`` counts from 0 within that stretch. ``labels`` are the original pieces.
    """

    rows: Int[Tensor, " masked"]
    labels: Int[Tensor, " masked"]
    left: Int[Tensor, " masked"]
    right: Int[Tensor, " masked"]
    place: Int[Tensor, " masked"]

    def to(self, device: torch.device) -> "MaskTargets":
        """Return the same targets on another device."""
        tensors = (self.rows, self.labels, self.left, self.right, self.place)
        return MaskTargets(*(tensor.to(device) for tensor in tensors))


def mask_pieces(
    batch: Batch, how: Masking, *, piece: int, vocabulary: int
) -> tuple[Batch, MaskTargets]:
    """Return the batch with some pieces of its text masked, and what they were.

    ``piece`` is the mask piece; random ones are drawn from all ``vocabulary``. At least one piece
    is masked where there is any. Special pieces and prompts stay; every window begins and ends with
    a special piece. Embedders that read the words themselves still see them.
    """
    text = _text(batch)
    portions = sorted(SAMPLERS[how.scheme](text, how)) if len(text.row) else []
    start, end = torch.tensor(portions, dtype=torch.long).reshape(-1, 2).unbind(-1)
    size = end - start
    rows = text.row[_inside(start, size)]
    flat = batch.input_ids.flatten()
    labels = flat[rows]
    fate = torch.rand(len(size)).repeat_interleave(size)
    drawn = torch.randint_like(labels, vocabulary)
    new = torch.where(fate < how.replaced + how.random, drawn, labels)
    new = torch.where(fate < how.replaced, piece, new)
    ids = flat.scatter(0, rows, new).view_as(batch.input_ids)
    return replace(batch, input_ids=ids), _targets(rows, labels)


def merge_batches(
    batch: Batch, masked: Sequence[tuple[Batch, MaskTargets]]
) -> tuple[Batch, MaskTargets]:
    """Put a batch together again from what ``mask`` made of its units' batches."""
    ids = torch.cat([part.input_ids for part, _ in masked])
    sizes = [part.input_ids.numel() for part, _ in masked]
    shifted = [
        (each.rows + base, each.labels, each.left + base, each.right + base, each.place)
        for base, (_, each) in zip(accumulate(sizes, initial=0), masked, strict=False)
    ]
    columns = (torch.cat(column) for column in zip(*shifted, strict=True))
    return replace(batch, input_ids=ids), MaskTargets(*columns)


def _inside(start: Int[Tensor, " span"], size: Int[Tensor, " span"]) -> Int[Tensor, " masked"]:
    """Count up from each start, ``size`` numbers each."""
    before = (size.cumsum(0) - size).repeat_interleave(size)
    return start.repeat_interleave(size) + torch.arange(len(before)) - before


def _targets(rows: Int[Tensor, " masked"], labels: Int[Tensor, " masked"]) -> MaskTargets:
    """Join portions that touch, so that the pieces around them are never masked ones."""
    first = _breaks(rows).nonzero()[:, 0]
    size = first.diff(append=torch.tensor([len(rows)]))
    left = (rows[first] - 1).repeat_interleave(size)
    right = (rows[first] + size).repeat_interleave(size)
    return MaskTargets(rows, labels, left, right, rows - left - 1)


def _breaks(row: Int[Tensor, " piece"]) -> Bool[Tensor, " piece"]:
    """Tell which pieces do not stand right after the one before.

    A window begins and ends with special pieces, so pieces of two windows are never neighbours.
    """
    return row.diff(prepend=row[:1] - 2) != 1


@dataclass(frozen=True, slots=True)
class _Text:
    """The pieces that may be masked: their places in the flat ids, and their words."""

    row: Int[Tensor, " piece"]
    word: Int[Tensor, " piece"]

    def words(self) -> Int[Tensor, "word 2"]:
        """Return the pieces ``[start, end)`` of each word; one read in two windows makes two."""
        new = _breaks(self.row) | (self.word.diff(prepend=self.word[:1]) != 0)
        start = new.nonzero()[:, 0]
        size = start.diff(append=torch.tensor([len(new)]))
        return torch.stack([start, start + size], dim=1)


def _text(batch: Batch) -> _Text:
    """Leave out the pieces of words that are read beside the text."""
    if batch.prompt_layout is None:
        return _Text(batch.piece_index, batch.piece_to_word)
    kept = torch.isin(batch.piece_to_word, batch.prompt_layout.text_rows)
    return _Text(batch.piece_index[kept], batch.piece_to_word[kept])


@dataclass(slots=True)
class _Line:
    """All words side by side, a gap after each stretch of neighbours.

    ``start`` and ``end`` bound a word's pieces; ``room`` counts the free words from it on, up to
    ``longest``. A gap has no room.
    """

    start: list[int]
    end: list[int]
    room: list[int]
    longest: int

    def spans(self, lengths: Iterable[int]) -> Iterator[Bounds]:
        """Yield the pieces of spans of so many words that neither overlap nor touch.

        Each stands anywhere it fits with equal probability. What fits nowhere is shortened.
        """
        for length in lengths:
            at = self._guess(length)
            if at is None:
                length = min(length, max(self.room))
                if not length:
                    return
                fits = [at for at, room in enumerate(self.room) if room >= length]
                at = fits[int(torch.randint(len(fits), ()))]
            self._take(at, at + length)
            yield self.start[at], self.end[at + length - 1]

    def _guess(self, length: int) -> int | None:
        guesses = torch.randint(len(self.room), (_GUESSES,)).tolist()
        return next((at for at in guesses if self.room[at] >= length), None)

    def _take(self, start: int, end: int) -> None:
        """Leave no room in the words ``[start, end)`` and the two beside them."""
        last = max(0, start - 1)
        for at in range(max(0, start - self.longest), last):
            self.room[at] = min(self.room[at], last - at)
        self.room[last : end + 1] = [0] * (end + 1 - last)


def _line(text: _Text, words: Int[Tensor, "word 2"], longest: int) -> _Line:
    stretch = _breaks(text.row)[words[:, 0]].cumsum(0) - 1
    at = torch.arange(len(words)) + stretch
    gap = torch.bincount(stretch).cumsum(0)[stretch] + stretch  # the one after a word's stretch
    line = torch.zeros(3, int(gap[-1]) + 1, dtype=torch.long)
    line[:, at] = torch.stack([*words.unbind(-1), (gap - at).clamp(max=longest)])
    start, end, room = line.tolist()
    return _Line(start, end, room, longest)


def _spans(text: _Text, how: Masking) -> list[Bounds]:
    """Whole words, a number of neighbours drawn from a geometric distribution (section 3.1)."""
    words = text.words()
    budget = how.mlm_probability * len(text.row)
    odds = (1 - how.geometric_p) ** torch.arange(how.max_span_length)
    lengths = 1 + torch.multinomial(odds, max(1, ceil(budget)), replacement=True)
    spans = _line(text, words, how.max_span_length).spans(lengths.tolist())
    return _spend(spans, budget) or _some(words, budget)


def _words(text: _Text, how: Masking) -> list[Bounds]:
    """Words by themselves, all pieces of each."""
    return _some(text.words(), how.mlm_probability * len(text.row))


def _pieces(text: _Text, how: Masking) -> list[Bounds]:
    """Pieces by themselves, as the first BERT."""
    start = torch.arange(len(text.row))
    return _some(torch.stack([start, start + 1], dim=1), how.mlm_probability * len(start))


def _some(parts: Int[Tensor, "part 2"], budget: float) -> list[Bounds]:
    """Draw some of the parts, at least one."""
    drawn = parts[torch.randperm(len(parts))].tolist()
    return _spend(drawn, budget) or drawn[:1]


def _spend(portions: Iterable[Bounds], budget: float) -> list[Bounds]:
    """Take portions until ``budget`` pieces are taken.

    The one that would pass the budget is taken with the probability at which the budget is met in
    expectation: cutting it would halve words, and leaving it out would prefer short ones.
    """
    chosen = []
    left = budget
    for start, end in portions:
        size = end - start
        if size > left and float(torch.rand(())) * size >= left:
            break
        chosen.append((start, end))
        left -= size
        if left <= 0:
            break
    return chosen


Sampler = Callable[[_Text, Masking], list[Bounds]]
SAMPLERS: dict[str, Sampler] = {"span": _spans, "whole-word": _words, "subword": _pieces}
