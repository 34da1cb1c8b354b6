"""Pair scores as SpanRel writes them (section 3): a perceptron over ``[zj; zk; zj * zk]`` alone.

The product is that of the span vectors themselves, so it is computed once per pair, in chunks. The
first layer's parts over ``zj`` and ``zk`` are still computed once per span.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as recompute

from spanloom.nn.candidates import mention_scores
from spanloom.nn.feedforward import BuildFeedForward, OutputFeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.pairs import BasePairScorer, PairFeatures, PairSizes, ScorePairs
from spanloom.nn.spans import SpanInputs, span_vectors

_CHUNK = 2_048  # products of two vectors built at a time


class ProductLayer(nn.Module):
    """A linear layer over the element-wise product of two vectors, per pair."""

    def __init__(self, dim: int, hidden_size: int) -> None:
        """``dim`` is the size of both vectors."""
        super().__init__()
        self.linear = nn.Linear(dim, hidden_size, bias=False)

    def forward(
        self, vectors: Float[Tensor, "n dim"], pairs: Int[Tensor, "pair 2"]
    ) -> Float[Tensor, "pair hidden"]:
        """Return the layer's output for ``pairs`` of indices of ``vectors``.

        Products are never all in memory: the backward pass computes those of a chunk again.
        """
        if not torch.is_grad_enabled():
            return torch.cat([self._chunk(vectors, chunk) for chunk in pairs.split(_CHUNK)])
        outputs = [
            recompute(self._chunk, vectors, chunk, use_reentrant=False, preserve_rng_state=False)
            for chunk in pairs.split(_CHUNK)
        ]
        return torch.cat(outputs)

    def _chunk(
        self, vectors: Float[Tensor, "n dim"], pairs: Int[Tensor, "pair 2"]
    ) -> Float[Tensor, "pair hidden"]:
        a, b = gather_rows(vectors, pairs[:, 0]), gather_rows(vectors, pairs[:, 1])
        hidden: Tensor = self.linear(a * b).float()
        return hidden


class ProductPairScorer(BasePairScorer):
    """Score pairs of spans by their vectors and the product of these.

    Labels of the spans, the words between them, their distance, speakers and genres are not read.
    """

    def __init__(self, sizes: PairSizes, features: PairFeatures = PairFeatures()) -> None:
        """Of ``features`` only ``add_mention_scores`` counts."""
        super().__init__(sizes)
        self.head, self.tail = sizes.projection(), sizes.projection()
        token_dim = sizes.word_dim if sizes.token_dim is None else sizes.token_dim
        self.product = ProductLayer(token_dim + 2 * sizes.word_dim, sizes.hidden_size)
        self.output = sizes.feedforward(sizes.hidden_size, sizes.num_columns, sizes.dropout)
        self.add_mention_scores = features.add_mention_scores

    def output_biases(self) -> list[nn.Parameter]:
        """Return the bias of the label scores."""
        return [self.output.labels.bias]

    def prepare(
        self,
        inputs: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        types: Float[Tensor, "span type"],
    ) -> ScorePairs:
        """Return a function that scores pairs; ``types`` count only as mention scores."""
        heads, tails = self.head.project(inputs, bounds), self.tail.project(inputs, bounds)
        vectors = span_vectors(inputs, bounds)

        def score(pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, "pair label"]:
            ends = gather_rows(heads, pairs[:, 0]) + gather_rows(tails, pairs[:, 1])
            scores: Tensor = self.output(ends + self.product(vectors, pairs)).float()
            if not self.add_mention_scores:
                return scores
            mentions = mention_scores(types)
            return scores + (mentions[pairs[:, 0]] + mentions[pairs[:, 1]])[:, None]

        return score


class ProductArcLabeler(nn.Module):
    """Score an arc's labels by its two words' vectors and the product of these.

    A word ``i`` is the span ``z = [c_i; u_i; u_i]``. Both parts over ``u_i`` are one linear layer.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_labels: int,
        hidden_size: int,
        dropout: float,
        feedforward: BuildFeedForward = OutputFeedForward,
    ) -> None:
        """``dim`` is the size of a word's ``[c; u]``; ``num_labels`` is the number of scores."""
        super().__init__()
        self.head, self.dependent = nn.Linear(dim, hidden_size), nn.Linear(dim, hidden_size)
        self.product = ProductLayer(dim, hidden_size)
        self.output = feedforward(hidden_size, num_labels, dropout)

    def forward(
        self, words: Float[Tensor, "word dim"], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Return the scores of all labels of ``arcs``, which are ``(head, dependent)`` of words."""
        return self.pairs(self.ends(words), arcs)

    def ends(self, words: Float[Tensor, "word dim"]) -> tuple[Float[Tensor, "word _"], ...]:
        """Return each word's hidden vector as a head and as a dependent, and its vector."""
        return self.head(words), self.dependent(words), words

    def pairs(
        self, ends: tuple[Float[Tensor, "word _"], ...], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Return the scores of all labels of ``arcs`` from the vectors that ``ends`` returns."""
        heads, dependents, words = ends
        hidden = gather_rows(heads, arcs[:, 0]) + gather_rows(dependents, arcs[:, 1])
        scores: Tensor = self.output(hidden + self.product(words, arcs))
        return scores.float()
