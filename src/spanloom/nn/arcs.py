"""Which word heads which: one bilinear score a pair of words (Dozat and Manning 2017, equation 6).

A label for each of n arcs is then all that a pair scorer has to say, where SpanRel (section 3) asks
it about all n² pairs. The diagonal holds how likely a word is the root.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.nn.padding import grouped, pad
from spanloom.nn.pairs import PairScorer
from spanloom.nn.spans import SpanAttention
from spanloom.tensors import Loss

_CHUNK = 1 << 20  # scores made at a time
UNKNOWN = -1  # the head of a word that nothing is known of


class Arcs(nn.Module):
    """Scores of heads of words, within runs (sentences)."""

    def __init__(self, dim: int, *, size: int, dropout: float) -> None:
        """``size`` is that of a word's vectors as a head and as a dependent."""
        super().__init__()
        self.head, self.dependent = nn.Linear(dim, size), nn.Linear(dim, size)
        self.bilinear = nn.Linear(size, size)
        self.root = nn.Linear(size, 1)
        self.dropout = Dropout(dropout)

    def forward(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _"]]]:
        """Yield a few runs' words (by run and place), lengths, and scores by run, head, dependent.

        What heads from the padding scores minus infinity; dependents there have no meaning.
        """
        heads = self.bilinear(self.dropout(F.gelu(self.head(words))))
        dependents = self.dropout(F.gelu(self.dependent(words)))
        roots = self.root(dependents)
        longest = int((runs[:, 1] - runs[:, 0]).max()) if len(runs) else 1
        for places, lengths in grouped(runs, _CHUNK // max(1, longest)):
            scores = (pad(heads, places) @ pad(dependents, places).transpose(1, 2)).float()
            scores = scores.diagonal_scatter(pad(roots, places)[..., 0].float(), dim1=1, dim2=2)
            inside = torch.arange(places.shape[1], device=lengths.device) < lengths[:, None]
            yield places, lengths, scores.masked_fill(~inside[:, :, None], -torch.inf)


class Tree(nn.Module):
    """Arcs, and labels of the arcs that are there."""

    def __init__(self, arcs: Arcs, attention: SpanAttention, labels: PairScorer) -> None:
        """``labels`` scores pairs of words; its column 0, "none", is not read."""
        super().__init__()
        self.arcs, self.attention, self.labels = arcs, attention, labels

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        runs: Int[Tensor, "run 2"],
        heads: Int[Tensor, " word"],
        labels: Int[Tensor, " word"],
    ) -> dict[str, Loss]:
        """Return the summed cross-entropies of heads and of the gold arcs' labels, over all runs.

        ``heads`` are rows of words, a root its own; labels count from 1.
        """
        known = heads != UNKNOWN
        total = words.sum() * 0
        for places, lengths, scores in self.arcs(words, runs):
            first = places[:, :1]
            inside = torch.arange(places.shape[1], device=lengths.device) < lengths[:, None]
            chosen = heads[places] - first
            learnt = inside & known[places] & (chosen >= 0) & (chosen < lengths[:, None])
            likely = scores.log_softmax(1).gather(1, chosen.clamp(0, scores.shape[1] - 1)[:, None])
            total = total - likely[:, 0][learnt].sum()
        rows = known.nonzero()[:, 0]
        scored = self.label(words, torch.stack([heads[rows], rows], dim=1))
        named = F.cross_entropy(scored, labels[rows] - 1, reduction="sum")
        return {"arcs": Loss(total, len(runs)), "labels": Loss(named, len(runs))}

    def label(
        self, words: Float[Tensor, "word dim"], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Score the labels of some arcs, rows ``(head, dependent)`` of words; "none" left out."""
        row = torch.arange(len(words), device=words.device)
        bounds = torch.stack([row, row + 1], dim=1)
        every = words.new_ones(len(words), 1)
        ends = self.labels.ends(words, self.attention(words), bounds, every)
        between = self.labels.context(words)
        scores: Tensor = self.labels(*ends, between, bounds, arcs)
        return scores[:, 1:]
