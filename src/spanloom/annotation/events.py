"""Convert events to relations and back: a trigger span, and one relation per argument from it.

    E1  Action:T1 Theme:T2 Theme2:E2        relations  Theme  T1 -> T2
    E2  Action:T3                   project            Theme  T1 -> T3
    R1  Setting Arg1:E1 Arg2:T4     ------>            Setting T1 -> T4

``project`` strips the numbers of roles, replaces events by their triggers, and merges relations
with the same label, head and tail. ``restore`` goes back: each span with a trigger label gets one
event, or several where the scheme has roles that divide (``annotation.event_division``). ``losses``
counts what this loses: several events on one trigger become one; spans with a trigger label that
trigger nothing get an event; roles are numbered anew as brat does (Theme,
Theme2, Theme3); an end that was written as the trigger span comes back as its event; a name that is
both a role and a relation follows the majority.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import count

from spanloom.annotation.event_division import EventArgument, divide, dividing_roles
from spanloom.annotation.reference_graph import nodes_on_cycles, postorder, resolve
from spanloom.document import MAIN, Argument, Event, Layer, Relation, Span

Projection = tuple[Sequence[Span], tuple[Relation, ...]]
NUMBERED = re.compile(r"(.+?)([0-9]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EventScheme:
    """The event vocabulary of a corpus, collected from train only.

    ``trigger_labels`` are labels of spans that trigger events, ``roles`` the argument names without
    numbers. ``relations`` are roles that, from a trigger, are relations (R lines) more often than
    arguments: ``restore`` makes relations of them. ``dividing`` are pairs of a trigger label and a
    role that each event of such a trigger has once: arguments of that role make several events.
    """

    trigger_labels: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()
    dividing: frozenset[tuple[str, str]] = frozenset()

    def role(self, written: str) -> str:
        """Return the role without its number: ``Theme2`` is ``Theme``, unless ``Theme2`` is a role.

        A role of the scheme followed by digits is that role (the longest such); an unknown role
        loses all its trailing digits, as in brat.
        """
        match = NUMBERED.fullmatch(written)
        if match is None or written in self.roles:
            return written
        for length in range(len(written) - 1, len(match[1]) - 1, -1):
            if written[:length] in self.roles:
                return written[:length]
        return match[1]

    def is_argument(self, label: str, head_label: str) -> bool:
        """Return whether a relation with these labels is an event's argument."""
        is_role = head_label in self.trigger_labels and label in self.roles
        return is_role and label not in self.relations


