"""Compare Open IE tuples by their words (CaRB: Bhardwaj et al. 2019).

Every gold tuple is compared with every predicted one of its sentence. For recall each gold tuple
takes its best match, possibly shared; for precision matches are one to one, found greedily.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BE = frozenset({"be", "is", "am", "are", "was", "were", "been", "being"})
_SPEECH_VERBS = ("said", "told", "added", "adds", "says")
_PREPOSITIONS = frozenset(
    """above across against along among around at before behind below beneath beside between by for
    from in into near of off on to toward under upon with within""".split()
)


class Tuple(NamedTuple):
    """A relation and its arguments, words separated by blanks, and its confidence."""

    relation: str
    arguments: tuple[str, ...] = ()
    confidence: float = 1.0


class Overlap(NamedTuple):
    """Shares of the predicted words that are gold, and of the gold words that are predicted."""

    precision: float
    recall: float


class Point(NamedTuple):
    """Precision and recall of the tuples with that confidence or above."""

    precision: float
    recall: float
    confidence: float


Match = Callable[[Tuple, Tuple], Overlap]
Extracted = Mapping[str, Sequence[Tuple]]  # sentence -> its tuples

_NO_OVERLAP = Overlap(0.0, 0.0)


class NoMatchError(Exception):
    """Two tuples cannot be compared, because one of them lacks what is compared."""


def lenient(gold: Tuple, predicted: Tuple) -> Overlap:
    """Compare first arguments, and all others joined.

    For relations like "said" the swapped order is tried too. The overlap is 0 if the relations
    share no word, or the prediction lacks an argument.
    """
    gold_side = gold.relation, _join_rest(gold.arguments)
    predicted_arguments = _join_rest(predicted.arguments)
    in_order = _lenient_overlap(*gold_side, predicted.relation, predicted_arguments)
    if not any(word in gold.relation for word in _SPEECH_VERBS):
        return in_order
    swapped = _lenient_overlap(*gold_side, predicted.relation, predicted_arguments[::-1])
    return max(in_order, swapped)


def simple(gold: Tuple, predicted: Tuple) -> Overlap:
    """Compare like ``lenient``, but in the given order alone, and even if relations share no word.

    Raises ``NoMatchError`` if a tuple has no argument, or one side has no words.
    """
    if not gold.arguments or not predicted.arguments:
        raise NoMatchError("IndexError: list index out of range")
    parts = [
        (gold.arguments[0], predicted.arguments[0]),
        (" ".join(gold.arguments[1:]), " ".join(predicted.arguments[1:])),
    ]
    return _total_overlap([(gold.relation, predicted.relation), *parts])


def strict(gold: Tuple, predicted: Tuple) -> Overlap:
    """Compare argument by argument; relations and the first two arguments must share a word each.

    Raises ``NoMatchError`` if they do not.
    """
    parts = [
        (gold.relation, predicted.relation),
        *zip(gold.arguments, predicted.arguments, strict=False),
    ]
    is_lacking = len(predicted.arguments) < min(2, len(gold.arguments))
    if is_lacking or not all(_count_shared(a.split(), b.split()) for a, b in parts[:3]):
        raise NoMatchError("TypeError: 'bool' object is not subscriptable")
    unmatched = [(argument, "") for argument in gold.arguments[len(predicted.arguments) :]]
    return _total_overlap([*parts, *unmatched])


def curve(gold: Extracted, predicted: Extracted, match: Match) -> list[Point]:
    """Return one point per confidence of the predictions, ascending.

    Predictions for sentences that gold lacks are ignored. Raises what ``match`` raises.
    """
    levels = sorted({item.confidence for items in predicted.values() for item in items})
    level_index = {level: index for index, level in enumerate(levels)}
    # rows: sum of precision, number predicted, sum of recall, number of gold
    sums: NDArray[np.float64] = np.zeros((4, len(levels)))
    for sentence, gold_tuples in gold.items():
        predicted_tuples = predicted.get(sentence, ())
        start = 0
        for level, counts in _counts_by_confidence(gold_tuples, predicted_tuples, match):
            end = level_index[level] + 1
            sums[:, start:end] += np.array(counts)[:, None]
            start = end
        sums[3, start:] += len(gold_tuples)
    return [
        Point(p / num_predicted if num_predicted else 1.0, r / num_gold if num_gold else 0.0, level)
        for level, (p, num_predicted, r, num_gold) in zip(levels, sums.T.tolist(), strict=True)
    ]


def binary(extracted: Extracted) -> dict[str, list[Tuple]]:
    """Return tuples of two arguments, as CaRB's program makes them.

    A tuple of more arguments becomes one of its first and last argument; the second argument and
    the last one's preposition join the relation. It is repeated as often as there are arguments but
    one: the program means to use each argument in turn. Raises ``NoMatchError`` for a third
    argument without words.
    """
    binary_tuples: dict[str, list[Tuple]] = defaultdict(list)
    for sentence, items in extracted.items():
        for item in items:
            binary_tuples[sentence] += [_binary(item)] * max(1, len(item.arguments) - 1)
    return binary_tuples


def _binary(item: Tuple) -> Tuple:
    """Return the tuple with its first and last argument; see ``binary``."""
    if len(item.arguments) <= 2:
        return item
    if not all(argument.split() for argument in item.arguments[2:]):
        raise NoMatchError("IndexError: list index out of range")
    relation = f"{item.relation} {item.arguments[1]}"
    words = item.arguments[-1].split()
    if words[0].lower() in _PREPOSITIONS:
        relation, words = f"{relation} {words[0]}", words[1:]
    return item._replace(relation=relation, arguments=(item.arguments[0], " ".join(words)))


def _join_rest(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first argument and all others joined."""
    return arguments if len(arguments) < 2 else (arguments[0], " ".join(arguments[1:]))


