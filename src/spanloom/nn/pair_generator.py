"""Ordered pairs of spans: which are scored, and which of them are gold."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from spanloom.cancellation import checkpoint

MAX_PAIRS = 262_144  # pairs listed and scored at a time; a sentence as long as a book has many more


@dataclass(frozen=True, slots=True)
class PairGenerator:
    """Generate the ordered pairs ``(head, tail)`` of the spans of a group that are scored.

    ``antecedents_only``: only heads before the tail, the nearest ``max_antecedents`` of them
    (None: all). ``horizon``: only spans that start at most so many words apart (None: all).
    ``self_pairs``: each span is paired with itself too, as a root is its own head.
    ``single_relation``: a group (a sentence) has exactly one relation, so the softmax is over all
    its pairs, not over those of one tail.
    """

    antecedents_only: bool = False
    max_antecedents: int | None = None
    self_pairs: bool = False
    single_relation: bool = False
    horizon: int | None = None

    def softmax_group(
        self, pairs: Int[Tensor, "pair 2"], group: Int[Tensor, " span"]
    ) -> Int[Tensor, " pair"]:
        """Return the softmax group of each pair: its tail, or its group if ``single_relation``."""
        return group[pairs[:, 0]] if self.single_relation else pairs[:, 1]

    def all_pairs(
        self,
        group: Int[Tensor, " span"],
        head_mask: Bool[Tensor, " span"] | None = None,
        starts: Int[Tensor, " span"] | None = None,
    ) -> Int[Tensor, "pair 2"]:
        """Return all pairs, ordered by head.

        ``group`` is sorted; ``head_mask`` tells which spans may be heads (None: all). A horizon
        needs ``starts``: the first word of each span, sorted.
        """
        chunks = list(self.iter_by_head(group, len(group) ** 2, head_mask, starts))
        return torch.cat(chunks) if chunks else group.new_zeros(0, 2)

    def iter_by_head(
        self,
        group: Int[Tensor, " span"],
        chunk_size: int,
        head_mask: Bool[Tensor, " span"] | None = None,
        starts: Int[Tensor, " span"] | None = None,
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield ``all_pairs`` in chunks of about ``chunk_size``, no head's pairs divided."""
        head = torch.arange(len(group), device=group.device)
        start, end = self._near(starts, *_group_bounds(group))
        if self.antecedents_only:
            start = head + 1
            if self.max_antecedents is not None:
                end = torch.minimum(end, start + self.max_antecedents)
        if head_mask is not None:
            end = torch.where(head_mask, end, start)
        yield from self._iter_pairs(start, end - start, chunk_size)

    def _near(
        self,
        starts: Int[Tensor, " span"] | None,
        first: Int[Tensor, " span"],
        end: Int[Tensor, " span"],
    ) -> tuple[Int[Tensor, " span"], Int[Tensor, " span"]]:
        """Return the bounds of the spans of a group that are within the horizon of each span."""
        if self.horizon is None:
            return first, end
        assert starts is not None, "a horizon needs to know where spans start"
        nearest = torch.searchsorted(starts, starts - self.horizon)
        farthest = torch.searchsorted(starts, starts + self.horizon, right=True)
        return torch.maximum(first, nearest), torch.minimum(end, farthest)

    def iter_by_tail(
        self,
        group: Int[Tensor, " span"],
        chunk_size: int,
        starts: Int[Tensor, " span"] | None = None,
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield all pairs by tail, in chunks of about ``chunk_size``, no tail's pairs divided."""
        tail = torch.arange(len(group), device=group.device)
        start, end = self._near(starts, *_group_bounds(group))
        if self.antecedents_only:
            if self.max_antecedents is not None:
                start = torch.maximum(start, tail - self.max_antecedents)
            end = tail
        for pairs in self._iter_pairs(start, end - start, chunk_size):
            yield pairs.flip(1)

    def _iter_pairs(
        self, start: Int[Tensor, " span"], count: Int[Tensor, " span"], chunk_size: int
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield each span with the ``count`` spans from ``start``, with itself if that is asked."""
        for pairs in _iter_pairs(start, count, chunk_size):
            if self.antecedents_only or self.self_pairs:
                yield pairs
            else:
                yield pairs[pairs[:, 0] != pairs[:, 1]]


def match_pairs(
    pairs: Int[Tensor, "pair 2"],
    relations: Int[Tensor, "relation 3"],
    gold_to_kept: Int[Tensor, " gold"],
    num_spans: int,
) -> tuple[Int[Tensor, " match"], Int[Tensor, " match"]]:
    """Return indices of the pairs that are gold relations, and of those relations.

    ``pairs`` ascend, so each relation is found by binary search. ``num_spans`` is the number of
    kept spans, including those that form no pair.
    """
    head, tail = gold_to_kept[relations[:, 0]], gold_to_kept[relations[:, 1]]
    pair_codes = pairs[:, 0] * num_spans + pairs[:, 1]
    relation_codes = head * num_spans + tail
    pair_index = torch.searchsorted(pair_codes, relation_codes).clamp(max=len(pair_codes) - 1)
    is_match = (head >= 0) & (tail >= 0) & (pair_codes[pair_index] == relation_codes)
    relation_index = is_match.nonzero()[:, 0]
    return pair_index[relation_index], relation_index


def without_lost_tails(
    pairs: Int[Tensor, "pair 2"],
    relations: Int[Tensor, "relation 3"],
    gold_to_kept: Int[Tensor, " gold"],
    num_spans: int,
) -> Int[Tensor, "some 2"]:
    """Return the pairs without those of tails whose gold heads form none of the pairs.

    Such a tail would be taught to have no head. ``pairs`` ascend, as for ``match_pairs``.
    """
    if not len(pairs) or not len(relations):
        return pairs
    tails = gold_to_kept[relations[:, 1]]
    is_lost = torch.zeros(num_spans, dtype=torch.bool, device=pairs.device)
    is_lost[tails[tails >= 0]] = True
    pair_index, _ = match_pairs(pairs, relations, gold_to_kept, num_spans)
    is_lost[pairs[pair_index, 1]] = False
    return pairs[~is_lost[pairs[:, 1]]]


def _group_bounds(group: Int[Tensor, " span"]) -> tuple[Int[Tensor, " span"], Int[Tensor, " span"]]:
    """Return the first span of each span's group, and one past its last."""
    _, counts = torch.unique_consecutive(group, return_counts=True)
    ends = counts.cumsum(0)
    return (ends - counts).repeat_interleave(counts), ends.repeat_interleave(counts)


def _iter_pairs(
    start: Int[Tensor, " span"], count: Int[Tensor, " span"], chunk_size: int
) -> Iterator[Int[Tensor, "_ 2"]]:
    """Yield each span with the ``count`` spans from ``start``, about ``chunk_size`` at a time."""
    ends = count.cumsum(0)
    first = 0
    while first < len(count):
        checkpoint()
        limit = int(ends[first] - count[first]) + chunk_size
        stop = max(first + 1, int(torch.searchsorted(ends, limit, right=True)))
        counts = count[first:stop]
        span = torch.arange(first, stop, device=count.device).repeat_interleave(counts)
        begin = (counts.cumsum(0) - counts).repeat_interleave(counts)
        step = torch.arange(len(span), device=count.device) - begin
        yield torch.stack([span, start[first:stop].repeat_interleave(counts) + step], dim=1)
        first = stop
