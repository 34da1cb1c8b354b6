"""Sentences too long to be read at once, in parts that are: what costs n² costs little of each.

Training, annotation and ``check`` ask the same functions, so they agree on where a part ends.
"""

import unicodedata
from collections.abc import Sequence

LONGEST = 256  # words of a sentence that are read at once
_CLOSING = {"Po", "Pe", "Pf"}  # stops, commas, what closes brackets and quotes
_LINE, _SIGN, _WIDE, _NONE = 3, 2, 1, 0  # where to part best, and next to that

Bounds = tuple[int, int]


def parts(
    text: str, words: Sequence[Bounds], sentences: Sequence[Bounds]
) -> tuple[tuple[Bounds, ...], frozenset[int]]:
    """Return sentences of at most ``LONGEST`` words, and the words that begin all but first parts.

    A longer one ends a part in the latter half of its room: at a line break, else behind a closing
    sign, else at a wider blank, the last of each; where there is none, the room is filled.
    """
    if all(end - first <= LONGEST for first, end in sentences):
        return tuple(sentences), frozenset()
    found: list[Bounds] = []
    inner: set[int] = set()
    for first, end in sentences:
        starts = [first]
        while end - starts[-1] > LONGEST:
            starts.append(_next(text, words, starts[-1], end))
        found += zip(starts, [*starts[1:], end], strict=True)
        inner.update(starts[1:])
    return tuple(found), frozenset(inner)


def joined(sentences: Sequence[Bounds], inner: frozenset[int]) -> tuple[Bounds, ...]:
    """Return the sentences that ``parts`` made parts of."""
    if not inner:
        return tuple(sentences)
    starts = [first for first, _ in sentences if first not in inner]
    return tuple(zip(starts, [*starts[1:], sentences[-1][1]], strict=True))


def _next(text: str, words: Sequence[Bounds], first: int, end: int) -> int:
    """The word at which the next part begins; the last two parts share what is left."""
    left = end - first
    room = LONGEST if left >= 2 * LONGEST else (left + 1) // 2
    places = range(first + room // 2 + 1, first + room + 1)
    best = max(places, key=lambda place: (_fitness(text, words, place), place))
    return best if _fitness(text, words, best) else first + room


def _fitness(text: str, words: Sequence[Bounds], place: int) -> int:
    """How well a part may end before a word."""
    last, start = words[place - 1][1], words[place][0]
    gap = text[last:start]
    if len(f"{gap}.".splitlines()) > 1:
        return _LINE
    if unicodedata.category(text[last - 1]) in _CLOSING:
        return _SIGN
    return _WIDE if len(gap) > 1 else _NONE
