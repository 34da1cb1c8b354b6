"""How intervals lie to each other, in sorted sweeps: nested, crossing, equal; and what can be kept.

An interval is ``[start, end)`` with ``start < end``. Two of them cross where they overlap and
neither holds the other; equal ones do not cross.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

Interval = tuple[int, int]


def nested(intervals: Iterable[Interval]) -> int:
    """Count the distinct intervals that lie inside another one."""
    inside, furthest = 0, -1
    for _, end in sorted(set(intervals), key=lambda each: (each[0], -each[1])):
        inside += end <= furthest
        furthest = max(furthest, end)
    return inside


def crossings(intervals: Iterable[Interval]) -> list[tuple[Interval, Interval]]:
    """Return the pairs of distinct intervals that cross, in O(n log n + pairs) comparisons."""
    return [
        ((other_start, other_end), new)
        for new, active, size in _sweep(intervals)
        for other_end, other_start in active[:size]
    ]


def crossing_pairs(intervals: Iterable[Interval]) -> int:
    """Count the pairs of distinct intervals that cross, in O(n log n) comparisons."""
    return sum(size for _, _, size in _sweep(intervals))


def _sweep(
    intervals: Iterable[Interval],
) -> Iterator[tuple[Interval, Sequence[tuple[int, int]], int]]:
    """Give each interval, the open ones as (end, start), and how many first of those it crosses.

    Open ones that end before the new one starts are gone for good; those that end inside the new
    one cross it, because they began before it: of two that start together the longer comes first.
    """
    active: list[tuple[int, int]] = []
    for start, end in sorted(set(intervals), key=lambda each: (each[0], -each[1])):
        del active[: bisect_left(active, (start + 1, -1))]
        yield (start, end), active, bisect_left(active, (end, -1))
        insort(active, (end, start))


def disjoint(intervals: Iterable[Interval]) -> set[Interval]:
    """Return a largest subset without overlaps (earliest end first; Kleinberg and Tardos, 4.1)."""
    kept: set[Interval] = set()
    free = -1
    for start, end in sorted(set(intervals), key=lambda each: (each[1], -each[0])):
        if start >= free:
            kept.add((start, end))
            free = end
    return kept


def laminar(intervals: Iterable[Interval]) -> set[Interval]:
    """Return a large subset without crossings: the interval with the fewest crossings first.

    It is a largest one wherever the crossings form no circle, which in annotated text is all but
    always; otherwise it may be smaller than the largest.
    """
    intervals = set(intervals)
    rivals = _neighbours(crossings(intervals))
    waiting = [(len(others), end - start, (start, end)) for (start, end), others in rivals.items()]
    heapify(waiting)
    gone: set[Interval] = set()
    done: set[Interval] = set()
    while waiting:
        degree, _, best = heappop(waiting)
        if best in gone or best in done or degree > len(rivals[best]):
            continue
        done.add(best)
        for loser in sorted(rivals[best] - gone):
            gone.add(loser)
            for friend in rivals[loser] - gone:
                rivals[friend].discard(loser)
                heappush(waiting, (len(rivals[friend]), friend[1] - friend[0], friend))
    return intervals - gone


def _neighbours(pairs: Sequence[tuple[Interval, Interval]]) -> dict[Interval, set[Interval]]:
    """Pairs as a graph."""
    graph: dict[Interval, set[Interval]] = {}
    for one, other in pairs:
        graph.setdefault(one, set()).add(other)
        graph.setdefault(other, set()).add(one)
    return graph
