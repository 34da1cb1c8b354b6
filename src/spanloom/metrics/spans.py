"""Count matching spans: all fragments and the label must match.

Both sides are sets: spans with the same fragments and label count once on each side. The order of
fragments, ids and scores are ignored.
"""

from collections.abc import Iterable

from spanloom.document import Fragment, Span
from spanloom.metrics.counts import Counts, Key, compare, compare_by_label


def bounds(span: Span) -> tuple[Fragment, ...]:
    """Return the fragments in text order, by which spans are compared."""
    return tuple(sorted(span.fragments))


def keys(spans: Iterable[Span]) -> frozenset[Key]:
    """Return (label, fragments) of each span; duplicates are merged."""
    return frozenset((span.label, bounds(span)) for span in spans)


def count(gold: Iterable[Span], predicted: Iterable[Span]) -> Counts:
    """Count spans of one text whose fragments and label both match."""
    return compare(keys(gold), keys(predicted))


def count_by_label(gold: Iterable[Span], predicted: Iterable[Span]) -> dict[str, Counts]:
    """Count matching spans of one text for each label separately."""
    return compare_by_label(keys(gold), keys(predicted))
