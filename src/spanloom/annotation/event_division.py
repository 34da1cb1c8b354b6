"""Divide the arguments of a trigger among several events.

    induces  Theme: A, B  Cause: C     divide by Theme     induces  Theme: A  Cause: C
                                       -------------->     induces  Theme: B  Cause: C

A role divides if each event of such a trigger has one argument of it: every combination of the
arguments of dividing roles is an event, and arguments of other roles belong to all of them. Which
roles divide is learnt from train, as the rules that TEES unmerges events by are (Björne and
Salakoski 2011).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import islice, product

EventArgument = tuple[str, str, int]  # role, trigger or span, which of the trigger's events
Events = Sequence[Sequence[EventArgument]]  # the events of one trigger, by their arguments
MOST = 64  # events of one trigger: so many combinations are no annotation


def divide(
    arguments: Sequence[EventArgument], dividing: Collection[str]
) -> list[list[EventArgument]]:
    """Return the arguments of each event, in the order given; one event if no role divides."""
    by_role: dict[str, list[EventArgument]] = defaultdict(list)
    for argument in arguments:
        if argument[0] in dividing:
            by_role[argument[0]].append(argument)
    return [
        [argument for argument in arguments if argument[0] not in by_role or argument in chosen]
        for chosen in islice(product(*by_role.values()), MOST)
    ]


def dividing_roles(triggers: Iterable[Events]) -> frozenset[str]:
    """Return the roles that, where they divide, bring most events of these triggers back.

    Roles are added one by one while F1 of whole events grows.
    """
    groups = [(events, _union(events)) for events in triggers]
    groups = [(events, union) for events, union in groups if len(union) > 1]
    roles = {argument[0] for _, union in groups for argument in union}
    chosen: frozenset[str] = frozenset()
    best = _f1(groups, chosen)
    while roles - chosen:
        f1, role = max((_f1(groups, chosen | {role}), role) for role in sorted(roles - chosen))
        if f1 <= best:
            break
        best, chosen = f1, chosen | {role}
    return chosen


def _union(events: Events) -> list[EventArgument]:
    return list(dict.fromkeys(argument for event in events for argument in event))


def _f1(
    groups: Sequence[tuple[Events, Sequence[EventArgument]]], dividing: frozenset[str]
) -> float:
    """Return F1 of the events that the union of the arguments of each trigger is divided into."""
    num_right = num_items = 0
    for events, union in groups:
        gold = Counter(frozenset(event) for event in events)
        divided = Counter(frozenset(event) for event in divide(union, dividing))
        num_right += (gold & divided).total()
        num_items += gold.total() + divided.total()
    return 2 * num_right / max(1, num_items)
