"""Which word heads which: a bilinear score a pair of words, and how likely a word heads any at all.

That is the biaffine score of Dozat and Manning (2017, equation 6). A perceptron then labels n arcs,
where SpanRel (section 3) asks one about all n² pairs of words. The diagonal holds how likely a word
is the root.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.nn.mlp import Readout
from spanloom.nn.padding import grouped, pad
from spanloom.nn.rows import take
from spanloom.tensors import Loss

_CHUNK = 1 << 20  # scores made at a time
UNKNOWN = -1  # the head of a word that nothing is known of


class Arcs(nn.Module):
    """Scores of heads of words, within runs (sentences)."""

    def __init__(self, dim: int, *, size: int, dropout: float) -> None:
        """``size`` is that of a word's vectors as a head and as a dependent."""
        super().__init__()
        self.head, self.dependent = nn.Linear(dim, size), nn.Linear(dim, size)
        self.bilinear, self.prior = nn.Linear(size, size, bias=False), nn.Linear(size, 1)
        self.root = nn.Linear(size, 1)
        self.dropout = Dropout(dropout)

    def forward(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _"]]]:
        """Yield a few runs' words (by run and place), lengths, and scores by run, head, dependent.

        What heads from the padding scores minus infinity; dependents there have no meaning.
        """
        hidden = self.dropout(F.gelu(self.head(words)))
        heads, priors = self.bilinear(hidden), self.prior(hidden)
        dependents = self.dropout(F.gelu(self.dependent(words)))
        roots = self.root(dependents)
        longest = int((runs[:, 1] - runs[:, 0]).max()) if len(runs) else 1
        for places, lengths in grouped(runs, _CHUNK // max(1, longest)):
            scores = (pad(heads, places) @ pad(dependents, places).transpose(1, 2)).float()
            scores = scores + pad(priors, places).float()
            scores = scores.diagonal_scatter(pad(roots, places)[..., 0].float(), dim1=1, dim2=2)
            inside = torch.arange(places.shape[1], device=lengths.device) < lengths[:, None]
            yield places, lengths, scores.masked_fill(~inside[:, :, None], -torch.inf)


class ArcLabels(nn.Module):
    """A perceptron over the two ends of an arc and their product."""

    def __init__(self, dim: int, *, labels: int, size: int, dropout: float) -> None:
        """``labels`` counts no "none"."""
        super().__init__()
        self.head, self.dependent = nn.Linear(dim, size), nn.Linear(dim, size)
        self.product = nn.Linear(size, size, bias=False)
        self.readout = Readout(size, labels, dropout)

    def forward(
        self, words: Float[Tensor, "word dim"], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Score all labels of some arcs, rows ``(head, dependent)`` of words."""
        return self.pairs(*self.ends(words), arcs)

    def ends(
        self, words: Float[Tensor, "word dim"]
    ) -> tuple[Float[Tensor, "word size"], Float[Tensor, "word size"]]:
        """Return each word's vector as a head and as a dependent."""
        return self.head(words), self.dependent(words)

    def pairs(
        self,
        heads: Float[Tensor, "word size"],
        dependents: Float[Tensor, "word size"],
        arcs: Int[Tensor, "arc 2"],
    ) -> Float[Tensor, "arc label"]:
        """Score all labels of some arcs; ``heads`` and ``dependents`` are ``ends(words)``."""
        head, dependent = take(heads, arcs[:, 0]), take(dependents, arcs[:, 1])
        scores: Tensor = self.readout(head + dependent + self.product(head * dependent))
        return scores.float()


class Tree(nn.Module):
    """Arcs, and labels of the arcs that are there."""

    def __init__(self, arcs: Arcs, labels: ArcLabels) -> None:
        """Both score words of the same vectors."""
        super().__init__()
        self.arcs, self.labels = arcs, labels

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
        scored = self.labels(words, torch.stack([heads[rows], rows], dim=1))
        named = F.cross_entropy(scored, labels[rows] - 1, reduction="sum")
        return {"arcs": Loss(total, len(runs)), "labels": Loss(named, len(runs))}
