"""A layer without some of its annotations, and without what refers to them."""

from collections.abc import Set
from dataclasses import replace

from spanloom.document import Equivalence, Layer


def without(layer: Layer, gone: Set[str]) -> Layer:
    """Return the layer without these ids; what refers to one that is gone is gone as well.

    An equivalence loses its members, and goes when fewer than two are left; an event loses its
    arguments, and goes with its trigger.
    """
    lost = set(gone)
    relations = tuple(r for r in layer.relations if not {r.id, r.head, r.tail} & lost)
    lost |= {each.id for each in layer.relations} - {each.id for each in relations}
    events = tuple(e for e in layer.events if not {e.id, e.trigger} & lost)
    lost |= {each.id for each in layer.events} - {each.id for each in events}
    events = tuple(
        replace(e, arguments=tuple(a for a in e.arguments if a.target not in lost)) for e in events
    )
    same = tuple(
        Equivalence(e.id, e.label, tuple(m for m in e.members if m not in lost))
        for e in layer.equivalences
    )
    return Layer(
        layer.name,
        tuple(each for each in layer.spans if each.id not in lost),
        relations,
        events,
        tuple(each for each in layer.attributes if not {each.id, each.target} & lost),
        tuple(each for each in layer.normalizations if not {each.id, each.target} & lost),
        tuple(each for each in layer.notes if not {each.id, each.target} & lost),
        tuple(each for each in same if len(each.members) > 1),
    )
