"""Sequence tagging: a linear layer, and a CRF per sentence (Changpinyo et al. 2018, section 2).

Words come as a flat list; only the CRF reads padded sentences, a few of similar length at a time.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.decoding.crf import LinearChain, log_partition, marginals, path_score, viterbi
from spanloom.nn.dropout import Dropout
from spanloom.nn.padding import pad, padded_groups

_CHUNK = 1 << 20  # scores (words times tags, padding included) in one group of sentences
_FORBIDDEN = -1e4  # finite: gold that breaks the scheme costs much, but not infinitely much


class CRF(nn.Module):
    """Learnt scores of tag transitions, first tags and last tags; some of them are forbidden."""

    never_first: Tensor
    never_after: Tensor
    never_last: Tensor

    def __init__(
        self,
        starts: Bool[Tensor, " tag"],
        follow: Bool[Tensor, "tag tag"],
        ends: Bool[Tensor, " tag"],
    ) -> None:
        """The masks tell what is allowed; they follow from the tags and are not saved."""
        super().__init__()
        self.start_transitions = nn.Parameter(torch.zeros(starts.shape))
        self.transitions = nn.Parameter(torch.zeros(follow.shape))
        self.end_transitions = nn.Parameter(torch.zeros(ends.shape))
        self.register_buffer("never_first", ~starts, persistent=False)
        self.register_buffer("never_after", ~follow, persistent=False)
        self.register_buffer("never_last", ~ends, persistent=False)

    def forward(
        self, emissions: Float[Tensor, "seq word tag"], lengths: Int[Tensor, " seq"]
    ) -> LinearChain:
        """Return the CRF of padded sentences; ``lengths`` count the words of each."""
        follow = self.transitions.float().masked_fill(self.never_after, _FORBIDDEN)
        starts = self.start_transitions.float().masked_fill(self.never_first, _FORBIDDEN)
        ends = self.end_transitions.float().masked_fill(self.never_last, _FORBIDDEN)
        return LinearChain(emissions, lengths, follow, starts, ends)


class Tagger(nn.Module):
    """Tag words; with ``crf`` those of a sentence are decoded jointly, else each by itself."""

    def __init__(
        self,
        dim: int,
        *,
        num_tags: int,
        starts: Bool[Tensor, " tag"],
        follow: Bool[Tensor, "tag tag"],
        ends: Bool[Tensor, " tag"],
        dropout: float,
        crf: bool = True,
    ) -> None:
        """Masks are those of ``Scheme.allowed_transitions``; only ``crf`` uses them."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.emission = nn.Linear(dim, num_tags)
        self.crf = CRF(starts, follow, ends) if crf else None

    def forward(self, words: Float[Tensor, "word dim"]) -> Float[Tensor, "word tag"]:
        """Return the emission score of each tag at each word."""
        scores: Tensor = self.emission(self.dropout(words))
        return scores.float()

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        target: Int[Tensor, " word"],
    ) -> Float[Tensor, ""]:
        """Return the negative log-likelihood of the gold tags, summed over all sentences."""
        emissions = self(words)
        if self.crf is None:
            return F.cross_entropy(emissions, target, reduction="sum")
        total: Tensor = emissions.sum() * 0
        for indices, lengths in padded_groups(sentences, _CHUNK // emissions.shape[1]):
            chain = self.crf(pad(emissions, indices), lengths)
            total = total + (log_partition(chain) - path_score(chain, target[indices])).sum()
        return total

    @torch.no_grad()
    def best(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        allowed: Bool[Tensor, " tag"] | None,
    ) -> tuple[Int[Tensor, " word"], Float[Tensor, " word"]]:
        """Return the best tag of each word and its marginal probability.

        Only tags in ``allowed`` (at least one; None for all) are candidates: one task's own in a
        union of several tag sets. Probabilities are normalised over these tags.
        """
        emissions = self(words)
        if allowed is not None:
            emissions = emissions.masked_fill(~allowed, -torch.inf)
        if self.crf is None:
            probs, tags = emissions.softmax(-1).max(-1)
            return tags, probs
        tags = torch.zeros(len(words), dtype=torch.long, device=words.device)
        probs = emissions.new_zeros(len(words))
        for indices, lengths in padded_groups(sentences, _CHUNK // emissions.shape[1]):
            chain = self.crf(pad(emissions, indices), lengths)
            is_word = chain.word_mask()
            path, _ = viterbi(chain)
            path_probs = marginals(chain).gather(2, path[:, :, None])[:, :, 0]
            tags[indices[is_word]] = path[is_word]
            probs[indices[is_word]] = path_probs[is_word]
        return tags, probs
