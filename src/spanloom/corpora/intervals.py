"""Count nested and crossing intervals, and select disjoint or laminar subsets, by sorted sweeps.

An interval is ``[start, end)`` with ``start < end``. Two intervals cross if they overlap and
neither contains the other; equal intervals do not cross.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

Interval = tuple[int, int]


def nested(intervals: Iterable[Interval]) -> int:
    """Count the distinct intervals that lie inside another one."""
    inside, furthest = 0, -1
    for _, end in sorted(set(intervals), key=lambda interval: (interval[0], -interval[1])):
        inside += end <= furthest
        furthest = max(furthest, end)
    return inside


def crossings(intervals: Iterable[Interval]) -> list[tuple[Interval, Interval]]:
    """Return the pairs of distinct intervals that cross, in O(n log n + pairs) comparisons."""
    return [
        ((open_start, open_end), interval)
        for interval, active, num_crossed in _sweep(intervals)
        for open_end, open_start in active[:num_crossed]
    ]


def crossing_pairs(intervals: Iterable[Interval]) -> int:
    """Count the pairs of distinct intervals that cross, in O(n log n) comparisons."""
    return sum(num_crossed for _, _, num_crossed in _sweep(intervals))


def _sweep(
    intervals: Iterable[Interval],
) -> Iterator[tuple[Interval, Sequence[tuple[int, int]], int]]:
    """Yield each interval, the open ones as (end, start), and how many first of those it crosses.

    Open intervals that end before the new one starts are dropped. Those that end inside the new one
    cross it, because they began before it: of two that start together the longer comes first.
    """
    active: list[tuple[int, int]] = []
    for start, end in sorted(set(intervals), key=lambda interval: (interval[0], -interval[1])):
        del active[: bisect_left(active, (start + 1, -1))]
        yield (start, end), active, bisect_left(active, (end, -1))
        insort(active, (end, start))


def disjoint(intervals: Iterable[Interval]) -> set[Interval]:
    """Return a largest subset without overlaps (earliest end first; Kleinberg and Tardos, 4.1)."""
    kept: set[Interval] = set()
    last_end = -1
    for start, end in sorted(set(intervals), key=lambda interval: (interval[1], -interval[0])):
        if start >= last_end:
            kept.add((start, end))
            last_end = end
    return kept


def laminar(intervals: Iterable[Interval]) -> set[Interval]:
    """Return a large subset without crossings: the interval with the fewest crossings first.

    It is a largest one if the crossings form no cycle, which holds for almost all annotated text;
    otherwise it may be smaller than the largest.
    """
    intervals = set(intervals)
    crossed_by = _neighbors(crossings(intervals))
    queue = [
        (len(crossing), end - start, (start, end)) for (start, end), crossing in crossed_by.items()
    ]
    heapify(queue)
    removed: set[Interval] = set()
    kept: set[Interval] = set()
    while queue:
        degree, _, chosen = heappop(queue)
        if chosen in removed or chosen in kept or degree > len(crossed_by[chosen]):
            continue
        kept.add(chosen)
        for rival in sorted(crossed_by[chosen] - removed):
            removed.add(rival)
            for neighbor in crossed_by[rival] - removed:
                crossed_by[neighbor].discard(rival)
                heappush(queue, (len(crossed_by[neighbor]), neighbor[1] - neighbor[0], neighbor))
    return intervals - removed


def _neighbors(pairs: Sequence[tuple[Interval, Interval]]) -> dict[Interval, set[Interval]]:
    """Return the graph of the pairs: the neighbors of each interval."""
    graph: dict[Interval, set[Interval]] = {}
    for a, b in pairs:
        graph.setdefault(a, set()).add(b)
        graph.setdefault(b, set()).add(a)
    return graph
