"""Count matching relations: label, direction and the bounds of both ends must match.

With ``typed`` the labels of both ends must match too ("strict"; the former is what SpanRel, Jiang
et al. 2020, reports). Both sides are sets: equal relations count once on each side. Events are
compared as the relations that ``annotation.events.project`` makes of them.
"""

from collections.abc import Iterable, Mapping

from spanloom.document import Annotation, Relation, Span
from spanloom.metrics.counts import Counts, Key, compare, compare_by_label
from spanloom.metrics.spans import bounds

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


def keys(relations: Iterable[Triple], *, typed: bool = False) -> frozenset[Key]:
    """Return label and bounds of both ends of each relation; with ``typed`` their labels too."""
    return frozenset(
        (label, (bounds(head), bounds(tail), *((head.label, tail.label) if typed else ())))
        for label, head, tail in relations
    )


def count(gold: Iterable[Triple], predicted: Iterable[Triple], *, typed: bool = False) -> Counts:
    """Count matching relations of one text."""
    return compare(keys(gold, typed=typed), keys(predicted, typed=typed))


def count_by_label(
    gold: Iterable[Triple], predicted: Iterable[Triple], *, typed: bool = False
) -> dict[str, Counts]:
    """Count matching relations of one text for each label separately."""
    return compare_by_label(keys(gold, typed=typed), keys(predicted, typed=typed))
