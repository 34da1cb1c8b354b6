"""Pre-training heads: BERT's masked language model and next sentence prediction, SpanBERT's SBO."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.gather import gather_rows
from spanloom.tensors import Losses

_POSITION_DIM = 200  # of position embeddings (SpanBERT, section 4.2)
LAYER_NORM_EPSILON = 1e-12  # as in BERT and SpanBERT


class Transform(nn.Module):
    """A linear layer, GELU, layer normalisation."""

    def __init__(self, dim: int, out_dim: int) -> None:
        """``dim`` and ``out_dim`` are the sizes of input and output vectors."""
        super().__init__()
        self.dense = nn.Linear(dim, out_dim)
        self.norm = nn.LayerNorm(out_dim, eps=LAYER_NORM_EPSILON)

    def forward(self, x: Float[Tensor, "n dim"]) -> Float[Tensor, "n out_dim"]:
        """Return the transformed vectors."""
        hidden: Tensor = self.norm(F.gelu(self.dense(x)))
        return hidden


class MLMDecoder(nn.Module):
    """Score all pieces of the vocabulary with the encoder's own piece embeddings (tied weights).

    The embeddings are an argument of each call: they belong to the encoder and are saved with it.
    """

    def __init__(self, vocab_size: int) -> None:
        """``vocab_size`` is the number of piece embeddings."""
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(
        self,
        hidden: Float[Tensor, "n piece_dim"],
        piece_embeddings: Float[Tensor, "vocab piece_dim"],
    ) -> Float[Tensor, "n vocab"]:
        """Return unnormalised scores."""
        return F.linear(hidden, piece_embeddings, self.bias).float()


class SpanBoundaryObjective(nn.Module):
    """SpanBERT's span boundary objective (section 3.2): predict pieces from the span's neighbours.

    ``h0 = [x_left; x_right; p]``, ``h1 = LayerNorm(GELU(W1 h0))``, ``y = LayerNorm(GELU(W2 h1))``.
    """

    def __init__(self, dim: int, piece_dim: int, vocab_size: int, num_positions: int) -> None:
        """Pieces beyond ``num_positions`` in their span share the last position's embedding."""
        super().__init__()
        self.position_embedding = nn.Embedding(num_positions, _POSITION_DIM)
        nn.init.normal_(self.position_embedding.weight, std=0.02)
        self.first = Transform(2 * dim + _POSITION_DIM, dim)
        self.second = Transform(dim, piece_dim)
        self.decoder = MLMDecoder(vocab_size)

    def forward(
        self,
        left: Float[Tensor, "n dim"],
        right: Float[Tensor, "n dim"],
        span_position: Int[Tensor, " n"],
        piece_embeddings: Float[Tensor, "vocab piece_dim"],
    ) -> Float[Tensor, "n vocab"]:
        """Return unnormalised scores of all pieces for each masked one.

        ``left`` and ``right`` are the hidden states before and after the span of each masked piece,
        ``span_position`` is its position in the span.
        """
        position = self.position_embedding(
            span_position.clamp(max=self.position_embedding.num_embeddings - 1)
        )
        y = self.second(self.first(torch.cat([left, right, position], dim=-1)))
        scores: Tensor = self.decoder(y, piece_embeddings)
        return scores


class NextSentence(nn.Module):
    """Score whether two segments follow each other (Devlin et al. 2019, section 3.1).

    A linear layer on ``tanh(W h)`` of the vector ``h`` of ``[CLS]``.
    """

    def __init__(self, dim: int) -> None:
        """``dim`` is the size of the encoder's hidden states."""
        super().__init__()
        self.pooler = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, 2)

    def forward(self, cls: Float[Tensor, "n dim"]) -> Float[Tensor, "n 2"]:
        """Return unnormalised scores: 0 for segments of different texts, 1 for neighbours."""
        scores: Tensor = self.classifier(self.pooler(cls).tanh())
        return scores.float()


class MaskedLMHead(nn.Module):
    """BERT's masked language head; SBO and next sentence prediction are options."""

    def __init__(
        self,
        dim: int,
        *,
        piece_dim: int,
        vocab_size: int,
        use_boundary: bool,
        use_next_sentence: bool = False,
        num_positions: int = 64,
    ) -> None:
        """``dim`` is the size of the encoder's hidden states, ``piece_dim`` of its embeddings."""
        super().__init__()
        self.transform = Transform(dim, piece_dim)
        self.decoder = MLMDecoder(vocab_size)
        self.span_boundary = (
            SpanBoundaryObjective(dim, piece_dim, vocab_size, num_positions)
            if use_boundary
            else None
        )
        self.next_sentence = NextSentence(dim) if use_next_sentence else None

    def forward(
        self, hidden: Float[Tensor, "n dim"], piece_embeddings: Float[Tensor, "vocab piece_dim"]
    ) -> Float[Tensor, "n vocab"]:
        """Return unnormalised scores of all pieces for each hidden state."""
        scores: Tensor = self.decoder(self.transform(hidden), piece_embeddings)
        return scores

    def loss(
        self,
        hidden: Float[Tensor, "position dim"],
        piece_embeddings: Float[Tensor, "vocab piece_dim"],
        masked: Int[Tensor, " masked"],
        labels: Int[Tensor, " masked"],
        left: Int[Tensor, " masked"],
        right: Int[Tensor, " masked"],
        span_position: Int[Tensor, " masked"],
    ) -> Losses:
        """Return the cross-entropy of each objective, summed over the masked pieces.

        ``hidden`` are the encoder's last hidden states, one per position of
        ``input_ids.flatten()``. ``masked``, ``left`` and ``right`` are indices of it: of the masked
        pieces, and of the pieces before and after their spans. ``labels`` are the pieces' true ids.
        """
        losses = {
            "masked": _sum_cross_entropy(
                self(gather_rows(hidden, masked), piece_embeddings), labels
            )
        }
        if self.span_boundary is not None:
            boundary = gather_rows(hidden, left), gather_rows(hidden, right)
            losses["boundary"] = _sum_cross_entropy(
                self.span_boundary(*boundary, span_position, piece_embeddings), labels
            )
        return losses

    def next_sentence_loss(
        self,
        hidden: Float[Tensor, "position dim"],
        cls: Int[Tensor, " instance"],
        is_next: Int[Tensor, " instance"],
        weights: Float[Tensor, " instance"],
    ) -> Losses:
        """Return the weighted sum of the cross-entropy of next sentence prediction, if it has one.

        ``cls`` are the indices of ``[CLS]`` in ``hidden``.
        """
        if self.next_sentence is None:
            return {}
        scores = self.next_sentence(gather_rows(hidden, cls))
        losses = F.cross_entropy(scores, is_next, reduction="none")
        return {"next_sentence": (losses * weights).sum()}  # a product of matrices would be in bf16


def _sum_cross_entropy(
    scores: Float[Tensor, "n vocab"], labels: Int[Tensor, " n"]
) -> Float[Tensor, ""]:
    return F.cross_entropy(scores, labels, reduction="sum")
