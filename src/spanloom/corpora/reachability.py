"""Decide which gold spans and relations a model can predict, and why it misses the others.

A span model predicts spans of whole words inside one sentence (of a sentence read in parts:
inside one part), up to a width, with one label per span; flat: no two overlap; nested: no two
cross. It predicts one label per ordered pair of different spans of one sentence or part. Options
of a task and its kind widen this (``ModelLimits``): several labels on a span, in sets that train
has; spans with gaps, as fragments; relations across sentences, up to a distance. Items are compared
as they are scored: duplicates count once, relations by the bounds of their ends.

An interval is ``[start, end)`` with ``start < end``. Two intervals cross if they overlap and
neither contains the other; equal intervals do not cross.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import chain

from spanloom.annotation import fragments
from spanloom.annotation.word_index import WordIndex, WordSpan
from spanloom.document import Fragment, Relation, Span
from spanloom.metrics import spans as span_metric
from spanloom.metrics.counts import Key
from spanloom.metrics.spans import bounds
from spanloom.tokenization import Split

Ends = tuple[Fragment, ...]
Interval = tuple[int, int]
LabelSets = frozenset[frozenset[str]]  # sets of labels on the same characters
RELATION_HORIZON = 100  # words between the starts of two spans where relations cross sentences


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
    SET = "labels on the same bounds that train does not have together"
    SHARED = "fragments that several spans have cannot be told apart"
    OVERLAP = "overlaps spans that are kept (flat)"
    CROSSING = "crosses spans that are kept"
    NO_SPAN = "an end is no span of this layer"
    END = "an end is out of reach"
    SELF = "from a span to itself"
    APART = "ends in different sentences"
    APART_PARTS = "ends in different parts of a long sentence"
    FAR = "ends farther apart than the model looks"
    PAIR = "another label on the same ordered pair"
    HEAD = "another head of the same span"


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Limits of what a model can predict. ``width`` is in words, None for any width.

    ``relation_horizon`` is the largest distance, in words, of the starts of two spans of a relation
    across sentences; None if there is none across. With ``document_relations`` no distance is too
    large. Without ``several_heads`` a span is the tail of one relation at most. ``kinds`` are those
    of the tasks that have these limits.
    """

    split: Split
    width: int | None = None
    nested: bool = False
    overlapping: bool = False
    across_sentences: bool = False
    multi_label: bool = False
    discontinuous: bool = False
    relation_horizon: int | None = None
    document_relations: bool = False
    several_events: bool = False
    self_pairs: bool = False
    several_heads: bool = True
    kinds: tuple[str, ...] = ()


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
    label_sets: LabelSets | None = None,
) -> list[Reachability]:
    """Return a verdict for each span of one text, duplicates merged, in their order.

    ``labels`` and ``label_sets`` are those a model knows, None for all. The first of several labels
    on the same bounds counts, or as many as train has together. Of spans that overlap or cross, as
    many as possible count.
    """
    items: dict[Key, Span] = {}
    for span in spans:
        (key,) = span_metric.keys([span])
        items.setdefault(key, span)
    word_spans = {key: _word_spans(span, word_index, limits) for key, span in items.items()}
    reasons = {
        key: _span_reason(span, word_spans[key], limits, labels) for key, span in items.items()
    }
    for key, parts in word_spans.items():
        if limits.across_sentences or reasons[key] not in (None, Reason.WIDE, Reason.LABEL):
            continue
        if word_index.in_different_parts(parts[0].first, parts[-1].end - 1):
            reasons[key] = Reason.PARTS
    if limits.discontinuous:
        shared = fragments.losses(list(items.values()))
        for key in [key for key, span in items.items() if span.id in shared]:
            reasons[key] = reasons[key] or Reason.SHARED
    if not limits.multi_label:
        _refuse_second_labels(reasons)
    elif label_sets is not None:
        _refuse_unknown_sets(reasons, label_sets)
    if not limits.overlapping:
        _refuse_rivals(reasons, word_spans, limits)
    return [Reachability(span, reasons[key]) for key, span in items.items()]


