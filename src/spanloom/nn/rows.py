"""Gathering rows of a matrix."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def take(table: Float[Tensor, "row dim"], index: Int[Tensor, " n"]) -> Float[Tensor, "n dim"]:
    """Return ``table[index]``; its backward pass on a CPU is many times faster than indexing's."""
    return F.embedding(index, table)
