"""Which spans may join a set of selected spans, because a relation needs them as its ends.

Spans of a set do not overlap or, if ``nested``, do not cross. Bounds are ``[start, end)``.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Bounds = tuple[int, int]


def fits_into_set(
    bounds: Int[Tensor, "span 2"], selected: Int[Tensor, "selected 2"], *, nested: bool
) -> Bool[Tensor, " span"]:
    """Return whether each span overlaps no selected span or, if ``nested``, crosses none.

    A selected span fits itself if ``nested``. O(spans · widest).
    """
    if not len(bounds) or not len(selected):
        return torch.ones(len(bounds), dtype=torch.bool, device=bounds.device)
    num_words = 1 + int(torch.maximum(bounds.max(), selected.max()))
    start, end = bounds.unbind(-1)
    if not nested:
        is_start, is_end = (
            torch.bincount(column, minlength=num_words) for column in selected.unbind(-1)
        )
        # the number that start before the span's end, less the number that end by its start
        return (is_start.cumsum(0)[end - 1] - is_end.cumsum(0)[start]) == 0
    none = torch.arange(num_words, device=bounds.device)
    last_end = none.scatter_reduce(0, selected[:, 0], selected[:, 1], "amax")
    first_start = none.scatter_reduce(0, selected[:, 1], selected[:, 0], "amin")
    is_crossing = torch.zeros(len(bounds), dtype=torch.bool, device=bounds.device)
    for offset in range(1, int((end - start).max())):
        boundary = (start + offset).clamp(max=num_words - 1)
        is_outside = (last_end[boundary] > end) | (first_start[boundary] < start)
        is_crossing |= (start + offset < end) & is_outside
    return ~is_crossing


def greedy_relations(
    bounds: Sequence[Bounds],
    is_selected: Sequence[bool],
    pairs: Sequence[Sequence[int]],
    *,
    nested: bool,
) -> list[int]:
    """Return the indices of the pairs whose two spans are selected or can join, ascending.

    ``pairs`` are indices of ``bounds``, the best pair first. The spans of an accepted pair join the
    set; one that is not selected is supposed to fit the selected spans (``fits_into_set``). Of two
    spans with the same bounds only one can join. O(pairs · widest).
    """
    added: set[int] = set()
    added_at_word: dict[int, list[int]] = {}
    accepted = []
    for row, pair in enumerate(pairs):
        new = [span for span in pair if not is_selected[span] and span not in added]
        words = (word for span in new for word in range(*bounds[span]))
        rivals = {span for word in words for span in added_at_word.get(word, ())}.union(new)
        if any(
            span != rival and _conflicts(bounds[span], bounds[rival], nested=nested)
            for span in new
            for rival in rivals
        ):
            continue
        accepted.append(row)
        added.update(new)
        for span in new:
            for word in range(*bounds[span]):
                added_at_word.setdefault(word, []).append(span)
    return accepted


def _conflicts(span: Bounds, other: Bounds, *, nested: bool) -> bool:
    """Return whether two spans cannot be in one set."""
    (start, end), (other_start, other_end) = span, other
    if end <= other_start or other_end <= start:
        return False
    is_inside = other_start <= start and end <= other_end
    is_around = start <= other_start and other_end <= end
    return span == other or not (nested and (is_inside or is_around))
