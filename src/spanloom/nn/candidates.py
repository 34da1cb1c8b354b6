"""Candidate spans: every run of up to ``width`` words inside one sentence, narrow ones first.

All candidates of one width stand together, by start: so a score that is a sum over a span's ends
and words is made of slices, without gathering (see ``nn.spans``).
"""

import torch
from jaxtyping import Int
from torch import Tensor


def candidates(sentences: Int[Tensor, "sentence 2"], width: int) -> Int[Tensor, "span 2"]:
    """List the candidates of flat words; ``sentences`` cover the words in order, without gaps."""
    parts = starts(sentences, width)
    start = torch.cat(parts)
    wide = torch.arange(1, len(parts) + 1, device=start.device)
    sizes = torch.tensor([len(part) for part in parts], device=start.device)
    return torch.stack([start, start + wide.repeat_interleave(sizes)], dim=1)


def starts(sentences: Int[Tensor, "sentence 2"], width: int) -> list[Int[Tensor, " _"]]:
    """Return, for each width from 1 up, the words at which a candidate of that width starts."""
    room = _room(sentences)
    widest = min(width, int(room.max())) if len(room) else 0
    if not widest:
        return [room]
    return [(room > extra).nonzero()[:, 0] for extra in range(widest)]


def rows(
    bounds: Int[Tensor, "gold 2"], sentences: Int[Tensor, "sentence 2"], width: int
) -> Int[Tensor, " gold"]:
    """Return the row of each span among ``candidates``, -1 for one that is no candidate."""
    room = _room(sentences)
    if not len(room):
        return torch.full((len(bounds),), -1, device=bounds.device)
    extra = bounds[:, 1] - bounds[:, 0] - 1
    known = (extra >= 0) & (extra < width) & (extra < room[bounds[:, 0]])
    steps = torch.arange(min(width, int(room.max())), device=room.device)
    place = (room[None] > steps[:, None]).flatten().cumsum(0) - 1
    return torch.where(known, place[(extra * len(room) + bounds[:, 0]) * known], -1)


def neighbours(sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, "word 2"]:
    """Return the rows of the words before and after each word in its sentence, -1 for none."""
    room = _room(sentences)
    words = torch.arange(len(room), device=room.device)
    first = torch.zeros_like(words, dtype=torch.bool)
    first[sentences[sentences[:, 0] < sentences[:, 1], 0]] = True
    return torch.stack(
        [(words - 1).masked_fill(first, -1), (words + 1).masked_fill(room == 1, -1)], dim=1
    )


def _room(sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, " word"]:
    """How many words there are from each word to the end of its sentence, itself counted."""
    lengths = sentences[:, 1] - sentences[:, 0]
    ends = sentences[:, 1].repeat_interleave(lengths)
    return ends - torch.arange(len(ends), device=ends.device)
