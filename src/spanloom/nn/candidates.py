"""Enumerate candidate spans: all spans of up to ``width`` words in a sentence, narrow ones first.

Candidates of one width are contiguous and ordered by start, so that a score that is a sum over a
span's ends and words can be computed with slices, without gathering (see ``nn.spans``).
"""

import torch
from jaxtyping import Int
from torch import Tensor


def candidates(sentences: Int[Tensor, "sentence 2"], width: int) -> Int[Tensor, "span 2"]:
    """Return the bounds of all candidates; ``sentences`` cover the words in order, without gaps."""
    starts_by_width = starts(sentences, width)
    start = torch.cat(starts_by_width)
    widths = torch.arange(1, len(starts_by_width) + 1, device=start.device)
    counts = torch.tensor([len(same_width) for same_width in starts_by_width], device=start.device)
    return torch.stack([start, start + widths.repeat_interleave(counts)], dim=1)


def starts(sentences: Int[Tensor, "sentence 2"], width: int) -> list[Int[Tensor, " _"]]:
    """Return, for each width from 1 up, the words at which a candidate of that width starts."""
    words_left = _words_left(sentences)
    max_width = min(width, int(words_left.max())) if len(words_left) else 0
    if not max_width:
        return [words_left]
    return [(words_left > extra_words).nonzero()[:, 0] for extra_words in range(max_width)]


def rows(
    bounds: Int[Tensor, "gold 2"], sentences: Int[Tensor, "sentence 2"], width: int
) -> Int[Tensor, " gold"]:
    """Return the index of each span among ``candidates``, -1 for one that is no candidate."""
    words_left = _words_left(sentences)
    if not len(words_left):
        return torch.full((len(bounds),), -1, device=bounds.device)
    extra_words = bounds[:, 1] - bounds[:, 0] - 1
    is_candidate = (
        (extra_words >= 0) & (extra_words < width) & (extra_words < words_left[bounds[:, 0]])
    )
    steps = torch.arange(min(width, int(words_left.max())), device=words_left.device)
    # candidate index by (extra words, first word), valid where that is a candidate
    index = (words_left[None] > steps[:, None]).flatten().cumsum(0) - 1
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