@dataclass(frozen=True, slots=True)
class EventLosses:
    """How many items of a layer do not survive ``restore(*project(layer))``.

    ``shared``: events beyond the first on one trigger or, where roles divide them, those that do
    not come back; ``merged``: duplicate relations or
    arguments; ``unnamed``: spans with a trigger label and no event; ``swapped``: arguments that
    come back as relations, or the reverse. ``cyclic`` (events that are arguments of themselves) and
    ``without_arguments`` are counted, but lose nothing.
    """

    shared: int = 0
    merged: int = 0
    unnamed: int = 0
    swapped: int = 0
    cyclic: int = 0
    without_arguments: int = 0

    def __add__(self, other: "EventLosses") -> "EventLosses":
        """Return the sum of two layers' losses."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return EventLosses(*(a + b for a, b in pairs))


def collect(layers: Iterable[Layer]) -> EventScheme:
    """Return the trigger labels and roles of the layers, and the roles that are mostly relations.

    A role keeps its digits where they are part of every use: ``H2`` stays ``H2`` if neither ``H``
    nor ``H3`` is ever used.
    """
    layers = tuple(layers)
    role_counts: Counter[str] = Counter()
    triggers: set[str] = set()
    for layer in layers:
        labels = {span.id: span.label for span in layer.spans}
        triggers.update(labels.get(event.trigger, event.label) for event in layer.events)
        role_counts.update(arg.role for event in layer.events for arg in event.arguments)
    scheme = EventScheme(frozenset(triggers), _strip_numbers(role_counts))
    as_argument = Counter({scheme.role(role): 0 for role in role_counts})
    for role, uses in role_counts.items():
        as_argument[scheme.role(role)] += uses
    as_relation = _count_relations_from_triggers(layers, scheme.trigger_labels)
    mostly_relations = {role for role in scheme.roles if as_relation[role] > as_argument[role]}
    return replace(scheme, relations=frozenset(mostly_relations))


def with_division(scheme: EventScheme, layers: Iterable[Layer]) -> EventScheme:
    """Return the scheme with the roles that divide the arguments of a trigger among its events."""
    events_of: dict[str, list[list[list[EventArgument]]]] = defaultdict(list)
    for layer in layers:
        labels = {span.id: span.label for span in layer.spans}
        by_trigger: dict[str, list[list[EventArgument]]] = defaultdict(list)
        for event in layer.events:
            by_trigger[event.trigger].append(
                [(scheme.role(argument.role), argument.target, 0) for argument in event.arguments]
            )
        for trigger, events in by_trigger.items():
            events_of[labels.get(trigger, "")].append(events)
    pairs = {
        (label, role) for label, events in events_of.items() for role in dividing_roles(events)
    }
    return replace(scheme, dividing=frozenset(pairs))


def _strip_numbers(written: Iterable[str]) -> frozenset[str]:
    """Return the roles; a number is stripped if the role is also used bare or with another one."""
    variants: dict[str, set[str]] = defaultdict(set)
    for role in written:
        match = NUMBERED.fullmatch(role)
        variants[match[1] if match and match[1] else role].add(role)
    return frozenset(
        base if len(roles) > 1 else role for base, roles in variants.items() for role in roles
    )


def _count_relations_from_triggers(
    layers: Iterable[Layer], triggers: frozenset[str]
) -> Counter[str]:
    """Count per label the relations whose head is a span with a trigger label."""
    counts: Counter[str] = Counter()
    for layer in layers:
        trigger_of = _trigger_of(layer)
        heads = {span.id for span in layer.spans if span.label in triggers}
        counts.update(
            relation.label
            for relation in layer.relations
            if trigger_of.get(relation.head, relation.head) in heads
        )
    return counts


def _trigger_of(layer: Layer) -> dict[str, str]:
    """Return the trigger of each event; one step only, so cyclic events are safe."""
    return {event.id: event.trigger for event in layer.events}


def project(layer: Layer, scheme: EventScheme | None = None) -> Projection:
    """Return the layer's spans and its relations, events turned into relations.

    Relations come first, in their order, then arguments in theirs; of several with the same label,
    head and tail the first is kept. An argument's relation has the id ``EVENT:n``, n from 1.
    Without a scheme, one is collected from this layer alone.
    """
    scheme = collect([layer]) if scheme is None else scheme
    trigger_of = _trigger_of(layer)
    relation_at: dict[tuple[str, str, str], Relation] = {}
    for relation in layer.relations:
        head = trigger_of.get(relation.head, relation.head)
        tail = trigger_of.get(relation.tail, relation.tail)
        relation_at.setdefault(
            (relation.label, head, tail), replace(relation, head=head, tail=tail)
        )
    for event in layer.events:
        for number, argument in enumerate(event.arguments, 1):
            key = (
                scheme.role(argument.role),
                event.trigger,
                trigger_of.get(argument.target, argument.target),
            )
            relation_at.setdefault(key, Relation(f"{event.id}:{number}", *key, score=event.score))
    return layer.spans, tuple(relation_at.values())


def flatten(layer: Layer, scheme: EventScheme) -> Layer:
    """Return the layer with relations in place of events; their attributes become the triggers'."""
    if not layer.events:
        return layer
    spans, relations = project(layer, scheme)
    trigger_of = _trigger_of(layer)
    attributes = (
        replace(attribute, target=trigger_of.get(attribute.target, attribute.target))
        for attribute in layer.attributes
    )
    return Layer(layer.name, spans, relations, attributes=tuple(attributes))


def restore(
    spans: Sequence[Span],
    relations: Sequence[Relation],
    scheme: EventScheme,
    name: str = MAIN,
    new_id: Callable[[str], str] | None = None,
) -> Layer:
    """Return a layer in which spans with a trigger label have an event each, or several.

    Relations that the scheme calls arguments become event arguments, in the order given; the others
    stay. An end with an event is written as that event, as in brat: of several as the first, except
    in arguments of events. Events have the ids E1, E2, …, skipping ids in use (or what
    ``new_id("E")`` returns), and take their trigger's score.
    """
    triggers = {span.id: span for span in spans if span.label in scheme.trigger_labels}
    labels = {span.id: span.label for span in spans}
    make_id = new_id or _new_ids({*labels, *(relation.id for relation in relations)})
    arguments_of: dict[str, list[tuple[str, str]]] = {id: [] for id in triggers}
    others: list[Relation] = []
    for relation in relations:
        if scheme.is_argument(relation.label, labels.get(relation.head, "")):
            arguments_of[relation.head].append((relation.label, relation.tail))
        else:
            others.append(relation)
    divided = _divide_events(arguments_of, labels, scheme)
    ids = {id: [make_id("E") for _ in divided[id]] for id in triggers}

    def event_id(target: str, index: int = 0) -> str:
        return ids[target][index] if target in ids else target

    events = (
        Event(
            ids[span.id][row], span.label, span.id, _number_roles(arguments, event_id), span.score
        )
        for span in triggers.values()
        for row, arguments in enumerate(divided[span.id])
    )
    remaining = (
        replace(relation, head=event_id(relation.head), tail=event_id(relation.tail))
        for relation in others
    )
    return Layer(name, tuple(spans), tuple(remaining), tuple(events))


