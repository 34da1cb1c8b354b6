"""Chunks in two columns of tags, counted as conlleval does (Tjong Kim Sang and Buchholz, 2000).

A tag is a letter, a hyphen and a type, which may have hyphens itself. A chunk is nowhere spelt out:
it starts and ends between two tags, by rules that know more letters than one scheme has:

    before  after   between them, for tags of one type
    B I     B       one chunk ends, the next starts
    E       E I     likewise
    O       B I E   a chunk starts
    B I E   O       a chunk ends
    [ ]     any     a chunk ends: brackets are chunks of one word, and each starts one

Another type ends what was before (but O and .) and starts what comes (but O and .). A chunk is
right when it starts and ends in both columns at once and its types agree word by word.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from spanloom.metrics.counts import Counts

Pair = tuple[str, str]
"""The gold tag of a word and its predicted one."""

_BREAK = ("O", "O")
_PARTS = frozenset({("B", "B"), ("I", "B"), ("E", "E"), ("E", "I")})
_STARTS = _PARTS | {("O", "B"), ("O", "I"), ("O", "E")}
_ENDS = _PARTS | {("B", "O"), ("I", "O"), ("E", "O")}
_BRACKETS = frozenset("[]")
_NEUTRAL = frozenset("O.")


class _Step(NamedTuple):
    """What happens between two words: types of chunks that start, and the fate of one right so far.

    ``ended`` is its type where it ends in both columns; ``fails`` is that it ends in one, or that
    the types differ from here on.
    """

    gold: str | None
    predicted: str | None
    ended: str | None
    fails: bool


_NOTHING = _Step(None, None, None, False)


class _Steps(dict[tuple[Pair, Pair], _Step | None]):
    """Each step worked out once, as a text has few distinct ones; None where nothing happens."""

    def __missing__(self, key: tuple[Pair, Pair]) -> _Step | None:
        step = _step(*key)
        self[key] = None if step == _NOTHING else step
        return self[key]


def count_chunks(pairs: Iterable[Pair | None]) -> dict[str, Counts]:
    """Count chunks by type, sorted; None is the end of a sentence, where no chunk goes on."""
    row = [_BREAK, *(pair or _BREAK for pair in pairs)]
    steps = [step for step in map(_Steps().__getitem__, pairwise(row)) if step]
    gold = Counter(step.gold for step in steps if step.gold is not None)
    predicted = Counter(step.predicted for step in steps if step.predicted is not None)
    hits = _hits(steps, split(row[-1][0])[1])
    return {
        label: Counts(hits[label], predicted[label], gold[label])
        for label in sorted({*gold, *predicted})
    }


def count_right(pairs: Iterable[Pair | None]) -> Counts:
    """Count the words and those whose tags say the same; ``hits`` of as many gold as predicted."""
    words = Counter(pair for pair in pairs if pair)
    right = sum(many for (one, two), many in words.items() if split(one) == split(two))
    return Counts(right, words.total(), words.total())


def split(tag: str) -> tuple[str, str]:
    """Return letter and type of a tag; the types "" and "0" are none, as they are in Perl."""
    letter, hyphen, label = tag.partition("-")
    return letter, label if hyphen and label != "0" else ""


def _hits(steps: Iterable[_Step], last: str) -> Counter[str]:
    """Count the right chunks by type; one that is open at the end of the text is of type last."""
    found: Counter[str] = Counter()
    open_ = False
    for step in steps:
        if open_ and step.ended is not None:
            found[step.ended] += 1
        if step.ended is not None or step.fails:
            open_ = False
        if step.gold is not None and step.gold == step.predicted:
            open_ = True
    found[last] += open_
    return found


def _step(before: Pair, after: Pair) -> _Step:
    (gold, predicted), (then, guess) = map(split, before), map(split, after)
    ends = _ends(gold, then), _ends(predicted, guess)
    return _Step(
        then[1] if _starts(gold, then) else None,
        guess[1] if _starts(predicted, guess) else None,
        gold[1] if all(ends) else None,
        ends[0] != ends[1] or then[1] != guess[1],
    )


def _starts(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a chunk starts with the second tag."""
    (letter, label), (follower, other) = before, after
    changed = follower not in _NEUTRAL and label != other
    return (letter, follower) in _STARTS or changed or follower in _BRACKETS


def _ends(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a chunk ends with the first tag."""
    (letter, label), (follower, other) = before, after
    changed = letter not in _NEUTRAL and label != other
    return (letter, follower) in _ENDS or changed or letter in _BRACKETS
