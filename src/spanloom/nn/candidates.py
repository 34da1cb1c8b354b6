"""Candidate spans: enumerate them, match gold spans to them, keep the best of each sentence.

Candidates of one width are contiguous and ordered by start, so that a score that is a sum over a
span's ends and words can be computed with slices, without gathering (see ``nn.spans``).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_MAGNITUDE = 0x7FFFFFFF  # all bits of a float but its sign
_PROB_EPS = 1e-4  # probabilities are kept that far from 0 and 1 where odds are taken


@dataclass(frozen=True, slots=True)
class Candidates:
    """All spans of up to ``max_width`` words in a sentence, narrow ones first.

    ``sentences`` are bounds that cover the words in order, without gaps.
    """

    max_width: int

    def bounds(self, sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, "span 2"]:
        """Return the bounds of all candidates."""
        words_left = _words_left(sentences)
        extra_words, start = self._fits(words_left).nonzero().unbind(-1)
        return torch.stack([start, start + extra_words + 1], dim=1)

    def starts(self, sentences: Int[Tensor, "sentence 2"]) -> list[Int[Tensor, " _"]]:
        """Return, for each width from 1 up, the words at which a candidate of that width starts."""
        words_left = _words_left(sentences)
        return [fits.nonzero()[:, 0] for fits in self._fits(words_left)] or [words_left]

    def _fits(self, words_left: Int[Tensor, " word"]) -> Bool[Tensor, "extra word"]:
        """Return whether each span of 0, 1, … more words than its first ends in its sentence."""
        max_width = min(self.max_width, int(words_left.max())) if len(words_left) else 0
        return words_left > torch.arange(max_width, device=words_left.device)[:, None]

    def index(
        self, bounds: Int[Tensor, "gold 2"], sentences: Int[Tensor, "sentence 2"]
    ) -> Int[Tensor, " gold"]:
        """Return the index of each span among the candidates, -1 for one that is no candidate."""
        words_left = _words_left(sentences)
        if not len(words_left):
            return torch.full((len(bounds),), -1, device=bounds.device)
        extra_words = bounds[:, 1] - bounds[:, 0] - 1
        is_candidate = (extra_words >= 0) & (extra_words < self.max_width)
        is_candidate &= extra_words < words_left[bounds[:, 0]]
        # candidate index by (extra words, first word), valid where that is a candidate
        index = self._fits(words_left).flatten().cumsum(0) - 1
        cell = (extra_words * len(words_left) + bounds[:, 0]) * is_candidate
        return torch.where(is_candidate, index[cell], -1)


def neighbors(sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, "word 2"]:
    """Return the indices of the words before and after each word in its sentence, -1 for none."""
    words_left = _words_left(sentences)
    words = torch.arange(len(words_left), device=words_left.device)
    is_first = torch.zeros_like(words, dtype=torch.bool)
    is_first[sentences[sentences[:, 0] < sentences[:, 1], 0]] = True
    before = (words - 1).masked_fill(is_first, -1)
    after = (words + 1).masked_fill(words_left == 1, -1)
    return torch.stack([before, after], dim=1)


def _words_left(sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, " word"]:
    """Return the number of words from each word, itself included, to the end of its sentence."""
    lengths = sentences[:, 1] - sentences[:, 0]
    ends = sentences[:, 1].repeat_interleave(lengths)
    return ends - torch.arange(len(ends), device=ends.device)


@dataclass(frozen=True, slots=True)
class ScoredSpans:
    """Spans with label scores ("none" first); those in the same run of words compete."""

    scores: Float[Tensor, "span label"]
    bounds: Int[Tensor, "span 2"]
    runs: Int[Tensor, "run 2"]

    @property
    def margin(self) -> Float[Tensor, " span"]:
        """Return by how much each span's best label scores above "none"."""
        return self.scores[:, 1:].amax(-1) - self.scores[:, 0]

    def select(self, index: Int[Tensor, " n"] | Bool[Tensor, " span"]) -> "ScoredSpans":
        """Return the spans at the indices, or those under a mask."""
        return ScoredSpans(self.scores[index], self.bounds[index], self.runs)


@dataclass(frozen=True, slots=True)
class Pruner:
    """Number of spans kept per sentence for pair scoring, as a rate per word or a fixed K.

    ``spans_per_sentence``, if set, takes precedence over ``spans_per_word``.
    """

    spans_per_word: float = 0.5
    spans_per_sentence: int | None = None

    def budget(self, runs: Int[Tensor, "run 2"]) -> Int[Tensor, " run"]:
        """Return K for each run of words, at least 1."""
        lengths = runs[:, 1] - runs[:, 0]
        if self.spans_per_sentence is not None:
            return torch.full_like(lengths, self.spans_per_sentence)
        return (lengths * self.spans_per_word).ceil().long().clamp(min=1)

    def keep(self, spans: ScoredSpans) -> Bool[Tensor, " span"]:
        """Return the mask of the K spans per run with the lowest probability of "none"."""
        group = group_of(spans.bounds, spans.runs)
        return top_k_non_null(spans.scores, group, self.budget(spans.runs))


def group_of(bounds: Int[Tensor, "span 2"], runs: Int[Tensor, "run 2"]) -> Int[Tensor, " span"]:
    """Return the index of the run (a sentence, an instance) that each span starts in."""
    return torch.searchsorted(runs[:, 1].contiguous(), bounds[:, 0].contiguous(), right=True)


def text_order(
    bounds: Int[Tensor, "span 2"], keep_mask: Bool[Tensor, " span"]
) -> Int[Tensor, " kept"]:
    """Return the indices of the kept spans by start, then end, as pair generation needs them."""
    kept = keep_mask.nonzero()[:, 0]
    start, end = bounds[kept].unbind(-1)
    return kept[(start * (int(end.max()) + 1 if len(kept) else 1) + end).argsort()]


def top_k_non_null(
    scores: Float[Tensor, "span label"],
    group: Int[Tensor, " span"],
    budget: Int[Tensor, " sentence"],
) -> Bool[Tensor, " span"]:
    """Return the mask of the ``budget`` spans per group with the lowest probability of label 0."""
    return top_k_mask(-scores.detach().float().log_softmax(-1)[:, 0], group, budget)


def top_k_mask(
    values: Float[Tensor, " span"], group: Int[Tensor, " span"], budget: Int[Tensor, " sentence"]
) -> Bool[Tensor, " span"]:
    """Return the mask of the ``budget`` highest values per group; of equal ones the first.

    One sort orders by group and value: the bits of a float, read as a whole number, rise with it
    (with it negated, if it is negative).
    """
    bits = (values.float() + 0.0).view(torch.int32)  # 0.0 makes one zero of two
    falling = torch.where(bits < 0, bits & _MAGNITUDE, -bits)
    order = ((group << 32) + falling).argsort(stable=True)
    ordered_group = group[order]
    sizes = torch.bincount(group, minlength=len(budget))
    rank = torch.arange(len(order), device=order.device) - (sizes.cumsum(0) - sizes)[ordered_group]
    mask = torch.zeros(len(group), dtype=torch.bool, device=group.device)
    mask[order] = rank < budget[ordered_group]
    return mask


def mention_scores(types: Float[Tensor, "span type"]) -> Float[Tensor, " span"]:
    """Return the log-odds that each span has any label (Lee et al. 2017, equation 1)."""
    return torch.logit(1 - types[:, 0], eps=_PROB_EPS)
