"""Runs of flat words side by side, for what works on whole sentences at once."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from spanloom.cancellation import checkpoint
from spanloom.nn.rows import take


def grouped(
    runs: Int[Tensor, "run 2"], most: int
) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"]]]:
    """Yield, longest runs first, the words of a few by row and column, and their lengths.

    A group is one run or at most ``most`` words. Padding is its run's first word.
    """
    sizes = runs[:, 1] - runs[:, 0]
    order = sizes.argsort(descending=True, stable=True)[: int((sizes > 0).sum())]
    while len(order):
        checkpoint()
        widest = int(sizes[order[0]])
        group, order = order.tensor_split([max(1, most // widest)])
        steps = torch.arange(widest, device=sizes.device)
        inside = steps < sizes[group, None]
        yield runs[group, :1] + torch.where(inside, steps, 0), sizes[group]


def pad(
    rows: Float[Tensor, "word dim"], places: Int[Tensor, "run width"]
) -> Float[Tensor, "run width dim"]:
    """Gather rows by place; what stands in the padding is never read."""
    return take(rows, places.flatten()).view(*places.shape, -1)


def pack(rows: Float[Tensor, "row dim"], lengths: Int[Tensor, " run"]) -> PackedSequence:
    """Return runs as a recurrent layer reads them: all first rows, all second ones, …

    ``lengths`` are on the CPU, at least one each. Nothing is padded on the way: a run as long as a
    book may stand beside many short ones.
    """
    order = lengths.argsort(descending=True, stable=True)
    at, step = _packed(lengths, order)
    device = rows.device
    data = take(rows, at.to(device))
    return PackedSequence(data, torch.bincount(step), order.to(device), order.argsort().to(device))


def unpack(packed: PackedSequence, lengths: Int[Tensor, " run"]) -> Float[Tensor, "row dim"]:
    """Return the rows that ``pack`` was given, one run after another."""
    at, _ = _packed(lengths, lengths.argsort(descending=True, stable=True))
    return take(packed.data, at.argsort().to(packed.data.device))


def _packed(
    lengths: Int[Tensor, " run"], order: Int[Tensor, " run"]
) -> tuple[Int[Tensor, " row"], Int[Tensor, " row"]]:
    """Rows in the order in which they are packed, and the place in its run of each row."""
    step = torch.arange(int(lengths.sum()))
    step -= (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    rank = order.argsort().repeat_interleave(lengths)
    return (step * len(lengths) + rank).argsort(), step
