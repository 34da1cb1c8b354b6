"""Hidden vectors of narrow spans, and means of words, as one sum of table rows each.

A span ``[start, end)`` is the sum of what its first word, its last word and its width add, and of
what its words add to its content, each by its share of the attention weights. One
``embedding_bag`` computes all that in one pass over memory; a difference of prefix sums takes eight
passes in double precision, but as many for a wide span as for a narrow one.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

_WIDE = 16  # words: from this mean width on prefix sums are faster


def are_narrow(bounds: Int[Tensor, "span 2"]) -> bool:
    """Whether these spans, of which some may be empty, are best summed word by word."""
    num_words = int((bounds[:, 1] - bounds[:, 0]).sum())
    return 0 < num_words < _WIDE * len(bounds)


def narrow_means(
    values: Float[Tensor, "word dim"], bounds: Int[Tensor, "span 2"]
) -> Float[Tensor, "span dim"]:
    """Return the mean of the words of each span, 0 for an empty one; no gradient is computed."""
    span, step = _words_of(bounds)
    width = bounds[:, 1] - bounds[:, 0]
    sums = F.embedding_bag(bounds[span, 0] + step, values, width.cumsum(0) - width, mode="sum")
    sums /= width.clamp(min=1)[:, None]
    return sums


def _words_of(
    bounds: Int[Tensor, "span 2"],
) -> tuple[Int[Tensor, " word"], Int[Tensor, " word"]]:
    """Return, for each word of each span in turn, the span and the word's position in it."""
    width = bounds[:, 1] - bounds[:, 0]
    span = torch.arange(len(bounds), device=bounds.device).repeat_interleave(width)
    step = torch.arange(len(span), device=bounds.device) - (width.cumsum(0) - width)[span]
    return span, step


class SpanBags:
    """Sums of rows of one table, for spans of one batch; no gradient is computed."""

    def __init__(
        self,
        first: Float[Tensor, "word hidden"],
        last: Float[Tensor, "word hidden"],
        contents: Float[Tensor, "word hidden"],
        weights: Float[Tensor, "word 1"],
        widths: Float[Tensor, "width hidden"] | None,
    ) -> None:
        """The first three are what each word adds to spans; ``widths`` what widths add, if any."""
        self._num_words = len(first)
        self._num_widths = 0 if widths is None else len(widths)
        parts = [first, last, contents]
        self._table = torch.cat(parts if widths is None else [*parts, widths])
        self._weights = weights[:, 0]
        self._weight_sums = F.pad(self._weights.double().cumsum(0), (1, 0))

    def __call__(self, bounds: Int[Tensor, "span 2"]) -> Float[Tensor, "span hidden"]:
        """Return the sum of each span."""
        start, end = bounds.unbind(-1)
        width = end - start
        fixed = [start, end - 1 + self._num_words]
        if self._num_widths:
            fixed.append(3 * self._num_words + (width - 1).clamp(max=self._num_widths - 1))
        size = width + len(fixed)
        offset = size.cumsum(0) - size
        span, step = _words_of(bounds)
        num_rows = len(span) + len(fixed) * len(bounds)
        word = start[span] + step
        totals = (self._weight_sums[end] - self._weight_sums[start]).float()
        index = bounds.new_empty(num_rows)
        shares = self._weights.new_ones(num_rows)
        for row, column in enumerate(fixed):
            index[offset + row] = column
        position = offset[span] + step + len(fixed)  # within all rows
        index[position] = word + 2 * self._num_words
        shares[position] = self._weights[word] / totals[span]
        return F.embedding_bag(index, self._table, offset, mode="sum", per_sample_weights=shares)
