"""Text classification: a linear layer on the "[CLS]" vector (Devlin et al. 2019, section 4.1)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout

UNKNOWN = -100  # the target of an instance that is not learnt from


class TextClassifier(nn.Module):
    """Dropout and a linear layer on the "[CLS]" vector of an instance."""

    def __init__(self, dim: int, *, num_labels: int, dropout: float) -> None:
        """``dim`` is the size of a "[CLS]" vector; ``num_labels`` counts no "none"."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.score = nn.Linear(dim, num_labels)

    def forward(
        self, cls_vectors: Float[Tensor, "instance dim"]
    ) -> Float[Tensor, "instance label"]:
        """Return the unnormalised score of each label for each instance."""
        inputs = self.dropout(cls_vectors)
        # scores of 8 bits would have ties among labels
        with torch.autocast(inputs.device.type, enabled=False):
            scores: Tensor = self.score(inputs.float())
        return scores

    def loss(
        self, cls_vectors: Float[Tensor, "instance dim"], target: Int[Tensor, " instance"]
    ) -> Float[Tensor, ""]:
        """Return the cross-entropy summed over the instances whose label is known."""
        return F.cross_entropy(self(cls_vectors), target, ignore_index=UNKNOWN, reduction="sum")

    @torch.no_grad()
    def best(
        self, cls_vectors: Float[Tensor, "instance dim"], allowed: Bool[Tensor, " label"]
    ) -> tuple[Int[Tensor, " instance"], Float[Tensor, " instance"]]:
        """Return the best label of each instance and its probability among those ``allowed``."""
        scores = self(cls_vectors).masked_fill(~allowed, -torch.inf)
        probs, labels = scores.softmax(-1).max(-1)
        return labels, probs
