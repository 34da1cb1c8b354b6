"""Compare multiword expressions and supersenses (Schneider et al. 2014 and 2018).

Words are numbered across all sentences, so that a whole corpus is compared at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spanloom.metrics.counts import Counts

Group = tuple[int, ...]  # indices of an expression's words, ascending
Class = tuple[str, str]  # shape and kind of sense, as ``SHAPES`` and ``KINDS`` have them

UNCLEAR = "??"  # in gold: the sense is unknown
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

    ``function`` is the second supersense of adpositions, besides ``role``.
    """

    words: Group
    category: str
    role: str = ""
    function: str = ""


class Links(NamedTuple):
    """Numbers of predicted and of gold links, and of those within a group of the other side."""

    predicted_in_gold: int
    predicted: int
    gold_in_predicted: int
    gold: int


class Compared(NamedTuple):
    """Counts of a class: words alone, with both senses, with the first, with the second."""

    words: Counts
    senses: Counts
    role: Counts
    function: Counts


def count_links(gold: Iterable[Group], predicted: Iterable[Group], *, gaps: bool = False) -> Links:
    """Count links between adjacent words of a group that are within one group of the other side.

    Groups of one side share no words. With ``gaps`` only links across other words are counted.
    """
    sides = [*gold], [*predicted]
    gold_links, predicted_links = (_links(side, gaps) for side in sides)
    predicted_in_gold = _count_within(predicted_links, sides[0])
    gold_in_predicted = _count_within(gold_links, sides[1])
    return Links(predicted_in_gold, len(predicted_links), gold_in_predicted, len(gold_links))


def compare_classes(
    gold: Sequence[Expression], predicted: Sequence[Expression]
) -> dict[Class, Compared]:
    """Compare the expressions of each shape and kind of sense that occurs.

    An expression whose gold sense is unclear counts only as words of any kind.
    """
    unclear = {expression.words for expression in gold if expression.role == UNCLEAR}
    gold_classes, predicted_classes = _by_class(gold, unclear), _by_class(predicted, unclear)
    empty: dict[Group, Expression] = {}
    compared = {
        key: _compare_class(gold_classes.get(key, empty), predicted_classes.get(key, empty))
        for key in {**gold_classes, **predicted_classes}
    }
    for shape in SHAPES:
        gold_words, predicted_words = (
            {e.words for e in side if shape in _shapes(e.words)} for side in (gold, predicted)
        )
        if gold_words or predicted_words:
            hits = len(gold_words & predicted_words)
            words = Counts(hits, len(predicted_words), len(gold_words))
            no_counts = Compared(words, Counts(), Counts(), Counts())
            compared[shape, _ANY] = compared.get((shape, _ANY), no_counts)._replace(words=words)
    return compared


def _links(groups: Iterable[Group], gaps: bool) -> list[tuple[int, int]]:
    """Return pairs of adjacent words of each group; with ``gaps`` only those across other words."""
    return [
        (word, next_word)
        for group in groups
        for word, next_word in zip(group, group[1:], strict=False)
        if not gaps or next_word > word + 1
    ]


def _count_within(links: Iterable[tuple[int, int]], groups: Iterable[Group]) -> int:
    """Count the links whose ends are in one of the groups."""
    group_of = {word: number for number, group in enumerate(groups) for word in group}
    return sum(
        1
        for word, next_word in links
        if word in group_of and group_of[word] == group_of.get(next_word)
    )


def _by_class(
    expressions: Iterable[Expression], excluded: set[Group]
) -> dict[Class, dict[Group, Expression]]:
    """Return the expressions of each class by their words."""
    classes: dict[Class, dict[Group, Expression]] = defaultdict(dict)
    for expression in expressions:
        if expression.words not in excluded:
            kinds = _kinds(expression.category, expression.role)
            for shape in _shapes(expression.words):
                for kind in kinds:
                    classes[shape, kind][expression.words] = expression
    return classes


def _shapes(words: Group) -> tuple[str, ...]:
    """Return the shapes of an expression, among ``SHAPES``."""
    if len(words) == 1:
        return ("*", "SWE")
    is_contiguous = words[-1] - words[0] + 1 == len(words)
    return ("*", "MWE", "ContigMWE" if is_contiguous else "GappyMWE")


def _kinds(category: str, sense: str) -> tuple[str, ...]:
    """Return the kinds of sense of an expression, among ``KINDS``."""
    if not sense:
        return (_ANY, "NoSS")
    kind = _SENSES.get(sense[:2])
    if kind is None:
        return (_ANY, "AnySS")
    subkinds = _CATEGORIES.get(category, ()) if kind == "SNACS" else ()
    return (_ANY, "AnySS", kind, *subkinds)


def _compare_class(
    gold: Mapping[Group, Expression], predicted: Mapping[Group, Expression]
) -> Compared:
    """Count matching words, senses, roles and functions of one class."""
    pairs = [(gold[words], predicted[words]) for words in gold.keys() & predicted.keys()]
    roles = [a.role == b.role for a, b in pairs]
    functions = [a.function == b.function for a, b in pairs]
    num_right = sum(1 for role, function in zip(roles, functions, strict=True) if role and function)
    return Compared(
        *(
            Counts(hits, len(predicted), len(gold))
            for hits in (len(pairs), num_right, sum(roles), sum(functions))
        )
    )
