"""Mask pieces: for masked language modelling (SpanBERT, sections 3.1 and 6.1), for word dropout.

The masks of a text follow from its own seed, whatever else is in its batch; word dropout draws from
torch's global generator. The texts of a batch are masked by the same few operations on arrays.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from random import Random
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanloom.data.span_sampling import WordLine, draw_portions, draw_with_spans, word_lines
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
    def length_weights(self) -> tuple[float, ...]:
        """The weight of each span length, from one word."""
        return tuple((1 - self.geometric_p) ** more for more in range(self.max_span_length))

    @property
    def mean_length(self) -> float:
        """The mean of the span lengths as they are drawn."""
        weights = self.length_weights
        return sum(length * weight for length, weight in enumerate(weights, 1)) / sum(weights)


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

    def at(self, points: Float[Tensor, " piece"]) -> Int[Tensor, " piece"]:
        """Return the piece at each point of ``[0, 1)``: of random points, random pieces."""
        drawn = torch.searchsorted(self.cumulative, points * self.cumulative[-1], right=True)
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


@dataclass(frozen=True, slots=True)
class MaskableText:
    """A text of a batch that is masked by itself, and the seed of its masks.

    ``spans`` are annotated spans, as bounds in its words.
    """

    num_words: int
    seed: str
    spans: Sequence[Bounds] = ()


def mask_pieces(
    batch: Batch,
    how: Masking,
    texts: Sequence[MaskableText],
    *,
    piece: int,
    random_pieces: PieceDistribution,
) -> tuple[Batch, MaskTargets, Int[Tensor, " text"]]:
    """Return the batch with some pieces masked, the targets, and the masked pieces of each text.

    ``texts`` are all words of the batch, prompts included; ``piece`` is the mask piece. At least
    one piece of a text is masked, if it has any; special pieces never are. Every window begins and
    ends with a special piece. Embedders that read ``batch.words`` still see the words.
    """
    index, num_words = batch.piece_index.numpy(), [text.num_words for text in texts]
    assert sum(num_words) == len(batch.words), "texts: expected all words of the batch, no [CLS]"
    lines = word_lines(index, batch.piece_to_word.numpy(), num_words)
    masks = [_draw(line, how, text) for line, text in zip(lines, texts, strict=True)]
    portions = _flat_ints(mask.portions for mask in masks).reshape(-1, 2)
    size = portions[:, 1] - portions[:, 0]
    rows = index[_ranges(portions[:, 0], size)]
    fate = _flat_floats(mask.fates for mask in masks).repeat(size)
    ids = batch.input_ids.numpy().copy()
    flat = ids.reshape(-1)
    labels = flat[rows]
    masked = np.where(fate < how.replaced, piece, labels)
    points = torch.from_numpy(_flat_floats(mask.points for mask in masks))
    is_random = (fate >= how.replaced) & (fate < how.replaced + how.random)
    masked[is_random] = random_pieces.at(points).numpy()
    flat[rows] = masked
    num_masked = torch.tensor([mask.num_pieces for mask in masks], dtype=torch.long)
    return replace(batch, input_ids=torch.from_numpy(ids)), _targets(rows, labels), num_masked


def word_dropout(batch: Batch, rate: float, unknown: int) -> Batch:
    """Replace all pieces of each word of documents by ``unknown`` with probability ``rate``.

    Questions, choices and task tokens are not hidden.
    Gold does not change, so a model also learns from context. Embedders that read ``batch.words``
    still see the words.
    """
    if not rate:
        return batch
    hidden = torch.rand(len(batch.words)) < rate
    if batch.prompt_layout is not None:
        hidden &= torch.zeros(len(hidden), dtype=torch.bool).index_fill(
            0, batch.prompt_layout.document_rows, True
        )
    indices = batch.piece_index[hidden[batch.piece_to_word]]
    ids = batch.input_ids.flatten().index_fill(0, indices, unknown)
    return replace(batch, input_ids=ids.view_as(batch.input_ids))


@dataclass(frozen=True, slots=True)
class _Masks:
    """What is masked of a text: portions of its pieces, in order, and random numbers.

    ``fates`` say of each portion what becomes of it, ``points`` which pieces replace those of
    portions that become random ones.
    """

    portions: list[Bounds]
    fates: list[float]
    points: list[float]

    @property
    def num_pieces(self) -> int:
        """How many pieces are masked."""
        return sum(end - start for start, end in self.portions)


def _draw(line: WordLine, how: Masking, text: MaskableText) -> _Masks:
    """Draw the masks of a text."""
    if not line.start:
        return _Masks([], [], [])
    rng = Random(text.seed)
    budget = max(1, int(how.mlm_probability * line.num_pieces + rng.random()))
    portions = sorted(SAMPLERS[how.scheme](line, how, text.spans, budget, rng))
    fates = [rng.random() for _ in portions]
    num_points = sum(
        end - start
        for (start, end), fate in zip(portions, fates, strict=True)
        if how.replaced <= fate < how.replaced + how.random
    )
    return _Masks(portions, fates, [rng.random() for _ in range(num_points)])


def _flat_ints(bounds: Iterable[Sequence[Bounds]]) -> Int[np.ndarray, " number"]:
    return np.fromiter(chain.from_iterable(chain.from_iterable(bounds)), np.int64)


def _flat_floats(numbers: Iterable[Sequence[float]]) -> Float[np.ndarray, " number"]:
    return np.fromiter(chain.from_iterable(numbers), np.float64)


def _ranges(
    start: Int[np.ndarray, " span"], size: Int[np.ndarray, " span"]
) -> Int[np.ndarray, " masked"]:
    """Return the concatenated ranges of ``size`` numbers from each start."""
    offset = (start - size.cumsum() + size).repeat(size)
    ranges: Int[np.ndarray, " masked"] = np.arange(len(offset)) + offset
    return ranges


def _targets(rows: Int[np.ndarray, " masked"], labels: Int[np.ndarray, " masked"]) -> MaskTargets:
    """Return the targets; touching portions are one run, so the pieces around it are unmasked."""
    first = np.flatnonzero(np.diff(rows, prepend=rows[:1] - 2) != 1)
    size = np.diff(first, append=len(rows))
    left = (rows[first] - 1).repeat(size)
    right = (rows[first] + size).repeat(size)
    columns = (rows, labels, left, right, rows - left - 1)
    return MaskTargets(*map(torch.from_numpy, columns))


def _spans(
    line: WordLine, how: Masking, spans: Sequence[Bounds], budget: int, rng: Random
) -> list[Bounds]:
    """Draw spans of whole words with geometrically distributed lengths (section 3.1)."""
    return line.fill(budget, _cumulative_weights(how), rng) or draw_portions(line.words(), 0, rng)


@lru_cache(maxsize=1)  # texts share them
def _cumulative_weights(how: Masking) -> tuple[float, ...]:
    """Return the weights of span lengths, summed up."""
    return tuple(accumulate(how.length_weights))


def _single_words(
    line: WordLine, how: Masking, spans: Sequence[Bounds], budget: int, rng: Random
) -> list[Bounds]:
    """Draw single words, with all their pieces."""
    return draw_portions(line.words(), budget, rng)


def _single_pieces(
    line: WordLine, how: Masking, spans: Sequence[Bounds], budget: int, rng: Random
) -> list[Bounds]:
    """Draw single pieces, as the original BERT."""
    pieces = range(line.start[0], line.start[0] + line.num_pieces)
    return [(piece, piece + 1) for piece in rng.sample(pieces, min(budget, len(pieces)))]


def _layer_spans(
    line: WordLine, how: Masking, spans: Sequence[Bounds], budget: int, rng: Random
) -> list[Bounds]:
    """Draw annotated spans (names, noun phrases) half of the time, single words otherwise."""
    words = line.words()
    pieces = [(words[first][0], words[last - 1][1]) for first, last in spans]
    return draw_with_spans(words, pieces, budget, rng) or draw_portions(words, 0, rng)


Sampler = Callable[[WordLine, Masking, Sequence[Bounds], int, Random], list[Bounds]]
SAMPLERS: dict[str, Sampler] = {
    "span": _spans,
    "whole-word": _single_words,
    "subword": _single_pieces,
    "layer": _layer_spans,
}
