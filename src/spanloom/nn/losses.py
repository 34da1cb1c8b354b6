"""Losses of span scores and pair scores; all are sums."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from spanloom.nn.candidates import Pruner, ScoredSpans

UNKNOWN = -1  # the target of a span whose label nobody knows: it is not learnt


# of all candidates and their target, which is 0 for "none" and ``UNKNOWN`` for spans not learnt
SpanLoss = Callable[[ScoredSpans, Int[Tensor, " span"]], Float[Tensor, ""]]
# of pairs' scores, target (0 for "none") and softmax group
PairLoss = Callable[
    [Float[Tensor, "pair label"], Int[Tensor, " pair"], Int[Tensor, " pair"]], Float[Tensor, ""]
]


def all_spans_loss(spans: ScoredSpans, target: Int[Tensor, " span"]) -> Float[Tensor, ""]:
    """Return the cross-entropy over all candidates."""
    return F.cross_entropy(spans.scores, target, reduction="sum", ignore_index=UNKNOWN)


def labeled_spans_loss(spans: ScoredSpans, target: Int[Tensor, " span"]) -> Float[Tensor, ""]:
    """Return the cross-entropy over spans that have a label; "none" is not learnt."""
    return F.cross_entropy(spans.scores[target > 0], target[target > 0], reduction="sum")


def soft_loss(
    scores: Float[Tensor, "*rows label"], teacher_scores: Float[Tensor, "*rows label"]
) -> Float[Tensor, "*rows"]:
    """Return the cross-entropy with a teacher's probabilities (Hinton et al. 2015, section 2).

    Their temperature is 1. What the teacher rules out costs nothing if it is ruled out here, too.
    """
    target = teacher_scores.float().softmax(-1)
    log_probs = scores.float().log_softmax(-1)
    return -(target * log_probs.masked_fill(target == 0, 0)).sum(-1)


@dataclass(frozen=True, slots=True)
class HardNegativesLoss:
    """Cross-entropy over gold spans and the K hardest negatives: those least likely to be "none".

    ``pruner`` says how large K is.
    """

    pruner: Pruner

    def __call__(self, spans: ScoredSpans, target: Int[Tensor, " span"]) -> Float[Tensor, ""]:
        """Return the loss; a span of unknown label is no negative."""
        is_known = target != UNKNOWN
        spans, target = spans.select(is_known), target[is_known]
        is_learnt = self.pruner.keep(spans) | (target > 0)
        return F.cross_entropy(spans.scores[is_learnt], target[is_learnt], reduction="sum")


def coarse_loss(
    coarse_scores: Float[Tensor, " span"],
    target: Int[Tensor, " span"],
    is_annotated: Bool[Tensor, " span"] | None,
) -> Float[Tensor, ""]:
    """Return the binary cross-entropy of having any label.

    Where not all labels were annotated (``is_annotated`` is false) only spans with a gold label are
    learnt: others may have a label that was not annotated there.
    """
    has_label, weight = (target > 0).float(), (target != UNKNOWN).float()
    if is_annotated is not None:
        weight = weight * (is_annotated | (target > 0))
    return F.binary_cross_entropy_with_logits(coarse_scores, has_label, weight, reduction="sum")


def label_loss(
    scores: Float[Tensor, "pair label"],
    target: Int[Tensor, " pair"],
    group: Int[Tensor, " pair"],
) -> Float[Tensor, ""]:
    """Return the cross-entropy of each pair's label, "none" included (SpanRel, pairwise loss)."""
    return F.cross_entropy(scores, target, reduction="sum")


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
