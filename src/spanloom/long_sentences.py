"""Split sentences too long to be processed at once, since their cost is quadratic.

Training, annotation and ``check`` use the same functions, so they agree on the bounds of parts.
"""

import unicodedata
from collections.abc import Sequence

LONGEST = 256  # words of a sentence that are processed at once
_CLOSING = {"Po", "Pe", "Pf"}  # stops, commas, closing brackets and quotes
_LINE_BREAK, _PUNCTUATION, _WIDE_GAP, _NONE = 3, 2, 1, 0  # split points, best first

Bounds = tuple[int, int]


def split_long(
    text: str, words: Sequence[Bounds], sentences: Sequence[Bounds]
) -> tuple[tuple[Bounds, ...], frozenset[int]]:
    """Return sentences of at most ``LONGEST`` words, and the first words of later parts.

    Longer sentences are split in the latter half of the available words: at the last line break,
    else after the last closing punctuation, else at the last wide gap, else after the last word
    that fits.
    """
    if all(end - first <= LONGEST for first, end in sentences):
        return tuple(sentences), frozenset()
    split: list[Bounds] = []
    inner_starts: set[int] = set()
    for first, end in sentences:
        starts = [first]
        while end - starts[-1] > LONGEST:
            starts.append(_next_start(text, words, starts[-1], end))
        split += zip(starts, [*starts[1:], end], strict=True)
        inner_starts.update(starts[1:])
    return tuple(split), frozenset(inner_starts)


def merge_parts(sentences: Sequence[Bounds], inner: frozenset[int]) -> tuple[Bounds, ...]:
    """Return the sentences that ``split_long`` split."""
    if not inner:
        return tuple(sentences)
    starts = [first for first, _ in sentences if first not in inner]
    return tuple(zip(starts, [*starts[1:], sentences[-1][1]], strict=True))


def _next_start(text: str, words: Sequence[Bounds], first: int, end: int) -> int:
    """Return the first word of the next part; the last two parts share the remaining words."""
    remaining = end - first
    max_words = LONGEST if remaining >= 2 * LONGEST else (remaining + 1) // 2
    candidates = range(first + max_words // 2 + 1, first + max_words + 1)
    best = max(candidates, key=lambda word: (_split_quality(text, words, word), word))
    return best if _split_quality(text, words, best) else first + max_words


def _split_quality(text: str, words: Sequence[Bounds], word: int) -> int:
    """Return how good a split before a word is, 0 being the worst."""
    previous_end, start = words[word - 1][1], words[word][0]
    gap = text[previous_end:start]
    if len(f"{gap}.".splitlines()) > 1:
        return _LINE_BREAK
    if unicodedata.category(text[previous_end - 1]) in _CLOSING:
        return _PUNCTUATION
    return _WIDE_GAP if len(gap) > 1 else _NONE
