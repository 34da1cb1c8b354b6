"""Answers within a text: the best spans by the scores of their first and of their last word."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from spanloom.structs.selection import Bounds

Answer = tuple[int, int, float]


def best(
    start: Float[np.ndarray, " n"],
    end: Float[np.ndarray, " n"],
    widest: int,
    allowed: Sequence[Bounds] | None = None,
    k: int = 1,
) -> list[Answer]:
    """Return the ``k`` best spans as (start, end, score), the best first; fewer if there are fewer.

    ``end[i]`` is that word ``i`` is the last; the bounds that come back are ``[start, end)``. A
    span has up to ``widest`` words and lies inside one of the ``allowed`` regions, if any are
    given. Of equal scores the span that starts first, then the narrower one. A score of minus
    infinity forbids. O(n · widest).
    """
    n = len(start)
    widest = min(widest, n)
    if widest < 1 or k < 1:
        return []
    last = np.concatenate([end, np.full(widest - 1, -np.inf, dtype=end.dtype)])
    sums = start[:, None] + np.lib.stride_tricks.sliding_window_view(last, widest)
    if allowed is not None:
        sums = np.where(_inside(n, widest, allowed), sums, -np.inf)
    return [
        (row // widest, row // widest + row % widest + 1, float(sums.flat[row]))
        for row in _largest(sums.ravel(), k)
    ]


def _inside(n: int, widest: int, allowed: Sequence[Bounds]) -> Bool[np.ndarray, "n widest"]:
    """Which spans, by first word and width, end no later than some region of their first word."""
    reach = np.zeros(n, dtype=np.intp)
    for first, after in allowed:
        np.maximum(reach[first:after], after, out=reach[first:after])
    ends = np.arange(n)[:, None] + np.arange(1, widest + 1)
    return ends <= reach[:, None]


def _largest(values: Float[np.ndarray, " m"], k: int) -> list[int]:
    """Rows of the ``k`` largest finite values, descending, of equal ones the first."""
    least = np.partition(values, -k)[-k] if k < len(values) else -np.inf
    rows = np.flatnonzero((values >= least) & (values > -np.inf))
    ranked: list[int] = rows[np.argsort(-values[rows], kind="stable")][:k].tolist()
    return ranked
