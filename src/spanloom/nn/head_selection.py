"""Head selection: each tail has one head, as mentions have antecedents (SpanRel, appendix B)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSelectionLoss:
    """Negative marginal log-likelihood that each tail selects a gold head with its gold label.

    The softmax is over all pairs of the tail and their labels except "none". With ``dummy`` it
    includes "no head", whose score is 0 and which is gold for a tail without a gold head (Lee et
    al. 2017, equation 8, and SpanRel). Without ``dummy`` such a tail is not learnt from.
    """

    dummy: bool

    def __call__(
        self,
        scores: Float[Tensor, "pair label"],
        target: Int[Tensor, " pair"],
        group: Int[Tensor, " pair"],
    ) -> Float[Tensor, ""]:
        """Return the loss summed over groups, which are tails or sentences.

        ``group`` is the softmax group of each pair; ``target`` is 0 for pairs without a relation.
        """
        num_groups = int(group.max()) + 1
        label_scores = scores[:, 1:].float()
        group = group[:, None].expand_as(label_scores).flatten()
        flat = label_scores.flatten()
        is_gold = target[:, None] == torch.arange(1, scores.shape[1], device=scores.device)[None]
        least = 0.0 if self.dummy else -torch.inf
        max_score = flat.detach().new_full((num_groups,), least)
        max_score = max_score.scatter_reduce(0, group, flat.detach(), "amax")
        exp_scores = (flat - max_score[group]).exp()
        zeros = flat.new_zeros(num_groups)
        partition = zeros.index_add(0, group, exp_scores)
        gold_sum = zeros.index_add(0, group, exp_scores * is_gold.flatten())
        has_gold = zeros.index_add(0, group, is_gold.flatten().float()) > 0
        if self.dummy:
            dummy_exp = (-max_score).exp()
            partition = partition + dummy_exp
            gold_sum = torch.where(has_gold, gold_sum, dummy_exp)
            has_gold = torch.ones_like(has_gold)
        tiny = torch.finfo(gold_sum.dtype).tiny
        return (partition[has_gold].log() - gold_sum[has_gold].clamp(min=tiny).log()).sum()


def select_heads(
    scores: Float[Tensor, "pair label"], tails: Int[Tensor, " pair"], num_spans: int, *, dummy: bool
) -> tuple[Int[Tensor, " span"], Float[Tensor, " span"]]:
    """Return each span's best pair (an index of ``scores``, -1 for none) and its probability.

    The probability is that of the pair's best label. With ``dummy`` a pair is selected only if that
    label scores above 0. Of equal pairs the first is selected.
    """
    pair_scores = scores[:, 1:].amax(-1).float()
    max_score = pair_scores.new_full((num_spans,), 0.0 if dummy else -torch.inf)
    max_score = max_score.scatter_reduce(0, tails, pair_scores, "amax")
    exp_scores = (scores[:, 1:].float() - max_score[tails][:, None]).exp().sum(-1)
    partition = pair_scores.new_zeros(num_spans).index_add(0, tails, exp_scores)
    if dummy:
        partition = partition + (-max_score).exp()
    is_best = (pair_scores == max_score[tails]) & ((pair_scores > 0) | (not dummy))
    best_pairs = is_best.nonzero()[:, 0]
    first = torch.full((num_spans,), len(tails), device=tails.device)
    first = first.scatter_reduce(0, tails[best_pairs], best_pairs, "amin")
    selected = torch.where(first < len(tails), first, -1)
    return selected, 1 / partition.clamp(min=torch.finfo(partition.dtype).tiny)


@dataclass(frozen=True, slots=True)
class BestPair:
    """The best pair of each group over the chunks of pairs so far: ends (-1: none), label, score.

    ``log_partition`` is the logsumexp of the scores of all labels of all pairs of a group.
    """

    ends: Int[Tensor, "group 2"]
    labels: Int[Tensor, " group"]
    score: Float[Tensor, " group"]
    log_partition: Float[Tensor, " group"]

    @classmethod
    def empty(cls, num_groups: int, device: torch.device) -> "BestPair":
        """Return the state before any pair."""
        ends = torch.full((num_groups, 2), -1, device=device)
        no_score = torch.full((num_groups,), -torch.inf, device=device)
        return cls(ends, ends[:, 0], no_score, no_score)

    def update(
        self,
        pairs: Int[Tensor, "pair 2"],
        scores: Float[Tensor, "pair label"],
        group: Int[Tensor, " pair"],
    ) -> "BestPair":
        """Return the state after more pairs; column 0 of ``scores`` ("none") is not read."""
        best, prob = select_heads(scores, group, len(self.ends), dummy=False)
        max_score, label = scores[best, 1:].max(-1)
        max_score = torch.where(best >= 0, max_score, -torch.inf)
        is_better = max_score > self.score
        log_partition = torch.where(best >= 0, max_score - prob.log(), -torch.inf)
        return BestPair(
            torch.where(is_better[:, None], pairs[best], self.ends),
            torch.where(is_better, label + 1, self.labels),
            torch.maximum(max_score, self.score),
            torch.logaddexp(log_partition, self.log_partition),
        )

    def selected(
        self,
    ) -> tuple[Int[Tensor, "selected 2"], Int[Tensor, " selected"], Float[Tensor, " selected"]]:
        """Return the best pair, its label and its probability, of each group that has pairs."""
        has_pair = self.ends[:, 0] >= 0
        probs = (self.score - self.log_partition).exp()
        return self.ends[has_pair], self.labels[has_pair], probs[has_pair]
