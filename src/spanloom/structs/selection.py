"""Choosing spans that fit together: the best set without overlap, and the best without crossing.

Both are exact. Bounds are ``[start, end)``, gains positive (how far a span's best label is ahead of
"none"); spans of zero or negative gain are never worth keeping and are not handed in. Where spans
of negative gain may be of use, as mentions that wait for an antecedent, ``uncrossed`` takes them
greedily, the best first.
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
    spans is solved by itself, as a chart over its distinct ends that is no wider than its widest
    span: O(ends · widest²), and numpy fills the cells of one width together.
    """
    kept: list[int] = []
    for group in _overlapping(bounds):
        kept += group if _fit(group, bounds) else _chart(group, bounds, gains)
    return sorted(kept)


def uncrossed(bounds: Sequence[Bounds], scores: Sequence[float]) -> list[int]:
    """Return the rows that cross no better one which was kept, ascending (Lee et al. 2017).

    Of rows with the same score the first is better. O(n log n + n · widest).
    """
    farthest: dict[int, int] = {}  # start -> the last end of a kept span
    nearest: dict[int, int] = {}  # end -> the first start of a kept span
    kept = []
    for row in sorted(range(len(bounds)), key=lambda row: -scores[row]):
        start, end = bounds[row]
        inside = range(start + 1, end)
        if any(farthest.get(at, 0) > end or nearest.get(at, start) < start for at in inside):
            continue
        kept.append(row)
        farthest[start] = max(end, farthest.get(start, 0))
        nearest[end] = min(start, nearest.get(end, start))
    return sorted(kept)


def _fit(group: list[int], bounds: Sequence[Bounds]) -> bool:
    """Whether no two rows cross or have the same bounds, as where a model is sure of a tree."""
    around: list[Bounds] = []
    for start, end in sorted((bounds[row] for row in group), key=lambda each: (each[0], -each[1])):
        while around and around[-1][1] <= start:
            around.pop()
        if around and (end > around[-1][1] or around[-1] == (start, end)):
            return False
        around.append((start, end))
    return True


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
    kept, open_cells = [], _top(best, len(ends))
    while open_cells:
        i, j = open_cells.pop()
        if best[j - i][i] == 0:
            continue
        if (i, j) in own:
            kept.append(own[i, j])
        if j - i > 1:
            middle = i + int(split[j - i][i])
            open_cells += [(i, middle), (middle, j)]
    return kept


def _fill(
    n: int, gains: dict[Bounds, float]
) -> tuple[list[npt.NDArray[np.float64]], list[npt.NDArray[np.intp]]]:
    """Best sum within each pair of ends, and how far on it divides: by width, then by first end."""
    widest = max(j - i for i, j in gains)
    best = [np.zeros(n - width) for width in range(widest + 1)]
    split = [np.ones(n - width, dtype=np.intp) for width in range(widest + 1)]
    for (i, j), gain in gains.items():
        best[j - i][i] = gain
    for width in range(2, widest + 1):
        inside = best[1][: n - width] + best[width - 1][1:]
        for first in range(2, width):
            sums = best[first][: n - width] + best[width - first][first : first + n - width]
            split[width][sums > inside] = first
            np.maximum(inside, sums, out=inside)
        best[width] += inside
    return best, split


def _top(best: list[npt.NDArray[np.float64]], n: int) -> list[Bounds]:
    """Cells side by side that together have the best sum over all ends."""
    sums, steps = [0.0], [0]
    for j in range(1, n):
        widths = range(1, min(len(best) - 1, j) + 1)
        steps.append(max(widths, key=lambda width: sums[j - width] + best[width][j - width]))
        sums.append(sums[j - steps[j]] + float(best[steps[j]][j - steps[j]]))
    cells = []
    j = n - 1
    while j:
        cells.append((j - steps[j], j))
        j -= steps[j]
    return cells
