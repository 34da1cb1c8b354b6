"""Dependency parsing as SpanRel does it (section 3): classify each pair of words, "none" included.

This is the paper's pairwise loss for dependency trees; the perceptron reads n² pairs per sentence,
where ``nn.dependency_arcs`` labels n arcs. A word that is its own head is a root.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dependency_arcs import ArcLabeler
from spanloom.nn.padding import padded_groups
from spanloom.nn.product_pairs import ProductArcLabeler
from spanloom.tensors import Losses

_CHUNK = 1 << 15  # pairs scored at a time

Group = tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _ label"]]


class ArcPairs(nn.Module):
    """Score arcs and labels at once: a perceptron over all pairs of words."""

    def __init__(self, scorer: ArcLabeler | ProductArcLabeler) -> None:
        """``scorer`` scores "none", then all labels."""
        super().__init__()
        self.scorer = scorer

    def arcs(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _"]]]:
        """Yield what ``ArcScorer.forward`` does; a score is the log-odds of any label."""
        for indices, lengths, scores in self._score_groups(words, runs):
            log_odds = scores[..., 1:].logsumexp(-1) - scores[..., 0]
            is_word = torch.arange(indices.shape[1], device=lengths.device) < lengths[:, None]
            yield indices, lengths, log_odds.masked_fill(~is_word[:, :, None], -torch.inf)

    def labels(
        self, words: Float[Tensor, "word dim"], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Return the scores of ``arcs`` (head, dependent) for all labels except "none"."""
        scores: Tensor = self.scorer(words, arcs)
        return scores[:, 1:]

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        runs: Int[Tensor, "run 2"],
        heads: Int[Tensor, " word"],
        labels: Int[Tensor, " word"],
    ) -> Losses:
        """Return the cross-entropy summed over all pairs whose dependent's head is known.

        ``heads`` are word indices, a root's its own, or -1 if unknown; ``labels`` count from 1.
        """
        total = words.sum() * 0
        for indices, lengths, scores in self._score_groups(words, runs):
            is_word = torch.arange(indices.shape[1], device=lengths.device) < lengths[:, None]
            gold_row = heads[indices] - indices[:, :1]  # outside where the head is in no such run
            is_learnt = is_word & (gold_row >= 0) & (gold_row < lengths[:, None])
            is_gold_arc = heads[indices][:, None] == indices[:, :, None]
            target = torch.where(is_gold_arc, labels[indices][:, None], 0)
            pair_mask = is_word[:, :, None] & is_learnt[:, None]
            total = total + F.cross_entropy(scores[pair_mask], target[pair_mask], reduction="sum")
        return {"relation": total}

    def _score_groups(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[Group]:
        """Yield groups of runs: word indices, lengths, and scores (run, head, dependent, label)."""
        ends = self.scorer.ends(words)
        longest = int((runs[:, 1] - runs[:, 0]).max()) if len(runs) else 1
        for indices, lengths in padded_groups(runs, _CHUNK // max(1, longest)):
            heads, dependents = torch.broadcast_tensors(indices[:, :, None], indices[:, None])
            arcs = torch.stack([heads.flatten(), dependents.flatten()], dim=1)
            yield indices, lengths, self.scorer.pairs(ends, arcs).view(*heads.shape, -1)
