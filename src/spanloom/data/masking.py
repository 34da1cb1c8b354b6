"""Mask pieces: for masked language modelling (SpanBERT, sections 3.1 and 6.1), for word dropout.

All randomness comes from torch's global generator, so a seed determines the masks of a batch.
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

_NUM_GUESSES = 8  # random starts tried before all are listed; at 15 % more than half fit


@dataclass(frozen=True, slots=True)
class Masking:
    """How many pieces are masked, in which portions, and what replaces them.

    ``mlm_probability`` is the expected fraction of masked pieces. The probability of a span of l
    words is proportional to ``(1 - geometric_p) ** (l - 1)``, up to ``max_span_length``: 3.8 words
    on average. A portion becomes mask pieces with probability ``replaced``, random pieces with
    probability ``random``, and stays otherwise.
    """

    mlm_probability: float = 0.15
    geometric_p: float = 0.2
    max_span_length: int = 10
    replaced: float = 0.8
    random: float = 0.1
    scheme: Literal["span", "whole-word", "subword"] = "span"


@dataclass(frozen=True, slots=True)
class MaskTargets:
    """The masked pieces, in reading order.

    ``rows``, ``left`` and ``right`` are indices of ``input_ids.flatten()``: of the masked piece,
    and of the unmasked (perhaps special) pieces around its masked run. ``span_position`` is the
    piece's position in the run, from 0. ``labels`` are the original pieces.
    """

    rows: Int[Tensor, " masked"]
    labels: Int[Tensor, " masked"]
    left: Int[Tensor, " masked"]
    right: Int[Tensor, " masked"]
    span_position: Int[Tensor, " masked"]

    def to(self, device: torch.device) -> "MaskTargets":
        """Return the targets on another device."""
        tensors = (self.rows, self.labels, self.left, self.right, self.span_position)
        return MaskTargets(*(tensor.to(device) for tensor in tensors))


def mask_pieces(
    batch: Batch, how: Masking, *, piece: int, vocabulary: int
) -> tuple[Batch, MaskTargets]:
    """Return the batch with some pieces of its text masked, and the targets.

    ``piece`` is the mask piece; random pieces are drawn from ``vocabulary`` ids. At least one piece
    is masked, if there is any; special pieces and prompts never are. Every window begins and ends
    with a special piece. Embedders that read ``batch.words`` still see the words.
    """
    text = _text(batch)
    portions = sorted(SAMPLERS[how.scheme](text, how)) if len(text.index) else []
    start, end = torch.tensor(portions, dtype=torch.long).reshape(-1, 2).unbind(-1)
    size = end - start
    indices = text.index[_ranges(start, size)]
    flat = batch.input_ids.flatten()
    labels = flat[indices]
    draw = torch.rand(len(size)).repeat_interleave(size)
    random_ids = torch.randint_like(labels, vocabulary)
    masked = torch.where(draw < how.replaced + how.random, random_ids, labels)
    masked = torch.where(draw < how.replaced, piece, masked)
    ids = flat.scatter(0, indices, masked).view_as(batch.input_ids)
    return replace(batch, input_ids=ids), _targets(indices, labels)


def word_dropout(batch: Batch, rate: float, unknown: int) -> Batch:
    """Replace all pieces of each word of the text by ``unknown`` with probability ``rate``.

    Gold does not change, so a model also learns from context. Embedders that read ``batch.words``
    still see the words.
    """
    if not rate:
        return batch
    hidden = torch.rand(len(batch.words)) < rate
    if batch.prompt_layout is not None:
        hidden &= torch.zeros(len(hidden), dtype=torch.bool).index_fill(
            0, batch.prompt_layout.text_rows, True
        )
    indices = batch.piece_index[hidden[batch.piece_to_word]]
    ids = batch.input_ids.flatten().index_fill(0, indices, unknown)
    return replace(batch, input_ids=ids.view_as(batch.input_ids))


def merge_batches(
    batch: Batch, masked: Sequence[tuple[Batch, MaskTargets]]
) -> tuple[Batch, MaskTargets]:
    """Merge the masked batches of a batch's instances."""
    ids = torch.cat([part.input_ids for part, _ in masked])
    sizes = [part.input_ids.numel() for part, _ in masked]
    shifted = [
        (part.rows + base, part.labels, part.left + base, part.right + base, part.span_position)
        for base, (_, part) in zip(accumulate(sizes, initial=0), masked, strict=False)
    ]
    columns = (torch.cat(column) for column in zip(*shifted, strict=True))
    return replace(batch, input_ids=ids), MaskTargets(*columns)


def _ranges(start: Int[Tensor, " span"], size: Int[Tensor, " span"]) -> Int[Tensor, " masked"]:
    """Return the concatenated ranges of ``size`` numbers from each start."""
    before = (size.cumsum(0) - size).repeat_interleave(size)
    return start.repeat_interleave(size) + torch.arange(len(before)) - before


def _targets(rows: Int[Tensor, " masked"], labels: Int[Tensor, " masked"]) -> MaskTargets:
    """Return the targets; touching portions are one run, so the pieces around it are unmasked."""
    first = _breaks(rows).nonzero()[:, 0]
    size = first.diff(append=torch.tensor([len(rows)]))
    left = (rows[first] - 1).repeat_interleave(size)
    right = (rows[first] + size).repeat_interleave(size)
    return MaskTargets(rows, labels, left, right, rows - left - 1)


