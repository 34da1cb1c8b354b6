"""Two-layer perceptrons whose first linear layer was already applied."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout


class OutputFeedForward(nn.Module):
    """Layer norm, GELU, dropout, a hidden layer, GELU, dropout, output (SpanRel: 128 units each).

    Its input is a sum of factorised first layers, so that no concatenation is ever built.
    """

    def __init__(self, hidden_size: int, num_labels: int, dropout: float) -> None:
        """Both layers have ``hidden_size`` units; ``num_labels`` is the number of scores."""
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size)
        self.hidden = nn.Linear(hidden_size, hidden_size)
        self.labels = nn.Linear(hidden_size, num_labels)
        self.dropout = Dropout(dropout)

    def forward(self, first: Float[Tensor, "n hidden"]) -> Float[Tensor, "n label"]:
        """Return unnormalised scores from the output of the first linear layer."""
        hidden = self.dropout(F.gelu(self.norm(first)))
        hidden = self.dropout(F.gelu(self.hidden(hidden)))
        scores: Tensor = self.labels(hidden)
        return scores


class PlainFeedForward(nn.Module):
    """ReLU, dropout, a hidden layer, ReLU, dropout, output (Lee et al. 2017, section 5).

    SpanRel (section 3) writes no more than "MLP" and refers to them.
    """

    def __init__(self, hidden_size: int, num_labels: int, dropout: float) -> None:
        """Both layers have ``hidden_size`` units; ``num_labels`` is the number of scores."""
        super().__init__()
        self.hidden = nn.Linear(hidden_size, hidden_size)
        self.labels = nn.Linear(hidden_size, num_labels)
        self.dropout = Dropout(dropout)

    def forward(self, first: Float[Tensor, "n hidden"]) -> Float[Tensor, "n label"]:
        """Return unnormalised scores from the output of the first linear layer."""
        hidden = self.dropout(F.relu(first))
        hidden = self.dropout(F.relu(self.hidden(hidden)))
        scores: Tensor = self.labels(hidden)
        return scores


FeedForward = OutputFeedForward | PlainFeedForward
# from the sizes of the hidden layers and of the output, and the dropout
BuildFeedForward = Callable[[int, int, float], FeedForward]
FEEDFORWARDS: dict[str, BuildFeedForward] = {"normed": OutputFeedForward, "plain": PlainFeedForward}
