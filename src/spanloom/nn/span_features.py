"""What words add to spans, and the hidden vectors of spans made of it.

A span's vector is a sum of four: one each of its first word, of its last word and of its width, and
the mean of its words' contents, weighted by attention. So whoever has projected the words gets the
vector of any span by adding rows, never by multiplying matrices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanloom.nn.gather import gather_rows
from spanloom.nn.segment_means import prefix_sums, segment_means
from spanloom.nn.span_bags import SpanBags, are_narrow, narrow_means

CHUNK = 2_048  # candidates scored at a time where no gradient is kept: what a cache holds
_BAG_DIM = 16  # of narrower vectors a bag's indices cost more than what it saves
_SPARSE = 8  # a width whose spans start at fewer than one word in so many is cheaper to gather


@dataclass(frozen=True)
class SpanFeatures:
    """Hidden vectors of each word as the first, the last and any word of a span, and its weight.

    Computed once per batch, whatever the number of spans. ``widths`` are the vectors of spans of 1,
    2, … words; the last is that of all wider spans. None if widths are not read.
    """

    first: Float[Tensor, "word hidden"]
    last: Float[Tensor, "word hidden"]
    contents: Float[Tensor, "word hidden"]
    weights: Float[Tensor, "word 1"]
    widths: Float[Tensor, "width hidden"] | None = None

    def within(self, start: int, end: int) -> "SpanFeatures":
        """Return the features of the words ``[start, end)``."""
        words = slice(start, end)
        parts = self.first[words], self.last[words], self.contents[words], self.weights[words]
        return SpanFeatures(*parts, self.widths)

    def shifted(self, shift: Float[Tensor, "word hidden"]) -> "SpanFeatures":
        """Return the features of the same spans, each plus the shift of its first word."""
        return replace(self, first=self.first + shift)

    def gather(self, bounds: Int[Tensor, "span 2"]) -> Float[Tensor, "span hidden"]:
        """Return the vectors of the spans ``bounds``, which are ``[start, end)`` and never empty.

        Without gradients one sum per span adds its vectors and its words' shares of its content,
        where spans are narrow; other contents are differences of prefix sums.
        """
        is_wide = self.first.shape[1] >= _BAG_DIM
        if is_wide and not torch.is_grad_enabled() and are_narrow(bounds):
            return self._bags(bounds)
        start, end = bounds.unbind(-1)
        ends = gather_rows(self.first, start) + gather_rows(self.last, end - 1)
        hidden: Tensor = ends + segment_means(self._content_sums, bounds)
        if self.widths is None:
            return hidden
        return hidden + gather_rows(self.widths, (end - start - 1).clamp(max=len(self.widths) - 1))

    @cached_property
    def _bags(self) -> SpanBags:
        return SpanBags(self.first, self.last, self.contents, self.weights, self.widths)

    @cached_property
    def _content_sums(self) -> Float[Tensor, "offset column"]:
        return prefix_sums(self.contents, self.weights)

    def iter_by_width(
        self, starts: Sequence[Int[Tensor, " _"]]
    ) -> Iterator[Float[Tensor, "_ hidden"]]:
        """Yield the vectors of all spans of one width, for widths 1, 2, … in turn.

        ``starts`` holds, for each width, the first words of its spans. Sums of contents grow by one
        word per width, so only the spans that are yielded are gathered.
        """
        first, last = self.first, self.last
        weighted = content_sums = self.contents * self.weights
        weight_sums = self.weights
        for extra_words, start in enumerate(starts):
            if extra_words:
                content_sums = content_sums[:-1] + weighted[extra_words:]
                weight_sums = weight_sums[:-1] + self.weights[extra_words:]
            ends = first[: len(first) - extra_words] + last[extra_words:]
            hidden = ends + content_sums / weight_sums
            if self.widths is not None:
                hidden = hidden + self.widths[min(extra_words, len(self.widths) - 1)]
            yield gather_rows(hidden, start)

    def blocks(self, starts: Sequence[Int[Tensor, " _"]]) -> Iterator[Float[Tensor, "_ hidden"]]:
        """Yield the vectors of all spans, width after width; spans of rare widths are gathered."""
        num_dense = next(
            (
                extra_words
                for extra_words, start in enumerate(starts)
                if _SPARSE * len(start) < len(self.first)
            ),
            len(starts),
        )
        yield from self.iter_by_width(starts[:num_dense])
        if num_dense < len(starts):
            start = torch.cat(list(starts[num_dense:]))
            counts = torch.tensor([len(start) for start in starts[num_dense:]], device=start.device)
            widths = torch.arange(num_dense + 1, len(starts) + 1, device=start.device)
            bounds = torch.stack([start, start + widths.repeat_interleave(counts)], dim=1)
            yield from map(self.gather, chunks_of(bounds))


class WordMeans:
    """Means of the vectors of words over segments.

    Where no gradient is kept narrow segments are summed word by word, all others are differences of
    prefix sums.
    """

    def __init__(self, values: Float[Tensor, "word dim"]) -> None:
        """``values`` are the vectors of words."""
        self._values = values

    def __call__(self, bounds: Int[Tensor, "n 2"]) -> Float[Tensor, "n dim"]:
        """Return the mean over each ``[start, end)``; 0 if it is empty."""
        if not torch.is_grad_enabled() and are_narrow(bounds):
            return narrow_means(self._values, bounds)
        return segment_means(self._sums, bounds)

    @cached_property
    def _sums(self) -> Float[Tensor, "offset column"]:
        return prefix_sums(self._values, self._values.new_ones(len(self._values), 1))


def chunks_of(bounds: Int[Tensor, "span 2"]) -> Sequence[Int[Tensor, "_ 2"]]:
    """Return all bounds at once where gradients are kept, else in chunks that fit in a cache."""
    return (bounds,) if torch.is_grad_enabled() else bounds.split(CHUNK)
