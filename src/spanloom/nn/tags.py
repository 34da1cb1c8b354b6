"""Tags of words: a linear layer, and a CRF over each sentence (Changpinyo et al. 2018, section 2).

Words lie flat; sentences are padded here, and here only, a few of like length at a time.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.nn.padding import grouped, pad
from spanloom.structs.crf import Chain, best, log_partition, marginals, score
from spanloom.tensors import Loss

_CHUNK = 1 << 20  # scores (words times tags, padding counted) that are worked on together
_FORBIDDEN = -1e4  # finite: gold that breaks the scheme costs much, but not infinitely much


class Transitions(nn.Module):
    """Learnt scores of one tag after another, of the first and of the last; some are forbidden."""

    never_first: Tensor
    never_after: Tensor
    never_last: Tensor

    def __init__(
        self,
        starts: Bool[Tensor, " tag"],
        follow: Bool[Tensor, "tag tag"],
        ends: Bool[Tensor, " tag"],
    ) -> None:
        """The masks say what is allowed; they follow from the tags and are not saved."""
        super().__init__()
        self.starts = nn.Parameter(torch.zeros(starts.shape))
        self.follow = nn.Parameter(torch.zeros(follow.shape))
        self.ends = nn.Parameter(torch.zeros(ends.shape))
        self.register_buffer("never_first", ~starts, persistent=False)
        self.register_buffer("never_after", ~follow, persistent=False)
        self.register_buffer("never_last", ~ends, persistent=False)

    def forward(
        self, emissions: Float[Tensor, "seq word tag"], lengths: Int[Tensor, " seq"]
    ) -> Chain:
        """Return the scores of padded sentences."""
        follow = self.follow.float().masked_fill(self.never_after, _FORBIDDEN)
        starts = self.starts.float().masked_fill(self.never_first, _FORBIDDEN)
        ends = self.ends.float().masked_fill(self.never_last, _FORBIDDEN)
        return Chain(emissions, lengths, follow, starts, ends)


class Tags(nn.Module):
    """One tag a word; with ``crf`` those of a sentence are chosen together, else each by itself."""

    def __init__(
        self,
        dim: int,
        *,
        tags: int,
        starts: Bool[Tensor, " tag"],
        follow: Bool[Tensor, "tag tag"],
        ends: Bool[Tensor, " tag"],
        dropout: float,
        crf: bool = True,
    ) -> None:
        """The masks are ``forms.tag_schemes``' ``allowed``; without ``crf`` nothing reads them."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.emit = nn.Linear(dim, tags)
        self.transitions = Transitions(starts, follow, ends) if crf else None

    def forward(self, words: Float[Tensor, "word dim"]) -> Float[Tensor, "word tag"]:
        """Return each tag's score at each word."""
        scores: Tensor = self.emit(self.dropout(words))
        return scores.float()

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        target: Int[Tensor, " word"],
    ) -> Loss:
        """Return the summed negative log-likelihood of the gold tags, over all sentences."""
        emissions = self(words)
        if self.transitions is None:
            return Loss(F.cross_entropy(emissions, target, reduction="sum"), len(sentences))
        total = emissions.sum() * 0
        for places, lengths in grouped(sentences, _CHUNK // emissions.shape[1]):
            chain = self.transitions(pad(emissions, places), lengths)
            total = total + (log_partition(chain) - score(chain, target[places])).sum()
        return Loss(total, len(sentences))

    @torch.no_grad()
    def best(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        allowed: Bool[Tensor, " tag"] | None,
    ) -> tuple[Int[Tensor, " word"], Float[Tensor, " word"]]:
        """Return the best tags and the marginal probability of each.

        Only tags in ``allowed`` (at least one; None for all) are there to choose from: of a union
        of several tag sets, one task's own. Probabilities are shared among those.
        """
        emissions = self(words)
        if allowed is not None:
            emissions = emissions.masked_fill(~allowed, -torch.inf)
        if self.transitions is None:
            scores, tags = emissions.softmax(-1).max(-1)
            return tags, scores
        tags = torch.zeros(len(words), dtype=torch.long, device=words.device)
        scores = emissions.new_zeros(len(words))
        for places, lengths in grouped(sentences, _CHUNK // emissions.shape[1]):
            chain = self.transitions(pad(emissions, places), lengths)
            seen = chain.seen()
            path, _ = best(chain)
            chances = marginals(chain).gather(2, path[:, :, None])[:, :, 0]
            tags[places[seen]], scores[places[seen]] = path[seen], chances[seen]
        return tags, scores
