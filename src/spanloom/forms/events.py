"""Events as models see them: a trigger span and one relation trigger -> argument for each argument.

    E1  Action:T1 Theme:T2 Theme2:E2        relations  Theme  T1 -> T2
    E2  Action:T3                   project            Theme  T1 -> T3
    R1  Setting Arg1:E1 Arg2:T4     ------>            Setting T1 -> T4

A numbered role loses its number, an event stands for its trigger, relations with the same label,
head and tail are one. ``restore`` goes back: every span whose label is a trigger label gets one
event. What that loses is counted by ``losses``: several events on one trigger become one, spans
with a trigger label that trigger nothing get an event, which numbers the roles had is forgotten
(they are numbered anew as brat does: Theme, Theme2, Theme3), an end that was written as the trigger
span comes back as its event, and a name that is both a role and a relation follows the majority.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from spanloom.document import MAIN, Argument, Event, Layer, Relation, Span
from spanloom.forms.circles import on_circles

Projection = tuple[tuple[Span, ...], tuple[Relation, ...]]
NUMBERED = re.compile(r"(.+?)([0-9]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EventScheme:
    """What events look like in a corpus; collect it from train only.

    ``trigger_labels`` are labels of spans that trigger events, ``roles`` the argument names
    without numbers, ``relations`` those among the roles that, from a trigger, are relations (R
    lines) more often than arguments: ``restore`` makes relations of them.
    """

    trigger_labels: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()

    def role(self, written: str) -> str:
        """Return the role without its number: ``Theme2`` is ``Theme``, unless ``Theme2`` is a role.

        A known role followed by digits is that role (the longest such); an unknown one loses all
        its trailing digits, as in brat.
        """
        match = NUMBERED.fullmatch(written)
        if match is None or written in self.roles:
            return written
        for cut in range(len(written) - 1, len(match[1]) - 1, -1):
            if written[:cut] in self.roles:
                return written[:cut]
        return match[1]

    def is_argument(self, label: str, head_label: str) -> bool:
        """Whether a relation of that label from a span of that label is an event's argument."""
        here = head_label in self.trigger_labels and label in self.roles
        return here and label not in self.relations


@dataclass(frozen=True, slots=True)
class EventLosses:
    """How many items of a layer do not survive ``restore(*project(layer))``.

    ``shared`` events beyond the first on one trigger; ``merged`` relations or arguments that say
    the same as another; ``unnamed`` spans with a trigger label and no event; ``swapped`` arguments
    that come back as relations or the other way round; ``cyclic`` events that reach themselves by
    their arguments and ``bare`` ones without arguments are counted, but lose nothing.
    """

    shared: int = 0
    merged: int = 0
    unnamed: int = 0
    swapped: int = 0
    cyclic: int = 0
    bare: int = 0

    def __add__(self, other: "EventLosses") -> "EventLosses":
        """Return the sum of two layers' losses."""
        return EventLosses(
            self.shared + other.shared,
            self.merged + other.merged,
            self.unnamed + other.unnamed,
            self.swapped + other.swapped,
            self.cyclic + other.cyclic,
            self.bare + other.bare,
        )


def collect(layers: Iterable[Layer]) -> EventScheme:
    """Return the trigger labels and roles of the layers, and which roles are rather relations.

    A role keeps its digits where they are part of every use: ``H2`` stays ``H2`` if neither ``H``
    nor ``H3`` is ever used.
    """
    layers = tuple(layers)
    written: Counter[str] = Counter()
    triggers: set[str] = set()
    for layer in layers:
        labels = {span.id: span.label for span in layer.spans}
        triggers.update(labels.get(event.trigger, event.label) for event in layer.events)
        written.update(each.role for event in layer.events for each in event.arguments)
    scheme = EventScheme(frozenset(triggers), _unnumbered(written))
    as_argument = Counter({scheme.role(role): 0 for role in written})
    for role, times in written.items():
        as_argument[scheme.role(role)] += times
    as_relation = _from_triggers(layers, scheme.trigger_labels)
    rather = {role for role in scheme.roles if as_relation[role] > as_argument[role]}
    return replace(scheme, relations=frozenset(rather))


def _unnumbered(written: Iterable[str]) -> frozenset[str]:
    """Take the number off each role whose bare name, or a second number of it, is used."""
    uses: dict[str, set[str]] = defaultdict(set)
    for role in written:
        match = NUMBERED.fullmatch(role)
        uses[match[1] if match and match[1] else role].add(role)
    return frozenset(
        base if len(roles) > 1 else role for base, roles in uses.items() for role in roles
    )


