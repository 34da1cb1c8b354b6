"""Runs of flat words side by side, for what works on whole sentences at once."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
