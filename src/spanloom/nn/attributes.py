"""Attributes of spans and pairs: one softmax over {absent, values} per attribute.

Their scores are further columns of a label scorer's output, so that an attribute adds only rows to
the matrix of its last layer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class AttributeSizes:
    """Number of score columns of each attribute, "absent" included."""

    sizes: tuple[int, ...] = ()

    @property
    def columns(self) -> int:
        """Return the total number of columns."""
        return sum(self.sizes)

    def loss(
        self, scores: Float[Tensor, "n column"], target: Int[Tensor, "n attribute"]
    ) -> Float[Tensor, ""]:
        """Return the cross-entropy summed over all attributes; target -1 (unknown) has no loss."""
        total = scores.sum() * 0
        for value_scores, values in zip(self._split(scores), target.unbind(-1), strict=True):
            total = total + F.cross_entropy(value_scores, values, reduction="sum", ignore_index=-1)
        return total

    def best(
        self, scores: Float[Tensor, "n column"]
    ) -> tuple[Int[Tensor, "n attribute"], Float[Tensor, "n attribute"]]:
        """Return the best value of each attribute, 0 for absent, and its probability."""
        if not self.sizes:
            empty = scores.new_zeros(len(scores), 0)
            return empty.long(), empty
        best = [value_scores.softmax(-1).max(-1) for value_scores in self._split(scores)]
        values = torch.stack([maximum.indices for maximum in best], dim=1)
        return values, torch.stack([maximum.values for maximum in best], dim=1)

    def _split(self, scores: Float[Tensor, "n column"]) -> Iterator[Float[Tensor, "n _"]]:
        yield from scores.float().split(self.sizes, dim=-1)
