"""The two-layer perceptron whose first layer was applied elsewhere."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout


class Readout(nn.Module):
    """Activation, dropout, a hidden layer, activation, dropout, labels (paper: two of 128 units).

    Its input is the sum of factorised first layers, so that it never sees the concatenation.
    """

    def __init__(self, size: int, labels: int, dropout: float) -> None:
        """``size`` units in both layers; ``labels`` counts "none" too."""
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.hidden = nn.Linear(size, size)
        self.labels = nn.Linear(size, labels)
        self.dropout = Dropout(dropout)

    def forward(self, first: Float[Tensor, "n size"]) -> Float[Tensor, "n label"]:
        """Return unnormalised scores."""
        one = self.dropout(F.gelu(self.norm(first)))
        two = self.dropout(F.gelu(self.hidden(one)))
        scores: Tensor = self.labels(two)
        return scores
