"""Count matching spans and relations of one text.

Spans match if all fragments and the label do; relations if label, direction and the bounds of both
ends do. With ``typed`` the labels of both ends must match too ("strict"; the former is what
SpanRel, Jiang et al. 2020, reports). Both sides are sets: equal items count once on each side. The
order of fragments, ids and scores are ignored. Events are compared as the relations that
``annotation.events.project`` makes of them.
"""

from collections.abc import Iterable, Mapping

from spanloom.document import Annotation, Fragment, Relation, Span
from spanloom.metrics.counts import Counts, Key, compare_by_label


def bounds(span: Span) -> tuple[Fragment, ...]:
    """Return the fragments in text order, by which spans are compared."""
    return tuple(sorted(span.fragments))


def keys(spans: Iterable[Span]) -> frozenset[Key]:
    """Return (label, fragments) of each span; duplicates are merged."""
    return frozenset((span.label, bounds(span)) for span in spans)


def count_by_label(gold: Iterable[Span], predicted: Iterable[Span]) -> dict[str, Counts]:
    """Count matching spans of one text for each label separately."""
    return compare_by_label(keys(gold), keys(predicted))


Triple = tuple[str, Span, Span]
"""A relation with its spans: label, head, tail."""


def triples(
    relations: Iterable[Relation], annotation_of: Mapping[str, Annotation]
) -> tuple[tuple[Triple, ...], int]:
    """Return relations with their spans, and the number of relations with an end that is no span.

    ``annotation_of`` maps ids to annotations. Relations with such an end cannot be compared by
    bounds and are left out; the caller reports them.
    """
    triples: list[Triple] = []
    num_lost = 0
    for relation in relations:
        head, tail = annotation_of.get(relation.head), annotation_of.get(relation.tail)
        if isinstance(head, Span) and isinstance(tail, Span):
            triples.append((relation.label, head, tail))
        else:
            num_lost += 1
    return tuple(triples), num_lost


def relation_keys(relations: Iterable[Triple], *, typed: bool = False) -> frozenset[Key]:
    """Return label and bounds of both ends of each relation; with ``typed`` their labels too."""
    return frozenset(
        (label, (bounds(head), bounds(tail), *((head.label, tail.label) if typed else ())))
        for label, head, tail in relations
    )


def count_relations_by_label(
    gold: Iterable[Triple], predicted: Iterable[Triple], *, typed: bool = False
) -> dict[str, Counts]:
    """Count matching relations of one text for each label separately."""
    return compare_by_label(relation_keys(gold, typed=typed), relation_keys(predicted, typed=typed))
