"""Sequence tagging: a linear layer, and a CRF per sentence (Changpinyo et al. 2018, section 2).

Words come as a flat list; only the CRF reads padded sentences, a few of similar length at a time.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.decoding.crf import LinearChain, log_partition, marginals, path_score, viterbi
from spanloom.nn.dropout import Dropout
from spanloom.nn.padding import pad, padded_groups

_CHUNK = 1 << 20  # scores (words times tags, padding included) in one group of sentences
_FORBIDDEN = -1e4  # finite: gold that breaks the scheme costs much, but not infinitely much


class TagRules(NamedTuple):
    """Which tags may begin a sentence, which may follow which, and which may end it."""

    starts: Bool[Tensor, " tag"]
    follow: Bool[Tensor, "tag tag"]
    ends: Bool[Tensor, " tag"]


class CRF(nn.Module):
    """Learnt scores of tag transitions, first tags and last tags; some of them are forbidden."""

    never_first: Tensor
    never_after: Tensor
    never_last: Tensor

    def __init__(self, rules: TagRules) -> None:
        """The rules follow from the tags and are not saved."""
        super().__init__()
        self.start_transitions = nn.Parameter(torch.zeros(rules.starts.shape))
        self.transitions = nn.Parameter(torch.zeros(rules.follow.shape))
        self.end_transitions = nn.Parameter(torch.zeros(rules.ends.shape))
        self.register_buffer("never_first", ~rules.starts, persistent=False)
        self.register_buffer("never_after", ~rules.follow, persistent=False)
        self.register_buffer("never_last", ~rules.ends, persistent=False)

    def forward(
        self,
        emissions: Float[Tensor, "seq word tag"],
        lengths: Int[Tensor, " seq"],
        ids: Int[Tensor, " tag"] | None = None,
        rules: TagRules | None = None,
    ) -> LinearChain:
        """Return the CRF of padded sentences; ``lengths`` count the words of each.

        Emissions are of all its tags, or of those with some ``ids`` alone. Its own rules hold, and
        ``rules`` (of all tags) beside them.
        """
        never: tuple[Tensor, ...] = self.never_first, self.never_after, self.never_last
        if rules is not None:
            allowed = (mask.to(emissions.device) for mask in rules)
            pairs = zip(never, allowed, strict=True)
            never = tuple(forbidden | ~mask for forbidden, mask in pairs)
        starts = self.start_transitions.float().masked_fill(never[0], _FORBIDDEN)
        follow = self.transitions.float().masked_fill(never[1], _FORBIDDEN)
        ends = self.end_transitions.float().masked_fill(never[2], _FORBIDDEN)
        if ids is not None:
            follow, starts, ends = follow[ids[:, None], ids], starts[ids], ends[ids]
        return LinearChain(emissions, lengths, follow, starts, ends)

    def squared_transitions(self) -> Float[Tensor, ""]:
        """Return the sum of the squares of all scores of transitions, first and last tags."""
        scores = (self.start_transitions, self.transitions, self.end_transitions)
        return torch.stack([score.float().square().sum() for score in scores]).sum()


class Tagger(nn.Module):
    """Tag words; with ``crf`` those of a sentence are decoded jointly, else each by itself."""

    def __init__(
        self,
        dim: int,
        *,
        rules: TagRules,
        dropout: float,
        crf: bool = True,
        transition_l2: float = 0.0,
    ) -> None:
        """Rules are those of ``Scheme.allowed_transitions``; only ``crf`` uses them.

        ``transition_l2`` weighs the squares of the CRF's transitions beside the loss of a sentence.
        """
        super().__init__()
        self.dropout = Dropout(dropout)
        self.emission = nn.Linear(dim, len(rules.starts))
        self.crf = CRF(rules) if crf else None
        self.transition_l2 = transition_l2

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
        """Return the negative log-likelihood of the gold tags, summed over all sentences.

        The penalty of transitions is added once per sentence, so that the sum over the parts of a
        batch is the sum over the batch.
        """
        emissions = self(words)
        if self.crf is None:
            return F.cross_entropy(emissions, target, reduction="sum")
        total: Tensor = emissions.sum() * 0
        for indices, lengths in padded_groups(sentences, _CHUNK // emissions.shape[1]):
            chain = self.crf(pad(emissions, indices), lengths)
            total = total + (log_partition(chain) - path_score(chain, target[indices])).sum()
        if self.transition_l2:
            penalty = self.transition_l2 * self.crf.squared_transitions()
            total = total + len(sentences) * penalty
        return total

    @torch.no_grad()
    def best(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        allowed: Bool[Tensor, " tag"] | None,
        rules: TagRules | None = None,
    ) -> tuple[Int[Tensor, " word"], Float[Tensor, " word"]]:
        """Return the best tag of each word and its marginal probability.

        Only tags in ``allowed`` (at least one; None for all) are candidates: one task's own in a
        union of several tag sets, so that a small task is decoded fast in a large union. ``rules``
        are those of the task's scheme, where the union allows more. Probabilities are normalised
        over these tags and sequences.
        """
        emissions = self(words)
        ids = torch.arange(emissions.shape[1], device=words.device)
        if allowed is not None:
            ids = ids[allowed]
        emissions = emissions[:, ids]
        if self.crf is None:
            probs, best = emissions.softmax(-1).max(-1)
            return ids[best], probs
        tags = torch.zeros(len(words), dtype=torch.long, device=words.device)
        probs = emissions.new_zeros(len(words))
        for indices, lengths in padded_groups(sentences, _CHUNK // len(ids)):
            chain = self.crf(pad(emissions, indices), lengths, ids, rules)
            is_word = chain.word_mask()
            path, _ = viterbi(chain)
            path_probs = marginals(chain).gather(2, path[:, :, None])[:, :, 0]
            tags[indices[is_word]] = ids[path[is_word]]
            probs[indices[is_word]] = path_probs[is_word]
        return tags, probs
