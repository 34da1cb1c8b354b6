"""Constituency trees over all spans of a sentence.

``gains[start, end]`` says how far the best label of the span ``[start, end)`` is ahead of "none";
cells with ``end <= start`` are not read. A tree is a set of spans that do not cross. It always
holds the whole sentence, whatever that gains, and else no span that gains nothing: a node may have
any number of children, and the binary brackets between them are left out. Spans come by start, of
equal starts the outer one first.
"""

import numpy as np
from jaxtyping import Float

from spanloom.structs.selection import Bounds, laminar


def best(gains: Float[np.ndarray, "n n+1"]) -> list[Bounds]:
    """Return the spans of the tree with the largest sum of gains.

    Exact, O(n³) at most. The whole sentence crosses nothing, so the other spans are chosen as if it
    were not there; where few of them gain anything, the chart of ``laminar`` is small.
    """
    n = len(gains)
    bounds = [(a, b) for a, b in np.argwhere(gains > 0).tolist() if 0 < b - a < n]
    kept = [bounds[row] for row in laminar(bounds, [float(gains[each]) for each in bounds])]
    return _outer_first([*kept, (0, n)] if n else [])


def top_down(gains: Float[np.ndarray, "n n+1"]) -> list[Bounds]:
    """Return the spans of the tree that greedy search finds from the whole sentence downwards.

    Each span is divided where its two parts gain most by themselves, "none" counting as no gain;
    of equal places the first (Stern et al. 2017, as SpanRel does by its section 3).
    """
    n = len(gains)
    worth = np.maximum(gains, 0)
    kept, todo = [], [(0, n)] if n else []
    while todo:
        start, end = todo.pop()
        if gains[start, end] > 0 or end - start == n:
            kept.append((start, end))
        if end - start > 1:
            parts = worth[start, start + 1 : end] + worth[start + 1 : end, end]
            middle = start + 1 + int(parts.argmax())
            todo += [(start, middle), (middle, end)]
    return _outer_first(kept)


def _outer_first(spans: list[Bounds]) -> list[Bounds]:
    return sorted(spans, key=lambda span: (span[0], -span[1]))
