"""Convert events to relations and back: a trigger span, and one relation per argument from it.

    E1  Action:T1 Theme:T2 Theme2:E2        relations  Theme  T1 -> T2
    E2  Action:T3                   project            Theme  T1 -> T3
    R1  Setting Arg1:E1 Arg2:T4     ------>            Setting T1 -> T4

``project`` strips the numbers of roles, replaces events by their triggers, and merges relations
with the same label, head and tail. ``restore`` goes back: each span with a trigger label gets one
event. ``losses`` counts what this loses: several events on one trigger become one; spans with a
trigger label that trigger nothing get an event; roles are numbered anew as brat does (Theme,
Theme2, Theme3); an end that was written as the trigger span comes back as its event; a name that is
both a role and a relation follows the majority.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import count
from typing import TypeVar

from spanloom.document import MAIN, Argument, Event, Layer, Relation, Span

Projection = tuple[Sequence[Span], tuple[Relation, ...]]
Node = TypeVar("Node", bound=Hashable)
NUMBERED = re.compile(r"(.+?)([0-9]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EventScheme:
    """The event vocabulary of a corpus, collected from train only.

    ``trigger_labels`` are labels of spans that trigger events, ``roles`` the argument names without
    numbers. ``relations`` are roles that, from a trigger, are relations (R lines) more often than
    arguments: ``restore`` makes relations of them.
    """

    trigger_labels: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()

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

    ``shared``: events beyond the first on one trigger; ``merged``: duplicate relations or
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


def restore(
    spans: Sequence[Span],
    relations: Sequence[Relation],
    scheme: EventScheme,
    name: str = MAIN,
    new_id: Callable[[str], str] | None = None,
) -> Layer:
    """Return a layer in which spans with a trigger label have one event each.

    Relations that the scheme calls arguments become event arguments, in the order given; the others
    stay. An end with an event is written as that event, as in brat. Events have the ids E1, E2, …,
    skipping ids in use (or what ``new_id("E")`` returns), and take their trigger's score.
    """
    triggers = [span for span in spans if span.label in scheme.trigger_labels]
    labels = {span.id: span.label for span in spans}
    make_id = new_id or _new_ids({*labels, *(relation.id for relation in relations)})
    event_id_of = {span.id: make_id("E") for span in triggers}
    remaining: list[Relation] = []
    arguments_of: dict[str, list[Argument]] = defaultdict(list)
    role_counts: Counter[tuple[str, str]] = Counter()
    for relation in relations:
        tail = event_id_of.get(relation.tail, relation.tail)
        if scheme.is_argument(relation.label, labels.get(relation.head, "")):
            role_counts[relation.head, relation.label] += 1
            number = role_counts[relation.head, relation.label]
            role = relation.label if number == 1 else f"{relation.label}{number}"
            arguments_of[relation.head].append(Argument(role, tail))
        else:
            remaining.append(
                replace(relation, head=event_id_of.get(relation.head, relation.head), tail=tail)
            )
    events = (
        Event(event_id_of[span.id], span.label, span.id, tuple(arguments_of[span.id]), span.score)
        for span in triggers
    )
    return Layer(name, tuple(spans), tuple(remaining), tuple(events))


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
        shared=len(layer.events) - len(triggers),
        merged=len(layer.relations) + len(arguments) - num_projected,
        unnamed=sum(
            span.label in scheme.trigger_labels and span.id not in triggers for span in layer.spans
        ),
        swapped=swapped,
        cyclic=len(cyclic(layer.events)),
        without_arguments=sum(not event.arguments for event in layer.events),
    )


def cyclic(events: Iterable[Event]) -> frozenset[str]:
    """Return the ids of events that are arguments of themselves, directly or not; linear time."""
    return nodes_on_cycles({event.id: [arg.target for arg in event.arguments] for event in events})


def nodes_on_cycles(graph: Mapping[Node, Sequence[Node]]) -> frozenset[Node]:
    """Return the nodes of a directed graph that reach themselves in one step or more.

    ``graph`` maps a node to its targets; targets that are not nodes are ignored. Linear time, no
    recursion (Kosaraju's algorithm; Sharir 1981).
    """
    visited: set[Node] = set()
    finished = [done for node in graph for done in _postorder(graph, node, visited)]
    sources: dict[Node, list[Node]] = {node: [] for node in graph}
    for node, targets in graph.items():
        for target in targets:
            if target in sources:
                sources[target].append(node)
    cyclic = {node for node, targets in graph.items() if node in targets}
    visited = set()
    for node in reversed(finished):
        component = list(_postorder(sources, node, visited))
        if len(component) > 1:
            cyclic.update(component)
    return frozenset(cyclic)


def _postorder(
    graph: Mapping[Node, Sequence[Node]], start: Node, visited: set[Node]
) -> Iterator[Node]:
    """Yield unvisited nodes reachable from ``start`` depth first, each after its descendants."""
    if start in visited:
        return
    visited.add(start)
    stack = [(start, iter(graph[start]))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target in graph and target not in visited:
                visited.add(target)
                stack.append((target, iter(graph[target])))
                break
        else:
            stack.pop()
            yield node
