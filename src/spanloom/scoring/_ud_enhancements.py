"""Remove enhanced relations that a gold treebank lacks (IWPT 2020, ``--enhancements``).

Each rule follows the official program, bugs included: rule 3 changes nothing, rule 5 counts words
from 0 where it compares them with head numbers, and the relation that rules 1 and 5 insert is
never right at a root.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from spanloom.metrics.universal_dependencies import NOWHERE, ROOT, Edge

_WITH_CASE = frozenset(("obl", "nmod", "conj", "advcl"))
_NOT_A_CASE = frozenset(("pass", "relcl", "xsubj"))


@dataclass(frozen=True, slots=True)
class WordPosition:
    """Index of a word and of its sentence's first word, and the basic tree of all words so far."""

    word: int
    start: int
    heads: Sequence[int]
    deprels: Sequence[str]

    @property
    def basic(self) -> Edge:
        """The word's relation in the basic tree, if it has a head."""
        head = self.heads[self.word]
        return NOWHERE if head == ROOT else head, self.deprels[self.word]

    def number(self, head: int) -> int:
        """Return an index as heads are numbered in the file: from 1, and 0 is the root."""
        return 0 if head == ROOT else head - self.start + 1


Rule = Callable[[Sequence[Edge], WordPosition], Sequence[Edge]]


def _no_gaps(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Replace paths of several steps by the basic relation, and remove duplicates of the others."""
    kept: list[Edge] = []
    seen: set[Edge] = set()
    for edge in edges:
        is_path = ">" in edge[1]
        if is_path or edge not in seen:
            kept.append(position.basic if is_path else edge)
            seen.add(kept[-1])
    return kept


def _no_shared_parents(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Keep only the conjunct relation of a conjunct, the last if there are several."""
    conjuncts = [edge for edge in edges if edge[1].startswith("conj") and ">" not in edge[1]]
    return conjuncts[-1:] or edges


def _no_control(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Remove the subjects of open complements."""
    return [edge for edge in edges if not _is_controlled_subject(edge, position)]


def _is_controlled_subject(edge: Edge, position: WordPosition) -> bool:
    """Whether an edge is the subject of an open complement."""
    head, path = edge
    if head < 0 or position.deprels[head] != "xcomp":
        return False
    return any(step.startswith("nsubj") for step in path.split(">"))


def _no_relative_clauses(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Remove the antecedent from the arguments of its relative clause."""
    kept: list[Edge] = []
    for head, path in edges:
        if path.partition(">")[0] == "ref":
            kept.append(position.basic)
        elif not _is_relative_clause(head, position):
            kept.append((head, path))
    return kept


def _is_relative_clause(head: int, position: WordPosition) -> bool:
    """Whether the head is a clause that modifies the word itself, as the program counts words."""
    if head < 0 or not position.deprels[head].startswith("acl"):
        return False
    return position.number(position.heads[head]) == position.word - position.start


def _no_case(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Remove cases and prepositions from relation names."""
    return [(head, ">".join(map(_without_case, path.split(">")))) for head, path in edges]


def _without_case(step: str) -> str:
    """Return a relation without its case or preposition."""
    name, *rest = step.split(":")
    has_case = name in _WITH_CASE and len(rest) == 1 and rest[0] not in _NOT_A_CASE
    return name if has_case else step


RULES: Mapping[str, Rule] = {
    "1": _no_gaps,
    "2": _no_shared_parents,
    "4": _no_control,
    "5": _no_relative_clauses,
    "6": _no_case,
}
"""Rules by the digit that selects them, in the order in which they are applied."""
