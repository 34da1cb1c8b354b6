"""A span layer: one projection of words to spans for several heads, and what heads read of it."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.candidates import neighbors
from spanloom.nn.dropout import Dropout
from spanloom.nn.span_features import SpanFeatures
from spanloom.nn.spans import SpanAttention, SpanInputs, SpanProjection

_NUM_WIDTHS = 64  # widths with an embedding of their own; wider spans share the last


class SpanLayer(nn.Module):
    """Attention and projection of spans that several heads read in place of their own.

    What takes time in a head are products of matrices with every word. Here they are computed once
    per batch; a head adds a perceptron over the spans that it scores.
    """

    def __init__(
        self, dim: int, hidden_size: int, *, dropout: float, boundary_context: bool = False
    ) -> None:
        """``dim`` is the size of word vectors; ``dropout`` is that of the words."""
        super().__init__()
        self.attention = SpanAttention(dim)
        self.projection = SpanProjection(
            dim, hidden_size, _NUM_WIDTHS, boundary_context=boundary_context
        )
        self.dropout = Dropout(dropout)
        self.dim = hidden_size

    def forward(
        self, words: Float[Tensor, "word dim"], sentences: Int[Tensor, "sentence 2"]
    ) -> SpanFeatures:
        """Return what words add to spans, which lie inside ``sentences``."""
        words = self.dropout(words)
        return self.projection.features(words, self.attention(words), neighbors(sentences))

    def shift(self, vectors: Float[Tensor, "n dim"]) -> Float[Tensor, "n hidden"]:
        """Return by how much a span's vector changes if a vector is added to all its words.

        Attention is left as it is. With ``boundary_context`` the words around the span count, too.
        """
        hidden = F.linear(vectors, _sum_of_parts(self.projection.words, self.dim))
        if self.projection.boundary_context is not None:
            around = _sum_of_parts(self.projection.boundary_context, self.dim)
            hidden = hidden + F.linear(vectors, around)
        return hidden.float()


def _sum_of_parts(layer: nn.Linear, hidden_size: int) -> Float[Tensor, "hidden dim"]:
    """Return the sum of the matrices that a layer is stacked of."""
    parts: Tensor = layer.weight.unflatten(0, (-1, hidden_size))
    return parts.sum(0)


class SharedSpanProjection(nn.Module):
    """A linear layer over the activated vectors of a span layer, as an end of pairs reads them."""

    def __init__(self, span_dim: int, hidden_size: int) -> None:
        """``span_dim`` is the size of the span layer's vectors."""
        super().__init__()
        self.norm = nn.LayerNorm(span_dim)
        self.linear = nn.Linear(span_dim, hidden_size)

    def project(
        self, inputs: SpanInputs, bounds: Int[Tensor, "span 2"]
    ) -> Float[Tensor, "span hidden"]:
        """Return the layer's output for each span."""
        hidden: Tensor = self.linear(F.gelu(self.norm(inputs.shared_spans.gather(bounds))))
        return hidden.float()
