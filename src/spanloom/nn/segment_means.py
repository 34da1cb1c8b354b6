"""Weighted means of words over many segments, as differences of prefix sums.

With as many segments as there are spans in a batch, a tensor with a row for each has tens of
megabytes. So both passes go through a few hundred segments at a time, and keep no such tensor.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

_CELLS = 98_304  # numbers of segments at a time on a CPU: what a cache holds


def prefix_sums(
    values: Float[Tensor, "word dim"], weights: Float[Tensor, "word 1"]
) -> Float[Tensor, "offset column"]:
    """Return prefix sums (word + 1, dim + 1) of weighted values and, last column, of weights.

    They are in double precision, because a difference of prefix sums cancels.
    """
    columns = torch.cat([values * weights, weights], dim=-1).double()
    return torch.cat([columns.new_zeros(1, columns.shape[1]), columns.cumsum(0)])


def segment_means(
    sums: Float[Tensor, "offset column"], bounds: Int[Tensor, "n 2"]
) -> Float[Tensor, "n dim"]:
    """Return the weighted mean over each ``[start, end)`` from prefix sums; 0 if it is empty."""
    apply: Any = _SegmentMeans.apply
    means: Tensor = apply(sums, bounds)
    return means


class _SegmentMeans(torch.autograd.Function):
    """The means, and their gradient with respect to the prefix sums."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor, bounds: Tensor) -> Tensor:
        ctx.save_for_backward(sums, bounds)
        means = sums.new_empty(len(bounds), sums.shape[1] - 1, dtype=torch.float)
        for rows in _slices(bounds, sums.shape[1]):
            segment_sums, weight = _segment_sums(sums, bounds[rows])
            means[rows] = segment_sums / weight
        return means

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        sums, bounds = ctx.saved_tensors
        total = torch.zeros_like(sums)
        for rows in _slices(bounds, sums.shape[1]):
            start, end = bounds[rows].unbind(-1)
            segment_sums, weight = _segment_sums(sums, bounds[rows])
            by_sum = grad[rows].double() / weight
            by_weight = -(by_sum * segment_sums).sum(1, keepdim=True) / weight
            columns = torch.cat([by_sum, by_weight], dim=1)
            total.index_add_(0, end, columns)
            total.index_add_(0, start, columns, alpha=-1)
        return total, None


def _segment_sums(sums: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sums of weighted values and of weights, 1 for a segment without weight."""
    start, end = bounds.unbind(-1)
    segment_sums = sums[end] - sums[start]
    weight = segment_sums[:, -1:]
    return segment_sums[:, :-1], weight.masked_fill(weight == 0, 1.0)


def _slices(bounds: Tensor, num_columns: int) -> Iterator[slice]:
    """Yield slices of all rows: a GPU takes all at once."""
    step = len(bounds) if bounds.is_cuda else max(1, _CELLS // num_columns)
    for row in range(0, len(bounds), max(1, step)):
        yield slice(row, row + step)
