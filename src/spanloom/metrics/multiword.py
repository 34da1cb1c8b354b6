"""Multiword expressions and supersenses (Schneider et al. 2014 and 2018).

Words are numbers over all sentences, so that a whole corpus is compared at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spanloom.metrics.counts import Counts

Group = tuple[int, ...]  # words of an expression, ascending
Class = tuple[str, str]  # shape and kind of sense, as ``SHAPES`` and ``KINDS`` have them

UNCLEAR = "??"  # in gold: what sense this has is not known
SHAPES = ("*", "SWE", "MWE", "ContigMWE", "GappyMWE")
KINDS = ("*", "AnySS", "NoSS", "NOUN", "VERB", "SNACS", "POSS", "P,PP", "P", "PP", "INF")
BY_ROLE = frozenset({"SNACS", "POSS", "P", "PP", "INF"})  # kinds whose two senses are compared

_ANY = "*"
_CATEGORIES = {
    "POSS": ("POSS",),
    "PRON.POSS": ("POSS",),
    "P": ("P,PP", "P"),
    "PP": ("P,PP", "PP"),
    "INF.P": ("INF",),
}
_SENSES = {"n.": "NOUN", "v.": "VERB", "p.": "SNACS"}


class Expression(NamedTuple):
    """A word or a strong multiword expression; "" for no supersense.

    ``function`` is the second supersense that adpositions have beside their ``role``.
    """

    words: Group
    category: str
    role: str = ""
    function: str = ""


class Links(NamedTuple):
    """How many links are predicted, how many of these gold groups hold; and the reverse."""

    held: int
    predicted: int
    found: int
    gold: int


class Compared(NamedTuple):
    """Expressions of a class: words alone, with both senses, with the first, with the second."""

    words: Counts
    labelled: Counts
    role: Counts
    function: Counts


def count_links(gold: Iterable[Group], predicted: Iterable[Group], *, gaps: bool = False) -> Links:
    """Count links between neighbours of a group; both ends must be in one group of the other side.

    Groups of one side share no words. With ``gaps`` only links over words between are counted.
    """
    sides = [*gold], [*predicted]
    mine, theirs = (_links(side, gaps) for side in sides)
    held, found = _held(theirs, sides[0]), _held(mine, sides[1])
    return Links(held, len(theirs), found, len(mine))


def compare_classes(
    gold: Sequence[Expression], predicted: Sequence[Expression]
) -> dict[Class, Compared]:
    """Compare the expressions of each shape and kind of sense, alone of those that are there.

    An expression whose gold sense is unclear counts only as words of any kind.
    """
    unclear = {each.words for each in gold if each.role == UNCLEAR}
    mine, theirs = _by_class(gold, unclear), _by_class(predicted, unclear)
    nothing: dict[Group, Expression] = {}
    found = {
        each: _compared(mine.get(each, nothing), theirs.get(each, nothing))
        for each in {**mine, **theirs}
    }
    for shape in SHAPES:
        one, two = (
            {e.words for e in side if shape in _shapes(e.words)} for side in (gold, predicted)
        )
        if one or two:
            words = Counts(len(one & two), len(two), len(one))
            nil = Compared(words, Counts(), Counts(), Counts())
            found[shape, _ANY] = found.get((shape, _ANY), nil)._replace(words=words)
    return found


def _links(groups: Iterable[Group], gaps: bool) -> list[tuple[int, int]]:
    return [
        (one, two)
        for group in groups
        for one, two in zip(group, group[1:], strict=False)
        if not gaps or two > one + 1
    ]


def _held(links: Iterable[tuple[int, int]], groups: Iterable[Group]) -> int:
    """Count the links whose ends are in one of the groups."""
    owner = {word: number for number, group in enumerate(groups) for word in group}
    return sum(1 for one, two in links if one in owner and owner[one] == owner.get(two))


def _by_class(
    expressions: Iterable[Expression], without: set[Group]
) -> dict[Class, dict[Group, Expression]]:
    """Return the expressions of each class by their words."""
    found: dict[Class, dict[Group, Expression]] = defaultdict(dict)
    for each in expressions:
        if each.words not in without:
            kinds = _kinds(each.category, each.role)
            for shape in _shapes(each.words):
                for kind in kinds:
                    found[shape, kind][each.words] = each
    return found


def _shapes(words: Group) -> tuple[str, ...]:
    if len(words) == 1:
        return ("*", "SWE")
    whole = words[-1] - words[0] + 1 == len(words)
    return ("*", "MWE", "ContigMWE" if whole else "GappyMWE")


def _kinds(category: str, sense: str) -> tuple[str, ...]:
    if not sense:
        return (_ANY, "NoSS")
    kind = _SENSES.get(sense[:2])
    if kind is None:
        return (_ANY, "AnySS")
    parts = _CATEGORIES.get(category, ()) if kind == "SNACS" else ()
    return (_ANY, "AnySS", kind, *parts)


def _compared(gold: Mapping[Group, Expression], predicted: Mapping[Group, Expression]) -> Compared:
    both = [(gold[words], predicted[words]) for words in gold.keys() & predicted.keys()]
    roles = [one.role == two.role for one, two in both]
    functions = [one.function == two.function for one, two in both]
    right = sum(1 for role, function in zip(roles, functions, strict=True) if role and function)
    return Compared(
        *(
            Counts(hits, len(predicted), len(gold))
            for hits in (len(both), right, sum(roles), sum(functions))
        )
    )
