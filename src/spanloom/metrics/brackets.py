"""Constituents of two trees over the same words, compared as evalb does (Black et al., 1991).

What counts follows Collins' settings. Words of some tags (punctuation, traces) are left out first,
so brackets are over the others; those over no words or of some labels do not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.metrics.counts import Counts

Bracket = tuple[int, int, str]
"""A label over the words ``[start, end)``."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Labels that do not count, as a word's tag or a bracket's; labels that mean another one.

    ``no_length``: tags whose words do not count in a sentence's length either.
    """

    deleted: frozenset[str] = frozenset()
    no_length: frozenset[str] = frozenset()
    same: Mapping[str, str] = field(default_factory=dict)


COLLINS = Rules(
    frozenset(["TOP", "-NONE-", ",", ":", "``", "''", "."]),
    frozenset(["-NONE-"]),
    {"PRT": "ADVP"},
)


class Sentence(NamedTuple):
    """The words that count, their tags, and all brackets with bounds in these words."""

    words: Sequence[str]
    tags: Sequence[str]
    brackets: Sequence[Bracket]


class Compared(NamedTuple):
    """Brackets, predicted ones that cross a gold one, and tags (as many gold as predicted)."""

    brackets: Counts
    crossing: int
    tags: Counts


def compare(gold: Sentence, predicted: Sentence, rules: Rules = COLLINS) -> Compared:
    """Compare two trees over the same words; of equal brackets each is matched once."""
    mine, theirs = counted(gold.brackets, rules), counted(predicted.brackets, rules)
    hits = (Counter(mine) & Counter(theirs)).total()
    bounds = {(start, end) for start, end, _ in mine}
    apart = [(start, end) for start, end, _ in theirs if (start, end) not in bounds]
    crossed = _Crossed(bounds if apart else ())
    crossing = sum(1 for start, end in apart if crossed.by(start, end))
    same = rules.same
    pairs = zip(gold.tags, predicted.tags, strict=True)
    right = sum(1 for one, two in pairs if one == two or same.get(one, one) == same.get(two, two))
    words = len(gold.tags)
    brackets = Counts(hits, len(theirs), len(mine))
    return Compared(brackets, crossing, Counts(right, words, words))


def counted(brackets: Iterable[Bracket], rules: Rules = COLLINS) -> list[Bracket]:
    """Return the brackets that count, without functions, each label as the one it means."""
    found = []
    for start, end, label in brackets:
        if start != end:
            plain = label.partition("-")[0].partition("=")[0]
            if plain not in rules.deleted:
                found.append((start, end, rules.same.get(plain, plain)))
    return found


class _Crossed:
    """Finds whether a bracket crosses some of a tree's; in linear time over all."""

    def __init__(self, bounds: Iterable[tuple[int, int]]) -> None:
        """Note for each place between two words the innermost bracket around it."""
        self.around: dict[int, tuple[int, int]] = {}
        stack: list[tuple[int, int]] = []
        spans = [(start, end) for start, end in bounds if start < end]
        place = 0
        for start, end in sorted(spans, key=lambda each: (each[0], -each[1])):
            place = self._up_to(place, start, stack)
            stack.append((start, end))
        self._up_to(place, stack[0][1] if stack else place, stack)

    def by(self, start: int, end: int) -> bool:
        """Whether a bracket of the tree has one of these bounds within and one without."""
        left, right = self.around.get(start), self.around.get(end)
        return bool(left and left[1] < end) or bool(right and start < right[0])

    def _up_to(self, place: int, end: int, stack: list[tuple[int, int]]) -> int:
        """Note the innermost for the places after ``place``, up to ``end``; close what ends."""
        for each in range(place + 1, end + 1):
            while stack and stack[-1][1] <= each:
                stack.pop()
            if stack:
                self.around[each] = stack[-1]
        return max(place, end)
