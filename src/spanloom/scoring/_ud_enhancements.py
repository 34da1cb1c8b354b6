"""Enhanced relations without what a gold treebank leaves out (IWPT 2020, ``--enhancements``).

Each rule is the official program's, slips included: rule 3 changes nothing there, rule 5 counts
words from 0 where it meets the heads' numbers, and the relation that rules 1 and 5 put in place is
never right at a root.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from spanloom.metrics.universal_dependencies import NOWHERE, ROOT, Edge

_WITH_CASE = frozenset(("obl", "nmod", "conj", "advcl"))
_NOT_A_CASE = frozenset(("pass", "relcl", "xsubj"))


@dataclass(frozen=True, slots=True)
class Place:
    """A word's row, the row its sentence begins at, and the basic tree so far (by rows)."""

    word: int
    start: int
    heads: Sequence[int]
    deprels: Sequence[str]

    @property
    def basic(self) -> Edge:
        """The word's relation in the basic tree, where it has a head."""
        head = self.heads[self.word]
        return NOWHERE if head == ROOT else head, self.deprels[self.word]

    def number(self, head: int) -> int:
        """A row as heads are numbered in the file: from 1, and 0 is the root."""
        return 0 if head == ROOT else head - self.start + 1


Rule = Callable[[Sequence[Edge], Place], Sequence[Edge]]


def _no_gaps(edges: Sequence[Edge], place: Place) -> Sequence[Edge]:
    """Paths of several steps give way to the basic relation; of the others one is enough."""
    kept: list[Edge] = []
    seen: set[Edge] = set()
    for edge in edges:
        path = ">" in edge[1]
        if path or edge not in seen:
            kept.append(place.basic if path else edge)
            seen.add(kept[-1])
    return kept


def _no_shared_parents(edges: Sequence[Edge], place: Place) -> Sequence[Edge]:
    """A conjunct keeps that relation alone, the last if there are several."""
    conjuncts = [edge for edge in edges if edge[1].startswith("conj") and ">" not in edge[1]]
    return conjuncts[-1:] or edges


def _no_control(edges: Sequence[Edge], place: Place) -> Sequence[Edge]:
    """An open complement has no subject."""
    return [edge for edge in edges if not _controlled(edge, place)]


def _controlled(edge: Edge, place: Place) -> bool:
    head, path = edge
    if head < 0 or place.deprels[head] != "xcomp":
        return False
    return any(step.startswith("nsubj") for step in path.split(">"))


def _no_relatives(edges: Sequence[Edge], place: Place) -> Sequence[Edge]:
    """What a relative clause refers to is no argument in it."""
    kept: list[Edge] = []
    for head, path in edges:
        if path.partition(">")[0] == "ref":
            kept.append(place.basic)
        elif not _outside(head, place):
            kept.append((head, path))
    return kept


def _outside(head: int, place: Place) -> bool:
    """Whether the head is a clause that modifies the word itself, as the program counts words."""
    if head < 0 or not place.deprels[head].startswith("acl"):
        return False
    return place.number(place.heads[head]) == place.word - place.start


def _no_case(edges: Sequence[Edge], place: Place) -> Sequence[Edge]:
    """Relations do not name a case or preposition."""
    return [(head, ">".join(map(_without_case, path.split(">")))) for head, path in edges]


def _without_case(step: str) -> str:
    name, *rest = step.split(":")
    cased = name in _WITH_CASE and len(rest) == 1 and rest[0] not in _NOT_A_CASE
    return name if cased else step


RULES: Mapping[str, Rule] = {
    "1": _no_gaps,
    "2": _no_shared_parents,
    "4": _no_control,
    "5": _no_relatives,
    "6": _no_case,
}
"""By the digit that asks for it, in the order in which they are applied."""
