"""Decode constituency trees from the scores of all spans of a sentence.

``margins[start, end]`` is the score of the best label of the span ``[start, end)`` minus that of
"none"; cells with ``end <= start`` are not read. A tree is a set of spans that do not cross. It
always contains the whole sentence, whatever its margin, and otherwise only spans with a positive
margin: a node may have any number of children, and the binary brackets between them are left out.
Trees are returned as spans ordered by start; of equal starts the outer span is first.
"""

import numpy as np
from jaxtyping import Float

from spanloom.decoding.span_selection import Bounds, max_weight_nested


def cky_decode(margins: Float[np.ndarray, "n n+1"]) -> list[Bounds]:
    """Return the spans of the tree with the largest sum of margins.

    Exact, O(n³) at most. The whole sentence crosses nothing, so the other spans are selected
    without it; where few of them have a positive margin, the chart of ``max_weight_nested`` is
    small.
    """
    n = len(margins)
    bounds = [
        (start, end) for start, end in np.argwhere(margins > 0).tolist() if 0 < end - start < n
    ]
    weights = [float(margins[span]) for span in bounds]
    selected = [bounds[i] for i in max_weight_nested(bounds, weights)]
    return _outer_first([*selected, (0, n)] if n else [])


def top_down(margins: Float[np.ndarray, "n n+1"]) -> list[Bounds]:
    """Return the spans of the tree that greedy search finds from the whole sentence downwards.

    Each span is split where its two parts have the largest sum of margins, negative margins counted
    as 0; of equal splits the first (Stern et al. 2017; SpanRel, section 3).
    """
    n = len(margins)
    positive = np.maximum(margins, 0)
    selected, agenda = [], [(0, n)] if n else []
    while agenda:
        start, end = agenda.pop()
        if margins[start, end] > 0 or end - start == n:
            selected.append((start, end))
        if end - start > 1:
            split_scores = positive[start, start + 1 : end] + positive[start + 1 : end, end]
            split = start + 1 + int(split_scores.argmax())
            agenda += [(start, split), (split, end)]
    return _outer_first(selected)


def _outer_first(spans: list[Bounds]) -> list[Bounds]:
    return sorted(spans, key=lambda span: (span[0], -span[1]))
