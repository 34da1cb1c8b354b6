"""Relation scores: a relation is right when its label, its direction and both ends' bounds are.

With ``typed`` the labels of both ends must match too ("strict"; the first is what SpanRel, Jiang
et al. 2020, reports). Both sides are sets: relations that compare equal count once on each side.
Events take part as ``spanloom.forms.events.project`` makes relations of them.
"""

from collections.abc import Iterable, Mapping

from spanloom.document import Annotation, Relation, Span
from spanloom.metrics.counts import Counts, Key, compare, compare_by_label
from spanloom.metrics.spans import bounds

Triple = tuple[str, Span, Span]
"""A relation with its ends at hand: label, head, tail."""


def triples(
    relations: Iterable[Relation], known: Mapping[str, Annotation]
) -> tuple[tuple[Triple, ...], int]:
    """Look up the ends of relations by id; also return how many have an end that is no span.

    Those cannot be compared by bounds and are left out; the caller reports them.
    """
    found: list[Triple] = []
    lost = 0
    for relation in relations:
        head, tail = known.get(relation.head), known.get(relation.tail)
        if isinstance(head, Span) and isinstance(tail, Span):
            found.append((relation.label, head, tail))
        else:
            lost += 1
    return tuple(found), lost


def keys(relations: Iterable[Triple], *, typed: bool = False) -> frozenset[Key]:
    """Return what is compared: label and bounds of both ends; with ``typed`` their labels too."""
    return frozenset(
        (label, (bounds(head), bounds(tail), *((head.label, tail.label) if typed else ())))
        for label, head, tail in relations
    )


def count(gold: Iterable[Triple], predicted: Iterable[Triple], *, typed: bool = False) -> Counts:
    """Count the relations of one text that match."""
    return compare(keys(gold, typed=typed), keys(predicted, typed=typed))


def count_by_label(
    gold: Iterable[Triple], predicted: Iterable[Triple], *, typed: bool = False
) -> dict[str, Counts]:
    """Count the relations of one text for each label apart."""
    return compare_by_label(keys(gold, typed=typed), keys(predicted, typed=typed))
