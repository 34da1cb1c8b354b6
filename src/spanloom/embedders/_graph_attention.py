"""Attention as one operator of onnxruntime, where an encoder is traced.

The operator needs half of the time of the products, sums and softmax that it stands for. It gets no
mask, with which it would not be faster, so windows that are read together must be of one length.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

_OPERATOR = "com.microsoft::MultiHeadAttention"


def attend_in_graph(
    query: Float[Tensor, "window piece dim"],
    key: Float[Tensor, "window piece dim"],
    value: Float[Tensor, "window piece dim"],
    heads: int,
) -> Float[Tensor, "window piece dim"]:
    """Return scaled dot-product attention of each head, all pieces of a window seen."""
    apply: Any = _MultiHeadAttention.apply
    output: Tensor = apply(query, key, value, heads)
    return output


class _MultiHeadAttention(torch.autograd.Function):
    """One node of a graph; the forward pass gives tracing its example values."""

    @staticmethod
    def symbolic(graph: Any, query: Any, key: Any, value: Any, heads: int) -> Any:
        """Return the node."""
        return graph.op(_OPERATOR, query, key, value, num_heads_i=heads).setType(query.type())

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """Return what the node returns."""
        per_head = (rows.unflatten(-1, (heads, -1)).transpose(1, 2) for rows in (query, key, value))
        return F.scaled_dot_product_attention(*per_head).transpose(1, 2).flatten(2)