def _from_triggers(layers: Iterable[Layer], triggers: frozenset[str]) -> Counter[str]:
    """How often each relation label leaves a span with a trigger label."""
    times: Counter[str] = Counter()
    for layer in layers:
        place = _places(layer)
        heads = {span.id for span in layer.spans if span.label in triggers}
        found = (each for each in layer.relations if place.get(each.head, each.head) in heads)
        times.update(each.label for each in found)
    return times


def _places(layer: Layer) -> dict[str, str]:
    """The trigger of each event: one step, so events in a circle are safe."""
    return {event.id: event.trigger for event in layer.events}


def project(layer: Layer, scheme: EventScheme | None = None) -> Projection:
    """Return the layer's spans and its relations, events turned into relations.

    Relations come first, in their order, then arguments in theirs; of several with the same label,
    head and tail the first stays. An argument's relation has the id ``EVENT:n``, n from 1. Without
    a scheme it is collected from this layer alone.
    """
    scheme = collect([layer]) if scheme is None else scheme
    place = _places(layer)
    found: dict[tuple[str, str, str], Relation] = {}
    for each in layer.relations:
        head, tail = place.get(each.head, each.head), place.get(each.tail, each.tail)
        found.setdefault((each.label, head, tail), replace(each, head=head, tail=tail))
    for event in layer.events:
        for number, argument in enumerate(event.arguments, 1):
            key = (
                scheme.role(argument.role),
                event.trigger,
                place.get(argument.target, argument.target),
            )
            found.setdefault(key, Relation(f"{event.id}:{number}", *key, score=event.score))
    return layer.spans, tuple(found.values())


def restore(
    spans: Sequence[Span],
    relations: Sequence[Relation],
    scheme: EventScheme,
    name: str = MAIN,
    fresh: Callable[[str], str] | None = None,
) -> Layer:
    """Return a layer in which spans with a trigger label have one event each.

    Relations that the scheme calls arguments become its arguments, in the order given; the others
    stay. An end with an event is written as that event, as brat's own page does. Events are named
    E1, E2, … past the ids in use (or as ``fresh("E")`` says), and take their trigger's score.
    """
    triggers = [span for span in spans if span.label in scheme.trigger_labels]
    labels = {span.id: span.label for span in spans}
    made = fresh or _counter({*labels, *(relation.id for relation in relations)})
    named = {span.id: made("E") for span in triggers}
    stay: list[Relation] = []
    filled: dict[str, list[Argument]] = defaultdict(list)
    numbers: Counter[tuple[str, str]] = Counter()
    for each in relations:
        tail = named.get(each.tail, each.tail)
        if scheme.is_argument(each.label, labels.get(each.head, "")):
            numbers[each.head, each.label] += 1
            nth = numbers[each.head, each.label]
            role = each.label if nth == 1 else f"{each.label}{nth}"
            filled[each.head].append(Argument(role, tail))
        else:
            stay.append(replace(each, head=named.get(each.head, each.head), tail=tail))
    events = (
        Event(named[span.id], span.label, span.id, tuple(filled[span.id]), span.score)
        for span in triggers
    )
    return Layer(name, tuple(spans), tuple(stay), tuple(events))


def _counter(used: set[str]) -> Callable[[str], str]:
    """Count up from 1 past the ids that are in use."""
    numbers = count(1)
    return lambda prefix: next(
        name for name in (f"{prefix}{number}" for number in numbers) if name not in used
    )


def losses(layer: Layer, scheme: EventScheme) -> EventLosses:
    """Count what ``project`` and ``restore`` change in a layer."""
    labels = {span.id: span.label for span in layer.spans}
    place = _places(layer)
    triggers = set(place.values())
    arguments = [(event, each) for event in layer.events for each in event.arguments]
    kept = len(project(layer, scheme)[1])
    swapped = sum(
        not scheme.is_argument(scheme.role(each.role), labels.get(event.trigger, ""))
        for event, each in arguments
    ) + sum(
        scheme.is_argument(each.label, labels.get(place.get(each.head, each.head), ""))
        for each in layer.relations
    )
    return EventLosses(
        shared=len(layer.events) - len(triggers),
        merged=len(layer.relations) + len(arguments) - kept,
        unnamed=sum(
            span.label in scheme.trigger_labels and span.id not in triggers for span in layer.spans
        ),
        swapped=swapped,
        cyclic=len(cyclic(layer.events)),
        bare=sum(not event.arguments for event in layer.events),
    )


def cyclic(events: Iterable[Event]) -> frozenset[str]:
    """Return the ids of events that are, directly or not, arguments of themselves; linear time."""
    return on_circles({event.id: [each.target for each in event.arguments] for event in events})
