"""Choosing spans that fit together: the best set without overlap, and the best without crossing.

Both are exact. Bounds are ``[start, end)``, gains positive (how far a span's best label is ahead of
"none"); spans of zero or negative gain are never worth keeping and are not handed in.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Bounds = tuple[int, int]


def disjoint(bounds: Sequence[Bounds], gains: Sequence[float]) -> list[int]:
    """Return the rows of the set without overlap that has the largest sum of gains, ascending.

    Weighted interval scheduling: O(n log n). Spans of several sentences may be handed in together.
    """
    order = sorted(range(len(bounds)), key=lambda i: bounds[i][1])
    ends = [bounds[i][1] for i in order]
    best = [0.0]
    before = []
    for place, i in enumerate(order):
        before.append(bisect_right(ends, bounds[i][0], hi=place))
        best.append(max(best[place], best[before[place]] + gains[i]))
    kept = []
    place = len(order)
    while place:
        if best[place] > best[place - 1]:
            kept.append(order[place - 1])
            place = before[place - 1]
        else:
            place -= 1
    return sorted(kept)


def laminar(bounds: Sequence[Bounds], gains: Sequence[float]) -> list[int]:
    """Return the rows of the set without crossing that has the largest sum of gains, ascending.

    Spans may nest. Of rows with the same bounds one is kept, the best. Each group of overlapping
    spans is solved by itself as a chart over its distinct ends: O(ends³), numpy in the inner loop.
    """
    kept: list[int] = []
    for group in _overlapping(bounds):
        kept += [group[0]] if len(group) == 1 else _chart(group, bounds, gains)
    return sorted(kept)


def _overlapping(bounds: Sequence[Bounds]) -> list[list[int]]:
    """Group rows into runs that no gap divides."""
    groups: list[list[int]] = []
    reach = -1
    for i in sorted(range(len(bounds)), key=lambda i: bounds[i]):
        if bounds[i][0] >= reach:
            groups.append([])
        groups[-1].append(i)
        reach = max(reach, bounds[i][1])
    return groups


def _chart(group: list[int], bounds: Sequence[Bounds], gains: Sequence[float]) -> list[int]:
    ends = sorted({end for i in group for end in bounds[i]})
    own: dict[Bounds, int] = {}
    for i in group:
        cell = bisect_left(ends, bounds[i][0]), bisect_left(ends, bounds[i][1])
        if cell not in own or gains[i] > gains[own[cell]]:
            own[cell] = i
    best, split = _fill(len(ends), {cell: gains[i] for cell, i in own.items()})
    kept, open_cells = [], [(0, len(ends) - 1)]
    while open_cells:
        i, j = open_cells.pop()
        if best[i, j] == 0:
            continue
        if (i, j) in own:
            kept.append(own[i, j])
        if j - i > 1:
            open_cells += [(i, split[i, j]), (split[i, j], j)]
    return kept


def _fill(
    n: int, gains: dict[Bounds, float]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Best sum within each pair of ends, and where it divides."""
    best = np.zeros((n, n))
    split = np.zeros((n, n), dtype=np.intp)
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            if width > 1:
                sums = best[i, i + 1 : j] + best[i + 1 : j, j]
                split[i, j] = i + 1 + int(sums.argmax())
                best[i, j] = sums.max()
            best[i, j] += gains.get((i, j), 0.0)
    return best, split
