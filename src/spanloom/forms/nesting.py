"""Whether the spans of a corpus nest, or only a stray few overlap."""

from collections.abc import Iterable

Bounds = tuple[int, int]

# Share of spans that overlap another one, above which a corpus nests. Decoding WLP as nested for
# the sake of 2 in its 35,000 spans costs 0.3 points of span F1 and 0.4 of relation F1 (dev).
NESTED = 0.01


def nests(texts: Iterable[Iterable[Bounds]]) -> bool:
    """Whether more than a hundredth of the spans start before an earlier one has ended.

    ``texts`` holds the bounds of each text's spans, in any order; equal bounds count once.
    """
    overlapping = total = 0
    for bounds in texts:
        reach = 0
        for start, end in sorted(set(bounds)):
            overlapping += start < reach
            total += 1
            reach = max(reach, end)
    return overlapping > NESTED * total