def _lenient_overlap(
    gold_relation: str,
    gold_arguments: tuple[str, ...],
    predicted_relation: str,
    predicted_arguments: tuple[str, ...],
) -> Overlap:
    """Compare relations, counting all forms of "be" as equal, and up to two arguments."""
    gold_words, predicted_words = gold_relation.split(), predicted_relation.split()
    shared = _count_shared(gold_words, predicted_words)
    has_more_be = predicted_words.count("be") > gold_words.count("be")
    shared += has_more_be and not _BE.isdisjoint(gold_words)
    if not shared or len(predicted_arguments) < len(gold_arguments):
        return _NO_OVERLAP
    num_predicted, num_gold = len(predicted_words), len(gold_words)
    for gold_argument, predicted_argument in zip(gold_arguments, predicted_arguments, strict=False):
        gold_words, predicted_words = gold_argument.split(), predicted_argument.split()
        num_predicted, num_gold = num_predicted + len(predicted_words), num_gold + len(gold_words)
        shared += _count_shared(gold_words, predicted_words)
    return Overlap(shared / num_predicted, shared / num_gold)


def _total_overlap(parts: Iterable[tuple[str, str]]) -> Overlap:
    """Compare parts word by word; raises ``NoMatchError`` if a side has no words."""
    shared = num_gold = num_predicted = 0
    for gold, predicted in parts:
        gold_words, predicted_words = gold.split(), predicted.split()
        shared += _count_shared(gold_words, predicted_words)
        num_gold, num_predicted = num_gold + len(gold_words), num_predicted + len(predicted_words)
    if not num_gold or not num_predicted:
        raise NoMatchError("ZeroDivisionError: float division by zero")
    return Overlap(shared / num_predicted, shared / num_gold)


def _count_shared(gold: Sequence[str], predicted: Sequence[str]) -> int:
    """Count the words of both lists, each as often as it occurs in both."""
    remaining = list(predicted)  # faster than a Counter, as lists are short
    shared = 0
    for word in gold:
        if word in remaining:
            remaining.remove(word)
            shared += 1
    return shared


def _counts_by_confidence(
    gold: Sequence[Tuple], predicted: Sequence[Tuple], match: Match
) -> Iterable[tuple[float, tuple[float, int, float, int]]]:
    """Yield the counts of a sentence for each confidence in it, ascending."""
    scores = [[match(item, candidate) for candidate in predicted] for item in gold]
    pairs = sorted(
        (-score.precision, row, column)
        for row, row_scores in enumerate(scores)
        for column, score in enumerate(row_scores)
    )
    for level in sorted({item.confidence for item in predicted}):
        columns = [column for column, item in enumerate(predicted) if item.confidence >= level]
        recall: float = 0
        for row_scores in scores:
            recall += max(row_scores[column].recall for column in columns)
        yield level, (_greedy_precision(pairs, {*columns}), len(columns), recall, len(gold))


def _greedy_precision(pairs: Iterable[tuple[float, int, int]], columns: set[int]) -> float:
    """Add up the precision of the best pairs, greedily, each row and column once."""
    total: float = 0
    used_rows: set[int] = set()
    for negative_precision, row, column in pairs:
        if column in columns and row not in used_rows:
            total -= negative_precision
            used_rows.add(row)
            columns.remove(column)
    return total