def _breaks(index: Int[Tensor, " piece"]) -> Bool[Tensor, " piece"]:
    """Return the mask of pieces that do not directly follow the previous one.

    Windows begin and end with special pieces, so pieces of two windows are never adjacent.
    """
    return index.diff(prepend=index[:1] - 2) != 1


@dataclass(frozen=True, slots=True)
class _Text:
    """The pieces that may be masked: their indices in the flat ids, and their words."""

    index: Int[Tensor, " piece"]
    word: Int[Tensor, " piece"]

    def words(self) -> Int[Tensor, "word 2"]:
        """Return the pieces ``[start, end)`` of each word; a word in two windows counts twice."""
        new = _breaks(self.index) | (self.word.diff(prepend=self.word[:1]) != 0)
        start = new.nonzero()[:, 0]
        size = start.diff(append=torch.tensor([len(new)]))
        return torch.stack([start, start + size], dim=1)


def _text(batch: Batch) -> _Text:
    """Return the pieces of the text, without prompts."""
    if batch.prompt_layout is None:
        return _Text(batch.piece_index, batch.piece_to_word)
    kept = torch.isin(batch.piece_to_word, batch.prompt_layout.text_rows)
    return _Text(batch.piece_index[kept], batch.piece_to_word[kept])


@dataclass(slots=True)
class _Line:
    """All words in a line, with a gap after each run of adjacent words.

    ``start`` and ``end`` are the bounds of a word's pieces; ``room`` is the number of free words
    from it on, up to ``longest``, and 0 for a gap.
    """

    start: list[int]
    end: list[int]
    room: list[int]
    longest: int

    def spans(self, lengths: Iterable[int]) -> Iterator[Bounds]:
        """Yield the bounds of spans of these numbers of words that neither overlap nor touch.

        All positions at which a span fits are equally likely. If it fits nowhere, it is shortened.
        """
        for length in lengths:
            first = self._guess(length)
            if first is None:
                length = min(length, max(self.room))
                if not length:
                    return
                fits = [i for i, room in enumerate(self.room) if room >= length]
                first = fits[int(torch.randint(len(fits), ()))]
            self._take(first, first + length)
            yield self.start[first], self.end[first + length - 1]

    def _guess(self, length: int) -> int | None:
        guesses = torch.randint(len(self.room), (_NUM_GUESSES,)).tolist()
        return next((i for i in guesses if self.room[i] >= length), None)

    def _take(self, start: int, end: int) -> None:
        """Leave no room in the words ``[start, end)`` and their two neighbours."""
        last = max(0, start - 1)
        for i in range(max(0, start - self.longest), last):
            self.room[i] = min(self.room[i], last - i)
        self.room[last : end + 1] = [0] * (end + 1 - last)


def _line(text: _Text, words: Int[Tensor, "word 2"], longest: int) -> _Line:
    run = _breaks(text.index)[words[:, 0]].cumsum(0) - 1
    position = torch.arange(len(words)) + run
    gap = torch.bincount(run).cumsum(0)[run] + run  # the one after a word's run
    line = torch.zeros(3, int(gap[-1]) + 1, dtype=torch.long)
    line[:, position] = torch.stack([*words.unbind(-1), (gap - position).clamp(max=longest)])
    start, end, room = line.tolist()
    return _Line(start, end, room, longest)


def _spans(text: _Text, how: Masking) -> list[Bounds]:
    """Draw spans of whole words with geometrically distributed lengths (section 3.1)."""
    words = text.words()
    budget = how.mlm_probability * len(text.index)
    weights = (1 - how.geometric_p) ** torch.arange(how.max_span_length)
    lengths = 1 + torch.multinomial(weights, max(1, ceil(budget)), replacement=True)
    spans = _line(text, words, how.max_span_length).spans(lengths.tolist())
    return _take_budget(spans, budget) or _draw(words, budget)


def _single_words(text: _Text, how: Masking) -> list[Bounds]:
    """Draw single words, with all their pieces."""
    return _draw(text.words(), how.mlm_probability * len(text.index))


def _single_pieces(text: _Text, how: Masking) -> list[Bounds]:
    """Draw single pieces, as the original BERT."""
    start = torch.arange(len(text.index))
    return _draw(torch.stack([start, start + 1], dim=1), how.mlm_probability * len(start))


def _draw(parts: Int[Tensor, "part 2"], budget: float) -> list[Bounds]:
    """Draw parts up to the budget, at least one."""
    order = parts[torch.randperm(len(parts))].tolist()
    return _take_budget(order, budget) or order[:1]


def _take_budget(portions: Iterable[Bounds], budget: float) -> list[Bounds]:
    """Return the first portions, up to ``budget`` pieces.

    The portion that exceeds the budget is taken with the probability that meets the budget in
    expectation: shortening it would split words, and dropping it would prefer short ones.
    """
    selected = []
    left = budget
    for start, end in portions:
        size = end - start
        if size > left and float(torch.rand(())) * size >= left:
            break
        selected.append((start, end))
        left -= size
        if left <= 0:
            break
    return selected


Sampler = Callable[[_Text, Masking], list[Bounds]]
SAMPLERS: dict[str, Sampler] = {
    "span": _spans,
    "whole-word": _single_words,
    "subword": _single_pieces,
}
