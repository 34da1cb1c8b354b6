"""Attributes as models see them: a value, or none, on each span and on each relation.

What is said of an event is said of its trigger. An attribute without a value has the value "".
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spanloom.document import Attribute, Layer
from spanloom.forms.parts import VALUE
from spanloom.forms.queries import QUERY

Values = dict[str, tuple[str, ...]]  # the values of each attribute, by its name

_MOST = 50  # values; what has more of them is free text or a number, and no class
_RESERVED = {QUERY, VALUE}  # names that say something else


@dataclass(frozen=True, slots=True)
class AttributeScheme:
    """What attributes there are; ``events`` are those that are said of events, not of spans."""

    spans: Values
    relations: Values
    events: frozenset[str] = frozenset()


def collect(layers: Iterable[Layer]) -> AttributeScheme:
    """Collect names and values; each name is one of spans or of relations, whatever it is more."""
    values: dict[str, set[str]] = defaultdict(set)
    homes: dict[str, Counter[str]] = defaultdict(Counter)
    for layer in layers:
        kinds = dict.fromkeys((span.id for span in layer.spans), "span")
        kinds |= dict.fromkeys((relation.id for relation in layer.relations), "relation")
        kinds |= dict.fromkeys((event.id for event in layer.events), "event")
        for each in layer.attributes:
            if each.target in kinds and each.label not in _RESERVED:
                values[each.label].add(each.value or "")
                homes[each.label][kinds[each.target]] += 1
    usual = {name: homes[name].most_common(1)[0][0] for name in values}
    found = {name: tuple(sorted(values[name])) for name in sorted(values)}
    few = {name: each for name, each in found.items() if len(each) <= _MOST}
    return AttributeScheme(
        {name: each for name, each in few.items() if usual[name] != "relation"},
        {name: each for name, each in few.items() if usual[name] == "relation"},
        frozenset(name for name in few if usual[name] == "event"),
    )


def rows(layer: Layer, values: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    """Return for each annotation (an event's trigger for the event) its row of values.

    One number an attribute, in the order of ``values``: 0 where it is absent, -1 for a value that
    is not known, else the value's place counted from 1. What has no attribute is not in the result.
    """
    place = {name: row for row, name in enumerate(values)}
    triggers = {event.id: event.trigger for event in layer.events}
    found: dict[str, list[int]] = {}
    for each in layer.attributes:
        if each.label in place:
            known, value = values[each.label], each.value or ""
            mine = found.setdefault(triggers.get(each.target, each.target), [0] * len(place))
            mine[place[each.label]] = 1 + known.index(value) if value in known else -1
    return {key: tuple(row) for key, row in found.items()}


def attribute(
    name: str, value: str, target: str, score: float, fresh: Callable[[str], str]
) -> Attribute:
    """Return a new attribute with the next free id."""
    return Attribute(fresh("A"), name, target, value or None, score)
