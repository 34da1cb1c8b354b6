"""Every pair of words labelled by itself, "none" counted: arcs as SpanRel learns them (section 3).

That is the paper's pairwise loss for dependency trees, n² perceptrons a sentence where ``nn.arcs``
has n; a word that heads itself is a root.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.arcs import UNKNOWN, ArcLabels
from spanloom.nn.padding import grouped
from spanloom.tensors import Loss

_CHUNK = 1 << 15  # pairs scored at a time

Group = tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _ label"]]


class ArcPairs(nn.Module):
    """A perceptron over both words of every pair, and their product."""

    def __init__(self, dim: int, *, labels: int, size: int, dropout: float) -> None:
        """``labels`` counts no "none"."""
        super().__init__()
        self.every = ArcLabels(dim, labels=1 + labels, size=size, dropout=dropout)

    def arcs(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _"]]]:
        """Yield what ``nn.arcs.Arcs`` does; a score is the log odds that there is any relation."""
        for places, lengths, scores in self._groups(words, runs):
            odds = scores[..., 1:].logsumexp(-1) - scores[..., 0]
            inside = torch.arange(places.shape[1], device=lengths.device) < lengths[:, None]
            yield places, lengths, odds.masked_fill(~inside[:, :, None], -torch.inf)

    def labels(
        self, words: Float[Tensor, "word dim"], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Score all labels but "none" of some arcs, rows ``(head, dependent)`` of words."""
        scores: Tensor = self.every(words, arcs)
        return scores[:, 1:]

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        runs: Int[Tensor, "run 2"],
        heads: Int[Tensor, " word"],
        labels: Int[Tensor, " word"],
    ) -> dict[str, Loss]:
        """Return the summed cross-entropy of all pairs whose dependent's head is known.

        ``heads`` are rows of words, a root its own; labels count from 1.
        """
        total = words.sum() * 0
        for places, lengths, scores in self._groups(words, runs):
            inside = torch.arange(places.shape[1], device=lengths.device) < lengths[:, None]
            learnt = inside & (heads[places] != UNKNOWN)
            right = heads[places][:, None] == places[:, :, None]
            target = torch.where(right, labels[places][:, None], 0)
            pairs = inside[:, :, None] & learnt[:, None]
            total = total + F.cross_entropy(scores[pairs], target[pairs], reduction="sum")
        return {"pairs": Loss(total, len(runs))}

    def _groups(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[Group]:
        """Yield a few runs' words, lengths, and scores by run, head, dependent and label."""
        ends = self.every.ends(words)
        longest = int((runs[:, 1] - runs[:, 0]).max()) if len(runs) else 1
        for places, lengths in grouped(runs, _CHUNK // max(1, longest)):
            heads, dependents = torch.broadcast_tensors(places[:, :, None], places[:, None])
            arcs = torch.stack([heads.flatten(), dependents.flatten()], dim=1)
            yield places, lengths, self.every.pairs(*ends, arcs).view(*heads.shape, -1)
