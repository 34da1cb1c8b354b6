"""Gather rows of a matrix by index."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def gather_rows(
    table: Float[Tensor, "row dim"], index: Int[Tensor, " n"]
) -> Float[Tensor, "n dim"]:
    """Return ``table[index]``; on a CPU its backward pass is many times faster than indexing's."""
    return F.embedding(index, table)
