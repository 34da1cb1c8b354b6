"""Decode answers of extractive QA: the n best spans by the scores of their first and last word."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from spanloom.decoding.span_selection import Bounds

Answer = tuple[int, int, float]


def best_answer_spans(
    start: Float[np.ndarray, " n"],
    end: Float[np.ndarray, " n"],
    max_width: int,
    allowed: Sequence[Bounds] | None = None,
    k: int = 1,
) -> list[Answer]:
    """Return the ``k`` best spans as (start, end, score), best first; fewer if there are fewer.

    ``start[i]`` and ``end[i]`` are the scores of word ``i`` as first and as last word; the returned
    bounds are ``[start, end)``. A span has up to ``max_width`` words and lies inside one of the
    ``allowed`` regions, if any are given. Of equal scores the span that starts first comes first,
    then the narrower one. A score of minus infinity forbids. O(n · max_width).
    """
    n = len(start)
    max_width = min(max_width, n)
    if max_width < 1 or k < 1:
        return []
    padded_end = np.concatenate([end, np.full(max_width - 1, -np.inf, dtype=end.dtype)])
    sums = start[:, None] + np.lib.stride_tricks.sliding_window_view(padded_end, max_width)
    if allowed is not None:
        sums = np.where(_allowed_mask(n, max_width, allowed), sums, -np.inf)
    return [
        (cell // max_width, cell // max_width + cell % max_width + 1, float(sums.flat[cell]))
        for cell in _top_k(sums.ravel(), k)
    ]


def _allowed_mask(
    n: int, max_width: int, allowed: Sequence[Bounds]
) -> Bool[np.ndarray, "n max_width"]:
    """Return which spans, by first word and width, lie inside a region."""
    latest_end = np.zeros(n, dtype=np.intp)
    for start, end in allowed:
        np.maximum(latest_end[start:end], end, out=latest_end[start:end])
    ends = np.arange(n)[:, None] + np.arange(1, max_width + 1)
    return ends <= latest_end[:, None]


def _top_k(values: Float[np.ndarray, " m"], k: int) -> list[int]:
    """Return the indices of the ``k`` largest finite values, descending; ties by index."""
    threshold = np.partition(values, -k)[-k] if k < len(values) else -np.inf
    indices = np.flatnonzero((values >= threshold) & (values > -np.inf))
    ranked: list[int] = indices[np.argsort(-values[indices], kind="stable")][:k].tolist()
    return ranked