def _word_spans(span: Span, word_index: WordIndex, limits: ModelLimits) -> Sequence[WordSpan]:
    """Return the words of what is learnt of a span: the whole, or its fragments."""
    if not limits.discontinuous or len(span.fragments) == 1:
        return (word_index.locate(span),)
    return [
        word_index.locate(replace(span, fragments=(fragment,)))
        for fragment in sorted(span.fragments)
    ]


def _span_reason(
    span: Span,
    word_spans: Sequence[WordSpan],
    limits: ModelLimits,
    labels: frozenset[str] | None,
) -> Reason | None:
    """Return why a span cannot be predicted, regardless of the other spans."""
    if span.start == span.end:
        return Reason.ZERO
    if len(span.fragments) > len(word_spans):
        return Reason.GAPS
    if not all(part.aligned for part in word_spans):
        return Reason.BORDERS
    is_across = word_spans[0].sentence != word_spans[-1].last_sentence
    if is_across and not limits.across_sentences:
        return Reason.SENTENCES
    if limits.width is not None and any(part.width > limits.width for part in word_spans):
        return Reason.WIDE
    return Reason.LABEL if labels is not None and span.label not in labels else None


def _refuse_second_labels(reasons: dict[Key, Reason | None]) -> None:
    """Mark all but the first label on the same bounds as out of reach."""
    labelled_bounds: set[object] = set()
    for key, reason in reasons.items():
        if reason is None and key[1] in labelled_bounds:
            reasons[key] = Reason.SECOND
        elif reason is None:
            labelled_bounds.add(key[1])


def _refuse_unknown_sets(reasons: dict[Key, Reason | None], label_sets: LabelSets) -> None:
    """Mark labels beyond the largest set of those on the same bounds that train has."""
    labels_at: dict[object, set[str]] = {}
    for key, reason in reasons.items():
        if reason is None:
            labels_at.setdefault(key[1], set()).add(key[0])
    for place, labels in labels_at.items():
        subsets = [known for known in label_sets if known <= labels] if len(labels) > 1 else []
        best = max(subsets, key=lambda known: (len(known), sorted(known)), default=labels)
        for label in labels - best:
            reasons[label, place] = Reason.SET


def _refuse_rivals(
    reasons: dict[Key, Reason | None],
    word_spans: Mapping[Key, Sequence[WordSpan]],
    limits: ModelLimits,
) -> None:
    """Mark spans that overlap or cross those of a largest set that does not."""
    candidates = {
        key: [(part.first, part.end) for part in word_spans[key]]
        for key, reason in reasons.items()
        if reason is None
    }
    select, rival = (laminar, Reason.CROSSING) if limits.nested else (disjoint, Reason.OVERLAP)
    selected = select(chain.from_iterable(candidates.values()))
    for key, intervals in candidates.items():
        if not selected.issuperset(intervals):
            reasons[key] = rival


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
    tails: set[object] = set()
    for relation in relations:
        pair = tuple(_end_key(end, spans_by_id) for end in (relation.head, relation.tail))
        if (relation.label, pair) in verdicts:
            continue
        reason = _relation_reason(relation, spans_by_id, reachable_bounds, word_index, limits)
        if reason is None and labels is not None and relation.label not in labels:
            reason = Reason.LABEL
        if reason is None and pair in labelled_pairs:
            reason = Reason.PAIR
        if reason is None and pair[1] in tails and not limits.several_heads:
            reason = Reason.HEAD
        if reason is None:
            labelled_pairs.add(pair)
            tails.add(pair[1])
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
    return _distance_reason(word_index.locate(head), word_index.locate(tail), word_index, limits)


def _distance_reason(
    head: WordSpan, tail: WordSpan, word_index: WordIndex, limits: ModelLimits
) -> Reason | None:
    """Return why two spans are too far apart to be related."""
    if limits.document_relations:
        return None
    first, last = sorted((head.first, tail.first))
    if limits.relation_horizon is not None:
        return Reason.FAR if last - first > limits.relation_horizon else None
    if head.sentence != tail.sentence:
        return Reason.APART
    return Reason.APART_PARTS if word_index.in_different_parts(first, last) else None


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
