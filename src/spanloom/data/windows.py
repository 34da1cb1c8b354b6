"""Divide sentences into the windows of an encoder.

Windows are for encoding only; annotation may cross their ends. Whole sentences are packed up to a
number of pieces. A longer sentence is encoded in overlapping windows, and each of its pieces takes
its vector from the window in which it is farthest from an edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Pieces ``[start, end)`` are encoded together; ``[keep_start, keep_end)`` are kept."""

    start: int
    end: int
    keep_start: int
    keep_end: int


def pack(lengths: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Return groups ``[first, last)`` of consecutive sentences with at most ``limit`` pieces.

    ``lengths`` are pieces per sentence. A sentence over the limit is a group of its own.
    """
    groups: list[tuple[int, int]] = []
    first, total = 0, 0
    for i, length in enumerate(lengths):
        if i > first and total + length > limit:
            groups.append((first, i))
            first, total = i, 0
        total += length
    if first < len(lengths):
        groups.append((first, len(lengths)))
    return groups


def strided_windows(length: int, limit: int) -> list[Window]:
    """Return windows of at most ``limit`` pieces, half overlapping, that cover ``length`` pieces.

    Each piece is kept once, in the window whose nearest edge is farthest from it.
    """
    if length <= limit:
        return [Window(0, length, 0, length)]
    stride = max(1, limit // 2)
    starts = [*range(0, length - limit, stride), length - limit]
    borders = [(b + a + limit) // 2 for a, b in zip(starts, starts[1:], strict=False)]
    keep_starts, keep_ends = [0, *borders], [*borders, length]
    return [
        Window(start, start + limit, keep_start, keep_end)
        for start, keep_start, keep_end in zip(starts, keep_starts, keep_ends, strict=True)
    ]
