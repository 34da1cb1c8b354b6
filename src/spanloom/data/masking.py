"""Mask pieces: for masked language modelling (SpanBERT, sections 3.1 and 6.1), for word dropout.

All randomness comes from torch's global generator, so a seed determines the masks of a batch.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from spanloom.data.span_sampling import WordLine, draw_portions, draw_with_spans
from spanloom.tensors import Batch
from spanloom.tokenization import Bounds


@dataclass(frozen=True, slots=True)
class Masking:
    """How many pieces are masked, in which portions, and what replaces them.

    ``mlm_probability`` is the fraction of pieces that is masked, never more but for a fraction of a
    piece that is rounded at random. Words are masked whole, except by the scheme "subword". The
    probability of a span of l words is proportional to ``(1 - geometric_p) ** (l - 1)``, up to
    ``max_span_length``: 3.8 words on average. By the scheme "layer" a portion is with probability ½
    an annotated span, else a word. A portion becomes mask pieces with probability ``replaced``,
    random pieces with probability ``random``, and stays otherwise.
    """

    mlm_probability: float = 0.15
    geometric_p: float = 0.2
    max_span_length: int = 10
    replaced: float = 0.8
    random: float = 0.1
    scheme: Literal["span", "whole-word", "subword", "layer"] = "span"

    @property
    def length_weights(self) -> Float[Tensor, " length"]:
        """The probability of each span length, from one word."""
        weights = (1 - self.geometric_p) ** torch.arange(self.max_span_length)
        return weights / weights.sum()

    @property
    def mean_length(self) -> float:
        """The mean of the span lengths as they are drawn."""
        return float(self.length_weights @ (1.0 + torch.arange(self.max_span_length)))


@dataclass(frozen=True, slots=True)
class PieceDistribution:
    """What random pieces are drawn from: the pieces' weights, summed up from the first on."""

    cumulative: Float[Tensor, " vocabulary"]

    @classmethod
    def of(
        cls, weights: Float[Tensor, " vocabulary"], excluded: Collection[int]
    ) -> "PieceDistribution":
        """Return the distribution in proportion to weights, without ``excluded`` (special) pieces.

        It is uniform over all others where these have no weight at all.
        """
        excluded_ids = torch.tensor(sorted(excluded), dtype=torch.long)
        weights = weights.double().index_fill(0, excluded_ids, 0.0)
        if not float(weights.sum()):
            weights = torch.ones_like(weights).index_fill(0, excluded_ids, 0.0)
        return cls(weights.cumsum(0))

    def draw(self, count: int) -> Int[Tensor, " count"]:
        """Draw pieces independently of each other."""
        points = torch.rand(count, dtype=torch.float64) * self.cumulative[-1]
        drawn = torch.searchsorted(self.cumulative, points, right=True)
        return drawn.clamp(max=len(self.cumulative) - 1)


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
    batch: Batch,
    how: Masking,
    *,
    piece: int,
    random_pieces: PieceDistribution,
    spans: Sequence[Bounds] = (),
) -> tuple[Batch, MaskTargets]:
    """Return the batch with some pieces of its text masked, and the targets.

    ``piece`` is the mask piece; ``spans`` are annotated spans, as bounds in words. At least one
    piece is masked, if there is any; special pieces and prompts never are. Every window begins and
    ends with a special piece. Embedders that read ``batch.words`` still see the words.
    """
    text = _text(batch)
    portions = sorted(SAMPLERS[how.scheme](text, how, spans)) if len(text.index) else []
    start, end = torch.tensor(portions, dtype=torch.long).reshape(-1, 2).unbind(-1)
    size = end - start
    indices = text.index[_ranges(start, size)]
    flat = batch.input_ids.flatten()
    labels = flat[indices]
    draw = torch.rand(len(size)).repeat_interleave(size)
    random_ids = random_pieces.draw(len(labels))
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


def _spans(text: _Text, how: Masking, spans: Sequence[Bounds]) -> list[Bounds]:
    """Draw spans of whole words with geometrically distributed lengths (section 3.1)."""
    words = text.words()
    run = _breaks(text.index)[words[:, 0]].cumsum(0) - 1
    line = WordLine.of(words, run, how.max_span_length)
    return line.fill(_budget(text, how), how.length_weights) or draw_portions(words.tolist(), 0)


def _single_words(text: _Text, how: Masking, spans: Sequence[Bounds]) -> list[Bounds]:
    """Draw single words, with all their pieces."""
    return draw_portions(text.words().tolist(), _budget(text, how))


def _single_pieces(text: _Text, how: Masking, spans: Sequence[Bounds]) -> list[Bounds]:
    """Draw single pieces, as the original BERT."""
    pieces = [(start, start + 1) for start in range(len(text.index))]
    return draw_portions(pieces, _budget(text, how))


def _layer_spans(text: _Text, how: Masking, spans: Sequence[Bounds]) -> list[Bounds]:
    """Draw annotated spans (names, noun phrases) half of the time, single words otherwise."""
    words = text.words().tolist()
    pieces = [(words[first][0], words[last - 1][1]) for first, last in spans]
    return draw_with_spans(words, pieces, _budget(text, how)) or draw_portions(words, 0)


def _budget(text: _Text, how: Masking) -> int:
    """Return how many pieces are masked, at least 1; a fraction is rounded at random."""
    return max(1, int(how.mlm_probability * len(text.index) + float(torch.rand(()))))


Sampler = Callable[[_Text, Masking, Sequence[Bounds]], list[Bounds]]
SAMPLERS: dict[str, Sampler] = {
    "span": _spans,
    "whole-word": _single_words,
    "subword": _single_pieces,
    "layer": _layer_spans,
}
