"""Which stretches of text an encoder reads at once. Plain integers in, plain integers out.

Windows are for encoding only: no annotation is cut at their ends. Whole sentences are packed up to
a number of pieces; a sentence longer than that is read in overlapping windows, and each of its
pieces takes its vector from the window in which it stands farthest from an edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Pieces ``[start, end)`` go through the encoder together; of those, ``[keep, stop)`` count."""

    start: int
    end: int
    keep_start: int
    keep_end: int


def pack(lengths: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Group consecutive sentences so that each group has at most ``limit`` pieces.

    ``lengths`` are pieces a sentence. A sentence over the limit stands alone.
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
    """Cover ``length`` pieces with windows of at most ``limit`` that overlap by half.

    Every piece is kept exactly once, in the window whose nearer edge is farthest from it.
    """
    if length <= limit:
        return [Window(0, length, 0, length)]
    stride = max(1, limit // 2)
    starts = [*range(0, length - limit, stride), length - limit]
    cuts = [(b + a + limit) // 2 for a, b in zip(starts, starts[1:], strict=False)]
    keeps, stops = [0, *cuts], [*cuts, length]
    return [
        Window(start, start + limit, keep, stop)
        for start, keep, stop in zip(starts, keeps, stops, strict=True)
    ]
