"""Select spans by their scores: sets without overlap or crossing, trees, and best answers.

Bounds are ``[start, end)``. ``max_weight_disjoint`` and ``max_weight_nested`` are exact. Their
weights are positive (the score of a span's best label minus that of "none"), so callers leave out
spans of zero or negative weight, which never help. Where spans of negative weight may be of use, as
mentions that wait for an antecedent, ``greedy_non_crossing`` selects spans best first.

Constituency trees are decoded from the margins of all spans of a sentence: ``margins[start, end]``
is the score of the best label of ``[start, end)`` minus that of "none"; cells with ``end <= start``
are not read. A tree is a set of spans that do not cross. It always contains the whole sentence,
whatever its margin, and otherwise only spans with a positive margin: a node may have any number of
children, and the binary brackets between them are left out. Trees are returned as spans ordered by
start; of equal starts the outer span is first.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

Bounds = tuple[int, int]
Answer = tuple[int, int, float]  # start, end, score


def max_weight_disjoint(bounds: Sequence[Bounds], weights: Sequence[float]) -> list[int]:
    """Return the indices of the set without overlap that has the largest total weight, ascending.

    Weighted interval scheduling: O(n log n). Spans of several sentences may be handed in together.
    """
    order = sorted(range(len(bounds)), key=lambda i: bounds[i][1])
    ends = [bounds[i][1] for i in order]
    best = [0.0]  # largest weight of the first spans by end, 0 of them, 1, …
    num_before = []  # for each span, how many spans end before it starts
    for rank, i in enumerate(order):
        num_before.append(bisect_right(ends, bounds[i][0], hi=rank))
        best.append(max(best[rank], best[num_before[rank]] + weights[i]))
    selected = []
    remaining = len(order)
    while remaining:
        if best[remaining] > best[remaining - 1]:
            selected.append(order[remaining - 1])
            remaining = num_before[remaining - 1]
        else:
            remaining -= 1
    return sorted(selected)


def max_weight_nested(bounds: Sequence[Bounds], weights: Sequence[float]) -> list[int]:
    """Return the indices of the set without crossing that has the largest total weight, ascending.

    Spans may nest. Of spans with the same bounds only the best is selected. Each group of
    overlapping spans is solved by itself, by a chart over the distinct boundaries of its spans that
    is no wider than the widest span: O(boundaries · widest²). Numpy fills the cells of one width
    together.
    """
    selected: list[int] = []
    for group in _overlapping_groups(bounds):
        is_nested = _is_nested(group, bounds)
        selected += group if is_nested else _chart_decode(group, bounds, weights)
    return sorted(selected)


def greedy_non_crossing(bounds: Sequence[Bounds], scores: Sequence[float]) -> list[int]:
    """Return the indices of spans that cross no better selected span, ascending (Lee et al. 2017).

    Of spans with the same score the first is better. O(n log n + n · widest).
    """
    last_end: dict[int, int] = {}  # start -> the last end of a selected span
    first_start: dict[int, int] = {}  # end -> the first start of a selected span
    selected = []
    for i in sorted(range(len(bounds)), key=lambda i: -scores[i]):
        start, end = bounds[i]
        if any(
            last_end.get(boundary, 0) > end or first_start.get(boundary, start) < start
            for boundary in range(start + 1, end)
        ):
            continue
        selected.append(i)
        last_end[start] = max(end, last_end.get(start, 0))
        first_start[end] = min(start, first_start.get(end, start))
    return sorted(selected)


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


def best_answer_span(
    start: Float[np.ndarray, " n"], end: Float[np.ndarray, " n"], max_width: int
) -> Answer | None:
    """Return the span with the largest sum of its ends' scores; None if all are forbidden.

    ``start[i]`` and ``end[i]`` are the scores of word ``i`` as first and as last word; a score of
    minus infinity forbids. A span has up to ``max_width`` words. Of equal scores the span that
    starts first is returned, then the narrower one. O(n · max_width).
    """
    max_width = min(max_width, len(start))
    if max_width < 1:
        return None
    padded_end = np.concatenate([end, np.full(max_width - 1, -np.inf, dtype=end.dtype)])
    sums = start[:, None] + np.lib.stride_tricks.sliding_window_view(padded_end, max_width)
    first, extra_words = divmod(int(sums.argmax()), max_width)
    score = float(sums[first, extra_words])
    return (first, first + extra_words + 1, score) if score > -np.inf else None


def best_independent_ends(
    start: Float[np.ndarray, " n"], end: Float[np.ndarray, " n"], max_width: int
) -> Answer | None:
    """Return the span from the best first to the best last word, each chosen by itself.

    None if that is no span of up to ``max_width`` words (SpEx-BERT, equation 7). Of equal scores
    the first word is the best.
    """
    if not len(start):
        return None
    first, last = int(start.argmax()), int(end.argmax())
    score = float(start[first] + end[last])
    is_span = 0 <= last - first < max_width and score > -np.inf
    return (first, last + 1, score) if is_span else None


def _is_nested(group: list[int], bounds: Sequence[Bounds]) -> bool:
    """Return whether no two spans cross or have the same bounds, so that all may be selected."""
    enclosing: list[Bounds] = []
    for start, end in sorted((bounds[i] for i in group), key=lambda span: (span[0], -span[1])):
        while enclosing and enclosing[-1][1] <= start:
            enclosing.pop()
        if enclosing and (end > enclosing[-1][1] or enclosing[-1] == (start, end)):
            return False
        enclosing.append((start, end))
    return True


def _overlapping_groups(bounds: Sequence[Bounds]) -> list[list[int]]:
    """Group the indices of spans such that spans of different groups do not overlap."""
    groups: list[list[int]] = []
    group_end = -1
    for i in sorted(range(len(bounds)), key=lambda i: bounds[i]):
        if bounds[i][0] >= group_end:
            groups.append([])
        groups[-1].append(i)
        group_end = max(group_end, bounds[i][1])
    return groups


def _chart_decode(
    group: list[int], bounds: Sequence[Bounds], weights: Sequence[float]
) -> list[int]:
    """Return the indices of the group's set without crossing that has the largest total weight."""
    boundaries = sorted({boundary for i in group for boundary in bounds[i]})
    span_at: dict[Bounds, int] = {}
    for i in group:
        cell = bisect_left(boundaries, bounds[i][0]), bisect_left(boundaries, bounds[i][1])
        if cell not in span_at or weights[i] > weights[span_at[cell]]:
            span_at[cell] = i
    best, split = _fill_chart(len(boundaries), {cell: weights[i] for cell, i in span_at.items()})
    selected, agenda = [], _top_cells(best)
    while agenda:
        start, end = agenda.pop()
        if best[end - start, end] == 0:
            continue
        if (start, end) in span_at:
            selected.append(span_at[start, end])
        if end - start > 1:
            middle = start + int(split[end - start, end])
            agenda += [(start, middle), (middle, end)]
    return selected


