"""Guessing masked pieces: from their own vectors, and from those around their span (SpanBERT)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.rows import take
from spanloom.tensors import Loss

_POSITION = 200  # units of a position's vector (section 4.2)
_EPSILON = 1e-12  # as in BERT and SpanBERT


class Transform(nn.Module):
    """A linear layer, GELU, layer normalisation."""

    def __init__(self, dim: int, size: int) -> None:
        """``dim`` units come in, ``size`` go out."""
        super().__init__()
        self.dense = nn.Linear(dim, size)
        self.norm = nn.LayerNorm(size, eps=_EPSILON)

    def forward(self, x: Float[Tensor, "n dim"]) -> Float[Tensor, "n size"]:
        """Transform each row."""
        out: Tensor = self.norm(F.gelu(self.dense(x)))
        return out


class Guess(nn.Module):
    """Vectors to scores of all pieces, by the encoder's own table of piece vectors.

    The table is handed in with each call: it belongs to the encoder, and is saved with it.
    """

    def __init__(self, vocabulary: int) -> None:
        """``vocabulary`` is the number of the table's rows."""
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(
        self, guess: Float[Tensor, "n width"], table: Float[Tensor, "vocabulary width"]
    ) -> Float[Tensor, "n vocabulary"]:
        """Return unnormalised scores."""
        return F.linear(guess, table, self.bias).float()


class Boundary(nn.Module):
    """The span boundary objective (section 3.2): pieces guessed from those around their span.

    ``h0 = [x_left; x_right; p]``, ``h1 = LayerNorm(GELU(W1 h0))``, ``y = LayerNorm(GELU(W2 h1))``.
    """

    def __init__(self, dim: int, width: int, vocabulary: int, positions: int) -> None:
        """Pieces beyond ``positions`` in their span share the last one's vector."""
        super().__init__()
        self.position = nn.Embedding(positions, _POSITION)
        nn.init.normal_(self.position.weight, std=0.02)
        self.first = Transform(2 * dim + _POSITION, dim)
        self.second = Transform(dim, width)
        self.guess = Guess(vocabulary)

    def forward(
        self,
        left: Float[Tensor, "n dim"],
        right: Float[Tensor, "n dim"],
        place: Int[Tensor, " n"],
        table: Float[Tensor, "vocabulary width"],
    ) -> Float[Tensor, "n vocabulary"]:
        """``left`` and ``right`` are the states around a piece's span, ``place`` its own in it."""
        position = self.position(place.clamp(max=self.position.num_embeddings - 1))
        y = self.second(self.first(torch.cat([left, right, position], dim=-1)))
        scores: Tensor = self.guess(y, table)
        return scores


class MaskedLanguage(nn.Module):
    """The masked language head of BERT, and the span boundary objective beside it if asked for."""

    def __init__(
        self, dim: int, *, width: int, vocabulary: int, boundary: bool, positions: int = 64
    ) -> None:
        """``dim`` is the size of the encoder's states, ``width`` of its piece vectors."""
        super().__init__()
        self.transform = Transform(dim, width)
        self.guess = Guess(vocabulary)
        self.boundary = Boundary(dim, width, vocabulary, positions) if boundary else None

    def forward(
        self, hidden: Float[Tensor, "n dim"], table: Float[Tensor, "vocabulary width"]
    ) -> Float[Tensor, "n vocabulary"]:
        """Score all pieces for each of some states, those of masked pieces."""
        scores: Tensor = self.guess(self.transform(hidden), table)
        return scores

    def loss(
        self,
        hidden: Float[Tensor, "row dim"],
        table: Float[Tensor, "vocabulary width"],
        rows: Int[Tensor, " masked"],
        labels: Int[Tensor, " masked"],
        left: Int[Tensor, " masked"],
        right: Int[Tensor, " masked"],
        place: Int[Tensor, " masked"],
    ) -> dict[str, Loss]:
        """Return the summed cross-entropies of each objective over the masked pieces.

        ``hidden`` are an encoder's last states, row by row of ``ids.flatten()``, which ``rows``,
        ``left`` and ``right`` index; only rows so named are scored.
        """
        losses = {"masked": _summed(self(take(hidden, rows), table), labels)}
        if self.boundary is not None:
            around = take(hidden, left), take(hidden, right)
            losses["boundary"] = _summed(self.boundary(*around, place, table), labels)
        return losses


def _summed(scores: Float[Tensor, "n vocabulary"], labels: Int[Tensor, " n"]) -> Loss:
    return Loss(F.cross_entropy(scores, labels, reduction="sum"), len(labels))
