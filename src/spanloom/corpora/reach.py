"""Which gold spans and relations a model can give at all, and why not the others.

A model of words gives spans of whole words inside one sentence (of a sentence so long that it is
read in parts, inside one part), up to a width, one label a span; flat: no two overlap; nested: no
two cross. It gives one label for each ordered pair of different spans of one sentence or part.
Items are compared as they are scored: duplicates are one, relations go by the bounds of their ends.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

from spanloom.corpora.shapes import disjoint, laminar
from spanloom.document import Fragment, Relation, Span
from spanloom.forms.grid import Grid, Place
from spanloom.metrics import spans as span_metric
from spanloom.metrics.counts import Key
from spanloom.metrics.spans import bounds
from spanloom.words import Words

Ends = tuple[Fragment, ...]


class Why(StrEnum):
    """Why an item cannot be reached; the first that holds, in this order."""

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
class Reach:
    """What a model can give. ``width`` is in words, None for any width."""

    split: Callable[[str], Words]
    width: int | None = None
    nested: bool = False
    one_label_a_span: bool = True
    one_label_a_pair: bool = True
    self_pairs: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one gold item: why it is out of reach, None where it is not."""

    item: Span | Relation
    why: Why | None


def span_verdicts(
    spans: Iterable[Span], grid: Grid, reach: Reach, labels: frozenset[str] | None = None
) -> list[Verdict]:
    """Judge the spans of one text, duplicates merged, in their order.

    ``labels`` are those a model knows, None for all. Of several labels on the same bounds the first
    is kept. Of spans that overlap or cross as many as possible are kept (see ``shapes``).
    """
    items: dict[Key, Span] = {}
    for span in spans:
        (key,) = span_metric.keys([span])
        items.setdefault(key, span)
    places = {key: grid.place(span) for key, span in items.items()}
    why = {key: _alone(span, places[key], reach, labels) for key, span in items.items()}
    for key, place in places.items():
        if why[key] in (None, Why.WIDE, Why.LABEL) and grid.parted(place.first, place.end - 1):
            why[key] = Why.PARTS
    _one_label(why, reach)
    open_ = {key: (places[key].first, places[key].end) for key in items if why[key] is None}
    choose, lost = (laminar, Why.CROSSING) if reach.nested else (disjoint, Why.OVERLAP)
    kept = choose(open_.values())
    why.update({key: lost for key, place in open_.items() if place not in kept})
    return [Verdict(span, why[key]) for key, span in items.items()]


def _alone(span: Span, place: Place, reach: Reach, labels: frozenset[str] | None) -> Why | None:
    """Why a span is out of reach, whatever the others are."""
    if span.start == span.end:
        return Why.ZERO
    if len(span.fragments) > 1:
        return Why.GAPS
    if not place.fits:
        return Why.BORDERS
    if place.sentence != place.last_sentence:
        return Why.SENTENCES
    if reach.width is not None and place.width > reach.width:
        return Why.WIDE
    return Why.LABEL if labels is not None and span.label not in labels else None


def _one_label(why: dict[Key, Why | None], reach: Reach) -> None:
    """Leave one label on the same bounds."""
    seen: set[object] = set()
    for key, reason in why.items():
        if reason is None and reach.one_label_a_span and key[1] in seen:
            why[key] = Why.SECOND
        elif reason is None:
            seen.add(key[1])


def relation_verdicts(
    relations: Sequence[Relation],
    spans: Sequence[Verdict],
    known: Mapping[str, Span],
    grid: Grid,
    reach: Reach,
    labels: frozenset[str] | None = None,
) -> list[Verdict]:
    """Judge relations between the spans of a layer (``known``, by id), given those spans' verdicts.

    The ceiling follows from the spans that were kept there, so where spans overlap it may be a
    little below the best choice for relations.
    """
    ends = {bounds(each.item) for each in spans if each.why is None and isinstance(each.item, Span)}
    found: dict[tuple[str, object], Verdict] = {}
    taken: set[object] = set()
    for relation in relations:
        pair = tuple(_end(each, known) for each in (relation.head, relation.tail))
        if (relation.label, pair) in found:
            continue
        why = _linked(relation, known, ends, grid, reach)
        if why is None and labels is not None and relation.label not in labels:
            why = Why.LABEL
        if why is None and reach.one_label_a_pair and pair in taken:
            why = Why.PAIR
        if why is None:
            taken.add(pair)
        found[relation.label, pair] = Verdict(relation, why)
    return list(found.values())


def _end(target: str, known: Mapping[str, Span]) -> object:
    """What one end is compared by: bounds, or the id of what is no span here."""
    return bounds(known[target]) if target in known else target


def _linked(
    relation: Relation, known: Mapping[str, Span], ends: Set[Ends], grid: Grid, reach: Reach
) -> Why | None:
    """Why a relation is out of reach, whatever the others are."""
    head, tail = known.get(relation.head), known.get(relation.tail)
    if head is None or tail is None:
        return Why.NO_SPAN
    if not {bounds(head), bounds(tail)} <= ends:
        return Why.END
    if bounds(head) == bounds(tail) and not reach.self_pairs:
        return Why.SELF
    one, two = grid.place(head), grid.place(tail)
    if one.sentence != two.sentence:
        return Why.APART
    parted = grid.parted(min(one.first, two.first), max(one.first, two.first))
    return Why.APART_PARTS if parted else None
