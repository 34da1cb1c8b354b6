"""Attributes beside labels: one softmax over {absent, values} for each of them.

Their scores are further columns of a label scorer's, so an attribute costs a row of a matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class Slots:
    """How many columns each attribute has, "absent" counted."""

    sizes: tuple[int, ...] = ()

    @property
    def columns(self) -> int:
        """All of them."""
        return sum(self.sizes)

    def loss(
        self, scores: Float[Tensor, "n column"], target: Int[Tensor, "n attribute"]
    ) -> Float[Tensor, ""]:
        """Return the summed cross-entropy; -1 is a value that is not known, and no loss."""
        total = scores.sum() * 0
        for part, column in zip(self._parts(scores), target.unbind(-1), strict=True):
            total = total + F.cross_entropy(part, column, reduction="sum", ignore_index=-1)
        return total

    def best(
        self, scores: Float[Tensor, "n column"]
    ) -> tuple[Int[Tensor, "n attribute"], Float[Tensor, "n attribute"]]:
        """Return the best value of each attribute, 0 for absent, and its probability."""
        if not self.sizes:
            none = scores.new_zeros(len(scores), 0)
            return none.long(), none
        best = [part.softmax(-1).max(-1) for part in self._parts(scores)]
        values = torch.stack([each.indices for each in best], dim=1)
        return values, torch.stack([each.values for each in best], dim=1)

    def _parts(self, scores: Float[Tensor, "n column"]) -> Iterator[Float[Tensor, "n _"]]:
        yield from scores.float().split(self.sizes, dim=-1)
