"""Tuples of open information extraction, compared by their words (CaRB: Bhardwaj et al. 2019).

Every gold tuple is compared with every predicted one of its sentence. For recall the best one
counts, whichever others it is best for too; for precision each has one partner, found greedily.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BE = frozenset({"be", "is", "am", "are", "was", "were", "been", "being"})
_SAID = ("said", "told", "added", "adds", "says")
_PREPOSITIONS = frozenset(
    """above across against along among around at before behind below beneath beside between by for
    from in into near of off on to toward under upon with within""".split()
)


class Tuple(NamedTuple):
    """A relation and its arguments, words parted by blanks, and how sure it is."""

    relation: str
    arguments: tuple[str, ...] = ()
    confidence: float = 1.0


class Overlap(NamedTuple):
    """Shares of the predicted and of the gold words that are the other's too."""

    precision: float
    recall: float


class Point(NamedTuple):
    """What tuples of that confidence and above are worth."""

    precision: float
    recall: float
    confidence: float


Match = Callable[[Tuple, Tuple], Overlap]
Extracted = Mapping[str, Sequence[Tuple]]  # sentences and their tuples

_NOTHING = Overlap(0.0, 0.0)


class NoMatchError(Exception):
    """Two tuples could not be compared, as the one or the other lacks what is compared."""


def lenient(gold: Tuple, predicted: Tuple) -> Overlap:
    """Compare first arguments, and all others as one; of "said" also the other way round.

    Nothing is shared where the relations share no word, or the prediction lacks an argument.
    """
    mine, theirs = _two(gold.arguments), _two(predicted.arguments)
    straight = _overlap(gold.relation, mine, predicted.relation, theirs)
    if not any(word in gold.relation for word in _SAID):
        return straight
    return max(straight, _overlap(gold.relation, mine, predicted.relation, theirs[::-1]))


def simple(gold: Tuple, predicted: Tuple) -> Overlap:
    """Compare as ``lenient`` does, but in this order alone, whatever the relations share.

    Raises ``NoMatchError`` where one has no argument or the words of one are none.
    """
    if not gold.arguments or not predicted.arguments:
        raise NoMatchError("IndexError: list index out of range")
    parts = [
        (gold.arguments[0], predicted.arguments[0]),
        (" ".join(gold.arguments[1:]), " ".join(predicted.arguments[1:])),
    ]
    return _ratio([(gold.relation, predicted.relation), *parts])


def strict(gold: Tuple, predicted: Tuple) -> Overlap:
    """Compare argument by argument; relations and the first two must share a word each.

    Raises ``NoMatchError`` where they do not.
    """
    parts = [
        (gold.relation, predicted.relation),
        *zip(gold.arguments, predicted.arguments, strict=False),
    ]
    lacking = len(predicted.arguments) < min(2, len(gold.arguments))
    if lacking or not all(_shared(one.split(), two.split()) for one, two in parts[:3]):
        raise NoMatchError("TypeError: 'bool' object is not subscriptable")
    rest = [(each, "") for each in gold.arguments[len(predicted.arguments) :]]
    return _ratio([*parts, *rest])


def curve(gold: Extracted, predicted: Extracted, match: Match) -> list[Point]:
    """Return a point for each confidence that some prediction has, ascending.

    Predictions of other sentences than gold's count nowhere. Raises what ``match`` does.
    """
    levels = sorted({each.confidence for found in predicted.values() for each in found})
    place = {level: number for number, level in enumerate(levels)}
    sums: NDArray[np.float64] = np.zeros((4, len(levels)))  # shared and all, predicted and gold
    for sentence, right in gold.items():
        found = predicted.get(sentence, ())
        first = 0
        for level, row in _levels(right, found, match):
            sums[:, first : place[level] + 1] += np.array(row)[:, None]
            first = place[level] + 1
        sums[3, first:] += len(right)
    return [
        Point(p / pl if pl else 1.0, r / rl if rl else 0.0, level)
        for level, (p, pl, r, rl) in zip(levels, sums.T.tolist(), strict=True)
    ]


