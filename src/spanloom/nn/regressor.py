"""Text regression: a linear layer on the "[CLS]" vector, learnt by the squared error (BERT)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from spanloom.nn.dropout import Dropout


class TextRegressor(nn.Module):
    """Dropout and a linear layer on the "[CLS]" vector of an instance: one number each.

    It starts at 0, the mean of standardized numbers, whatever the vectors are.
    """

    def __init__(self, dim: int, *, dropout: float) -> None:
        """``dim`` is the size of a "[CLS]" vector."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.score = nn.Linear(dim, 1)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, cls_vectors: Float[Tensor, "instance dim"]) -> Float[Tensor, " instance"]:
        """Return the number of each instance."""
        # numbers of 8 bits would have ties that the text does not have
        with torch.autocast(cls_vectors.device.type, enabled=False):
            numbers: Tensor = self.score(self.dropout(cls_vectors).float())[:, 0]
        return numbers

    def loss(
        self,
        cls_vectors: Float[Tensor, "instance dim"],
        target: Float[Tensor, " instance"],
        is_known: Bool[Tensor, " instance"],
    ) -> Float[Tensor, ""]:
        """Return the squared errors, summed over the instances whose number is known."""
        errors = torch.where(is_known, self(cls_vectors) - target, 0.0)
        return (errors**2).sum()