def _divide_events(
    arguments_of: Mapping[str, Sequence[tuple[str, str]]],
    labels: Mapping[str, str],
    scheme: EventScheme,
) -> dict[str, list[list[EventArgument]]]:
    """Return the arguments of each event of each trigger; arguments are roles and ends by trigger.

    An argument that is a trigger of several events is one for each of them.
    """
    if not scheme.dividing:
        return {id: [[(role, end, 0) for role, end in ends]] for id, ends in arguments_of.items()}
    graph = {id: [end for _, end in ends] for id, ends in arguments_of.items()}
    visited: set[str] = set()
    order = [id for node in graph for id in postorder(graph, node, visited)]
    divided: dict[str, list[list[EventArgument]]] = {}
    for id in order:
        arguments = [
            (role, end, index)
            for role, end in arguments_of[id]
            for index in range(len(divided.get(end, ("",))))  # on a cycle: the first event
        ]
        roles = {role for label, role in scheme.dividing if label == labels[id]}
        divided[id] = divide(arguments, roles)
    return divided


def _number_roles(
    arguments: Iterable[EventArgument], event_id: Callable[[str, int], str]
) -> tuple[Argument, ...]:
    """Return arguments with numbered roles, as in brat: Theme, Theme2, Theme3."""
    counts: Counter[str] = Counter()
    numbered = []
    for role, end, index in arguments:
        counts[role] += 1
        written = role if counts[role] == 1 else f"{role}{counts[role]}"
        numbered.append(Argument(written, event_id(end, index)))
    return tuple(numbered)


def _new_ids(used: set[str]) -> Callable[[str], str]:
    """Return a function that counts up from 1 and skips the ids in use."""
    numbers = count(1)
    return lambda prefix: next(
        name for name in (f"{prefix}{number}" for number in numbers) if name not in used
    )


def losses(layer: Layer, scheme: EventScheme) -> EventLosses:
    """Count what ``project`` and ``restore`` change in a layer."""
    labels = {span.id: span.label for span in layer.spans}
    trigger_of = _trigger_of(layer)
    triggers = set(trigger_of.values())
    arguments = [(event, arg) for event in layer.events for arg in event.arguments]
    num_projected = len(project(layer, scheme)[1])
    swapped = sum(
        not scheme.is_argument(scheme.role(arg.role), labels.get(event.trigger, ""))
        for event, arg in arguments
    ) + sum(
        scheme.is_argument(rel.label, labels.get(trigger_of.get(rel.head, rel.head), ""))
        for rel in layer.relations
    )
    return EventLosses(
        shared=_count_shared(layer, scheme) if layer.events else 0,
        merged=len(layer.relations) + len(arguments) - num_projected,
        unnamed=sum(
            span.label in scheme.trigger_labels and span.id not in triggers for span in layer.spans
        ),
        swapped=swapped,
        cyclic=len(cyclic(layer.events)),
        without_arguments=sum(not event.arguments for event in layer.events),
    )


def _count_shared(layer: Layer, scheme: EventScheme) -> int:
    """Count the events beyond the first on one trigger that do not come back."""
    num_events = Counter(event.trigger for event in layer.events)
    if not scheme.dividing:
        return num_events.total() - len(num_events)
    restored = contents(restore(*project(layer, scheme), scheme), scheme)
    lost = Counter(contents(layer, scheme)) - Counter(restored)
    return sum(count for (trigger, _), count in lost.items() if num_events[trigger] > 1)


def contents(layer: Layer, scheme: EventScheme) -> list[tuple[str, str]]:
    """Return the trigger of each event and its arguments in writing, without ids of events."""
    event_of = {event.id: event for event in layer.events}

    def write(id: str, refer: Callable[[str], str]) -> str:
        event = event_of[id]
        arguments = sorted(
            f"{scheme.role(arg.role)} {refer(arg.target) if arg.target in event_of else arg.target}"
            for arg in event.arguments
        )
        return f"{event.trigger}({', '.join(arguments)})"

    graph = {id: [arg.target for arg in event.arguments] for id, event in event_of.items()}
    written = resolve(graph, write)
    return [(event.trigger, written[event.id]) for event in layer.events]


def cyclic(events: Iterable[Event]) -> frozenset[str]:
    """Return the ids of events that are arguments of themselves, directly or not; linear time."""
    return nodes_on_cycles({event.id: [arg.target for arg in event.arguments] for event in events})
