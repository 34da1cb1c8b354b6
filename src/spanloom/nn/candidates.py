"""Candidate spans: every run of up to ``width`` words inside one sentence."""

import torch
from jaxtyping import Int
from torch import Tensor


def candidates(sentences: Int[Tensor, "sentence 2"], width: int) -> Int[Tensor, "span 2"]:
    """List the candidates of flat words, by start, then by end.

    Which row a span has is arithmetic: see ``rows``.
    """
    starts, counts = _starts(sentences, width)
    start = starts.repeat_interleave(counts)
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)
    end = start + 1 + torch.arange(len(start), device=start.device) - first
    return torch.stack([start, end], dim=1)


def rows(
    bounds: Int[Tensor, "gold 2"], sentences: Int[Tensor, "sentence 2"], width: int
) -> Int[Tensor, " gold"]:
    """Return the row of each span among ``candidates``, -1 for one that is no candidate."""
    starts, counts = _starts(sentences, width)
    first = counts.cumsum(0) - counts
    place = torch.searchsorted(starts, bounds[:, 0].contiguous()).clamp(max=len(starts) - 1)
    offset = bounds[:, 1] - bounds[:, 0] - 1
    known = (starts[place] == bounds[:, 0]) & (offset >= 0) & (offset < counts[place])
    return torch.where(known, first[place] + offset, -1)


def _starts(
    sentences: Int[Tensor, "sentence 2"], width: int
) -> tuple[Int[Tensor, " word"], Int[Tensor, " word"]]:
    """Each word that can start a candidate, and how many candidates start there."""
    lengths = sentences[:, 1] - sentences[:, 0]
    ends = sentences[:, 1].repeat_interleave(lengths)
    first = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    steps = torch.arange(len(ends), device=ends.device) - first
    starts = sentences[:, 0].repeat_interleave(lengths) + steps
    return starts, (ends - starts).clamp(max=width)