def binary(extracted: Extracted) -> dict[str, list[Tuple]]:
    """Return tuples of two arguments, as CaRB's program makes them.

    Of more arguments the last is taken, with the second and its preposition in the relation, as
    often as there are arguments but one: the program means to take each in its turn. Raises
    ``NoMatchError`` for a third argument without words.
    """
    found: dict[str, list[Tuple]] = defaultdict(list)
    for sentence, given in extracted.items():
        for each in given:
            found[sentence] += [_binary(each)] * max(1, len(each.arguments) - 1)
    return found


def _binary(given: Tuple) -> Tuple:
    if len(given.arguments) <= 2:
        return given
    if not all(argument.split() for argument in given.arguments[2:]):
        raise NoMatchError("IndexError: list index out of range")
    relation = f"{given.relation} {given.arguments[1]}"
    words = given.arguments[-1].split()
    if words[0].lower() in _PREPOSITIONS:
        relation, words = f"{relation} {words[0]}", words[1:]
    return given._replace(relation=relation, arguments=(given.arguments[0], " ".join(words)))


def _two(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return arguments if len(arguments) < 2 else (arguments[0], " ".join(arguments[1:]))


def _overlap(
    relation: str, arguments: tuple[str, ...], other: str, others: tuple[str, ...]
) -> Overlap:
    """Compare relations, of which "be" is any of its forms, and up to two arguments."""
    mine, theirs = relation.split(), other.split()
    shared = _shared(mine, theirs)
    more_be = theirs.count("be") > mine.count("be")
    shared += more_be and not _BE.isdisjoint(mine)
    if not shared or len(others) < len(arguments):
        return _NOTHING
    found, gold = len(theirs), len(mine)
    for one, two in zip(arguments, others, strict=False):
        left, right = one.split(), two.split()
        found, gold = found + len(right), gold + len(left)
        shared += _shared(left, right)
    return Overlap(shared / found, shared / gold)


def _ratio(parts: Iterable[tuple[str, str]]) -> Overlap:
    """Compare parts word by word; raises ``NoMatchError`` where a side has no word."""
    shared = gold = found = 0
    for one, two in parts:
        mine, theirs = one.split(), two.split()
        shared += _shared(mine, theirs)
        gold, found = gold + len(mine), found + len(theirs)
    if not gold or not found:
        raise NoMatchError("ZeroDivisionError: float division by zero")
    return Overlap(shared / found, shared / gold)


def _shared(one: Sequence[str], two: Sequence[str]) -> int:
    """Count the words of both, each as often as it is in both."""
    left = list(two)  # short: quicker than a Counter
    shared = 0
    for word in one:
        if word in left:
            left.remove(word)
            shared += 1
    return shared


def _levels(
    gold: Sequence[Tuple], found: Sequence[Tuple], match: Match
) -> Iterable[tuple[float, tuple[float, int, float, int]]]:
    """Yield the counts of a sentence for each confidence in it, ascending."""
    scores = [[match(one, two) for two in found] for one in gold]
    pairs = sorted(
        (-score.precision, row, column)
        for row, line in enumerate(scores)
        for column, score in enumerate(line)
    )
    for level in sorted({each.confidence for each in found}):
        kept = [column for column, each in enumerate(found) if each.confidence >= level]
        recall: float = 0
        for line in scores:
            recall += max(line[column].recall for column in kept)
        yield level, (_greedy(pairs, {*kept}), len(kept), recall, len(gold))


def _greedy(pairs: Iterable[tuple[float, int, int]], columns: set[int]) -> float:
    """Add up the precision of pairs, the best first, each row and column once."""
    total: float = 0
    rows: set[int] = set()
    for loss, row, column in pairs:
        if column in columns and row not in rows:
            total -= loss
            rows.add(row)
            columns.remove(column)
    return total
