"""One label a unit: a linear layer on what opens it (Devlin et al. 2019, section 4.1)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.tensors import Loss

UNKNOWN = -100  # the target of a unit that is not learnt from


class Label(nn.Module):
    """Dropout and a linear layer on the vector of a unit's opening."""

    def __init__(self, dim: int, *, labels: int, dropout: float) -> None:
        """``dim`` is the size of an opening; there is no "none" among ``labels``."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.score = nn.Linear(dim, labels)

    def forward(self, openings: Float[Tensor, "unit dim"]) -> Float[Tensor, "unit label"]:
        """Return each label's score at each unit."""
        scores: Tensor = self.score(self.dropout(openings))
        return scores.float()

    def loss(self, openings: Float[Tensor, "unit dim"], target: Int[Tensor, " unit"]) -> Loss:
        """Return the summed cross-entropy over the units whose label is known."""
        total = F.cross_entropy(self(openings), target, ignore_index=UNKNOWN, reduction="sum")
        return Loss(total, int((target != UNKNOWN).sum()))

    @torch.no_grad()
    def best(
        self, openings: Float[Tensor, "unit dim"], allowed: Bool[Tensor, " label"]
    ) -> tuple[Int[Tensor, " unit"], Float[Tensor, " unit"]]:
        """Return the best label of each unit and its probability among those ``allowed``."""
        scores = self(openings).masked_fill(~allowed, -torch.inf)
        chances, labels = scores.softmax(-1).max(-1)
        return labels, chances