def _fill_chart(
    n: int, weights: dict[Bounds, float]
) -> tuple[Float[np.ndarray, "width n"], Int[np.ndarray, "width n"]]:
    """Return the largest weight inside each cell, and the width of the first part of its split.

    A cell is a pair of the ``n`` boundaries; both have a row for each width, from 0, and a column
    for each end. The weights are kept by start, too, so that the sums of all splits of all cells of
    one width are those of two blocks.
    """
    max_width = max(end - start for start, end in weights)
    by_start, by_end = np.zeros((2, max_width + 1, n))
    split = np.ones((max_width + 1, n), dtype=np.intp)
    for (start, end), weight in weights.items():
        by_end[end - start, end] = weight
    by_start[1, : n - 1] = by_end[1, 1:]
    for width in range(2, max_width + 1):
        sums = by_start[1:width, : n - width] + by_end[width - 1 : 0 : -1, width:]
        split[width, width:] = 1 + sums.argmax(axis=0)  # of equal sums the first
        by_end[width, width:] += sums.max(axis=0)
        by_start[width, : n - width] = by_end[width, width:]
    return by_end, split


def _top_cells(best: Float[np.ndarray, "width n"]) -> list[Bounds]:
    """Return the adjacent cells that cover all boundaries with the largest total weight.

    ``best`` is the largest weight inside each cell, by width and end.
    """
    max_width, n = len(best) - 1, best.shape[1]
    sums, widths = np.zeros(n), [0]
    for end in range(1, n):
        num_widths = min(max_width, end)
        before = sums[end - num_widths : end][::-1]
        totals = before + best[1 : num_widths + 1, end]
        widths.append(1 + int(totals.argmax()))
        sums[end] = totals.max()
    cells = []
    end = n - 1
    while end:
        cells.append((end - widths[end], end))
        end -= widths[end]
    return cells


def _outer_first(spans: list[Bounds]) -> list[Bounds]:
    return sorted(spans, key=lambda span: (span[0], -span[1]))
