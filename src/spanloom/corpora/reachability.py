"""Decide which gold spans and relations a model can predict, and why it misses the others.

A span model predicts spans of whole words inside one sentence (of a sentence read in parts:
inside one part), up to a width, with one label per span; flat: no two overlap; nested: no two
cross. It predicts one label per ordered pair of different spans of one sentence or part. Items
are compared as they are scored: duplicates count once, relations by the bounds of their ends.

An interval is ``[start, end)`` with ``start < end``. Two intervals cross if they overlap and
neither contains the other; equal intervals do not cross.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush

from spanloom.annotation.word_index import WordIndex, WordSpan
from spanloom.document import Fragment, Relation, Span
from spanloom.metrics import spans as span_metric
from spanloom.metrics.counts import Key
from spanloom.metrics.spans import bounds
from spanloom.tokenization import Tokenization

Ends = tuple[Fragment, ...]
Interval = tuple[int, int]


class Reason(StrEnum):
    """Why an item cannot be predicted; the first that applies, in this order."""

    ZERO = "zero width"
    GAPS = "discontinuous"
    BORDERS = "off word borders"
    SENTENCES = "across sentences"
    PARTS = "across parts of a long sentence"
    WIDE = "wider than the model looks"
    LABEL = "label not in train"
    SECOND = "another label on the same bounds"
    OVERLAP = "overlaps spans that are kept (flat)"
    CROSSING = "crosses spans that are kept"
    NO_SPAN = "an end is no span of this layer"
    END = "an end is out of reach"
    SELF = "from a span to itself"
    APART = "ends in different sentences"
    APART_PARTS = "ends in different parts of a long sentence"
    PAIR = "another label on the same ordered pair"


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Limits of what a model can predict. ``width`` is in words, None for any width."""

    split: Callable[[str], Tokenization]
    width: int | None = None
    nested: bool = False
    one_label_a_span: bool = True
    self_pairs: bool = False


@dataclass(frozen=True, slots=True)
class Reachability:
    """Whether a gold item can be predicted; ``reason`` is None if so."""

    item: Span | Relation
    reason: Reason | None


def span_verdicts(
    spans: Iterable[Span],
    word_index: WordIndex,
    limits: ModelLimits,
    labels: frozenset[str] | None = None,
) -> list[Reachability]:
    """Return a verdict for each span of one text, duplicates merged, in their order.

    ``labels`` are those a model knows, None for all. The first of several labels on the same bounds
    counts. Of spans that overlap or cross, as many as possible count.
    """
    items: dict[Key, Span] = {}
    for span in spans:
        (key,) = span_metric.keys([span])
        items.setdefault(key, span)
    word_spans = {key: word_index.locate(span) for key, span in items.items()}
    reasons = {
        key: _span_reason(span, word_spans[key], limits, labels) for key, span in items.items()
    }
    for key, word_span in word_spans.items():
        if reasons[key] in (None, Reason.WIDE, Reason.LABEL) and word_index.in_different_parts(
            word_span.first, word_span.end - 1
        ):
            reasons[key] = Reason.PARTS
    _refuse_second_labels(reasons, limits)
    candidates = {
        key: (word_spans[key].first, word_spans[key].end) for key in items if reasons[key] is None
    }
    select, reason = (laminar, Reason.CROSSING) if limits.nested else (disjoint, Reason.OVERLAP)
    selected = select(candidates.values())
    reasons.update(
        {key: reason for key, word_span in candidates.items() if word_span not in selected}
    )
    return [Reachability(span, reasons[key]) for key, span in items.items()]


def _span_reason(
    span: Span, word_span: WordSpan, limits: ModelLimits, labels: frozenset[str] | None
) -> Reason | None:
    """Return why a span cannot be predicted, regardless of the other spans."""
    if span.start == span.end:
        return Reason.ZERO
    if len(span.fragments) > 1:
        return Reason.GAPS
    if not word_span.aligned:
        return Reason.BORDERS
    if word_span.sentence != word_span.last_sentence:
        return Reason.SENTENCES
    if limits.width is not None and word_span.width > limits.width:
        return Reason.WIDE
    return Reason.LABEL if labels is not None and span.label not in labels else None


def _refuse_second_labels(reasons: dict[Key, Reason | None], limits: ModelLimits) -> None:
    """Mark all but the first label on the same bounds as out of reach."""
    labelled_bounds: set[object] = set()
    for key, reason in reasons.items():
        if reason is None and limits.one_label_a_span and key[1] in labelled_bounds:
            reasons[key] = Reason.SECOND
        elif reason is None:
            labelled_bounds.add(key[1])


def relation_verdicts(
    relations: Sequence[Relation],
    span_results: Sequence[Reachability],
    spans_by_id: Mapping[str, Span],
    word_index: WordIndex,
    limits: ModelLimits,
    labels: frozenset[str] | None = None,
) -> list[Reachability]:
    """Return verdicts on relations between the spans of a layer, given the verdicts on its spans.

    The score follows from the spans selected there, so where spans overlap it may be slightly below
    the best choice for relations.
    """
    reachable_bounds = {
        bounds(verdict.item)
        for verdict in span_results
        if verdict.reason is None and isinstance(verdict.item, Span)
    }
    verdicts: dict[tuple[str, object], Reachability] = {}
    labelled_pairs: set[object] = set()
    for relation in relations:
        pair = tuple(_end_key(end, spans_by_id) for end in (relation.head, relation.tail))
        if (relation.label, pair) in verdicts:
            continue
        reason = _relation_reason(relation, spans_by_id, reachable_bounds, word_index, limits)
        if reason is None and labels is not None and relation.label not in labels:
            reason = Reason.LABEL
        if reason is None and pair in labelled_pairs:
            reason = Reason.PAIR
        if reason is None:
            labelled_pairs.add(pair)
        verdicts[relation.label, pair] = Reachability(relation, reason)
    return list(verdicts.values())


def _end_key(target: str, spans_by_id: Mapping[str, Span]) -> object:
    """Return what an end is compared by: bounds, or the id if it is no span of the layer."""
    return bounds(spans_by_id[target]) if target in spans_by_id else target


def _relation_reason(
    relation: Relation,
    spans_by_id: Mapping[str, Span],
    reachable_bounds: Set[Ends],
    word_index: WordIndex,
    limits: ModelLimits,
) -> Reason | None:
    """Return why a relation cannot be predicted, regardless of the other relations."""
    head, tail = spans_by_id.get(relation.head), spans_by_id.get(relation.tail)
    if head is None or tail is None:
        return Reason.NO_SPAN
    if not {bounds(head), bounds(tail)} <= reachable_bounds:
        return Reason.END
    if bounds(head) == bounds(tail) and not limits.self_pairs:
        return Reason.SELF
    head_words, tail_words = word_index.locate(head), word_index.locate(tail)
    if head_words.sentence != tail_words.sentence:
        return Reason.APART
    in_two_parts = word_index.in_different_parts(
        min(head_words.first, tail_words.first), max(head_words.first, tail_words.first)
    )
    return Reason.APART_PARTS if in_two_parts else None


def count_nested(intervals: Iterable[Interval]) -> int:
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
        degree, _, interval = heappop(queue)
        if interval in removed or interval in kept or degree > len(crossed_by[interval]):
            continue
        kept.add(interval)
        for rival in sorted(crossed_by[interval] - removed):
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
