"""Decide whether the spans of a corpus nest, or only a stray few overlap."""

from collections.abc import Iterable

Bounds = tuple[int, int]

# A corpus is nested if more than this share of its spans overlap an earlier one. Decoding WLP as
# nested because of 2 of its 35,000 spans costs 0.3 points of span F1 and 0.4 of relation F1 (dev).
NESTED = 0.01


def has_nesting(texts: Iterable[Iterable[Bounds]]) -> bool:
    """Return whether more than a hundredth of the spans start before an earlier one has ended.

    ``texts`` holds the bounds of each text's spans, in any order; equal bounds count once.
    """
    overlapping = total = 0
    for bounds in texts:
        max_end = 0
        for start, end in sorted(set(bounds)):
            overlapping += start < max_end
            total += 1
            max_end = max(max_end, end)
    return overlapping > NESTED * total
