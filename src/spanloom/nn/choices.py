"""Each tail chooses one head: antecedents, syntactic heads (SpanRel, appendix B: the head loss)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceLoss:
    """Negative log-likelihood that each tail chooses one of its gold heads with a gold label.

    The probability is over all pairs of the tail and their labels but "none"; with ``dummy`` also
    over "no head at all", whose score is 0, which is right for a tail without a gold head (Lee et
    al. 2017, equation 8, and SpanRel). Without it such a tail is not learnt from.
    """

    dummy: bool

    def __call__(
        self,
        scores: Float[Tensor, "pair label"],
        target: Int[Tensor, " pair"],
        owner: Int[Tensor, " pair"],
    ) -> Float[Tensor, ""]:
        """Return the sum over tails, or whatever owns pairs; those of no relation have target 0."""
        size = int(owner.max()) + 1
        joint = scores[:, 1:].float()
        owner = owner[:, None].expand_as(joint).flatten()
        flat = joint.flatten()
        is_gold = target[:, None] == torch.arange(1, scores.shape[1], device=scores.device)[None]
        top = flat.detach().new_zeros(size) if self.dummy else flat.new_full((size,), -torch.inf)
        top = top.scatter_reduce(0, owner, flat.detach(), "amax")
        weight = (flat - top[owner]).exp()
        every = flat.new_zeros(size).index_add(0, owner, weight)
        gold = flat.new_zeros(size).index_add(0, owner, weight * is_gold.flatten())
        has_gold = flat.new_zeros(size).index_add(0, owner, is_gold.flatten().float()) > 0
        if self.dummy:
            none = (-top).exp()
            every = every + none
            gold = torch.where(has_gold, gold, none)
            has_gold = torch.ones_like(has_gold)
        tiny = torch.finfo(gold.dtype).tiny
        return (every[has_gold].log() - gold[has_gold].clamp(min=tiny).log()).sum()


def choose(
    scores: Float[Tensor, "pair label"], tails: Int[Tensor, " pair"], spans: int, *, dummy: bool
) -> tuple[Int[Tensor, " span"], Float[Tensor, " span"]]:
    """Return each span's best pair (a row of ``scores``, -1 for none) and its label's probability.

    With ``dummy`` a pair is chosen only where its best label scores above 0.
    """
    best = scores[:, 1:].amax(-1).float()
    top = best.new_full((spans,), 0.0 if dummy else -torch.inf)
    top = top.scatter_reduce(0, tails, best, "amax")
    weight = (scores[:, 1:].float() - top[tails][:, None]).exp().sum(-1)
    every = best.new_zeros(spans).index_add(0, tails, weight)
    if dummy:
        every = every + (-top).exp()
    right = (best == top[tails]) & ((best > 0) | (not dummy))
    rows = right.nonzero()[:, 0]
    first = torch.full((spans,), len(tails), device=tails.device)
    first = first.scatter_reduce(0, tails[rows], rows, "amin")
    chosen = torch.where(first < len(tails), first, -1)
    return chosen, 1 / every.clamp(min=torch.finfo(every.dtype).tiny)


@dataclass(frozen=True, slots=True)
class One:
    """The best pair of each owner so far: its ends (-1 for none), label and score.

    ``every`` is the logarithm of the sum of all exponentiated scores.
    """

    ends: Int[Tensor, "owner 2"]
    labels: Int[Tensor, " owner"]
    score: Float[Tensor, " owner"]
    every: Float[Tensor, " owner"]

    @classmethod
    def nothing(cls, owners: int, device: torch.device) -> "One":
        """Return that of no pair."""
        ends = torch.full((owners, 2), -1, device=device)
        least = torch.full((owners,), -torch.inf, device=device)
        return cls(ends, ends[:, 0], least, least)

    def or_one_of(
        self,
        pairs: Int[Tensor, "pair 2"],
        scores: Float[Tensor, "pair label"],
        owner: Int[Tensor, " pair"],
    ) -> "One":
        """Return the best with more pairs; ``scores`` has "none" in column 0, which is not read."""
        best, sure = choose(scores, owner, len(self.ends), dummy=False)
        top, label = scores[best, 1:].max(-1)
        here = torch.where(best >= 0, top, -torch.inf)
        better = here > self.score
        every = torch.where(best >= 0, here - sure.log(), -torch.inf)
        return One(
            torch.where(better[:, None], pairs[best], self.ends),
            torch.where(better, label + 1, self.labels),
            torch.maximum(here, self.score),
            torch.logaddexp(every, self.every),
        )

    def there(
        self,
    ) -> tuple[Int[Tensor, "found 2"], Int[Tensor, " found"], Float[Tensor, " found"]]:
        """Return ends, label and probability of each owner that has pairs."""
        there = self.ends[:, 0] >= 0
        sure = (self.score - self.every).exp()
        return self.ends[there], self.labels[there], sure[there]
