"""Words of a text and the rows they stand in: where each character is seen.

All widths are pixels at the page's font sizes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spanloom.page.glyphs import columns, is_right_to_left, visible

COLUMN = 8.0  # one column of the text
ROW_COLUMNS = 110  # the longest word that is not cut

_LINE = re.compile(r"(.*?)(\r?\n|\Z)", re.DOTALL)
# One sign for each blank that is no space (tab, form feed…): it is shown, so it takes room.
_WORD = re.compile(r"\S+|[\t\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Word:
    """A run of characters without blanks; ``text`` is what is shown of ``[start, end)``."""

    start: int
    end: int
    text: str
    line: int
    backward: bool | None = False

    @property
    def width(self) -> float:
        """Pixels the word takes."""
        return columns(self.text) * COLUMN


@dataclass(frozen=True, slots=True)
class Row:
    """Words ``first … first + len(words)`` of a text, each at ``xs``, in a row of that width.

    The row holds the characters ``[start, end)``, the line end too. It ``opens`` its line or goes
    on with it, and reads from right to left if ``backward``.
    """

    line: int
    start: int
    end: int
    words: tuple[Word, ...]
    xs: tuple[float, ...]
    opens: bool
    backward: bool = False

    @property
    def width(self) -> float:
        """The right end of the rightmost word."""
        return max(x + word.width for x, word in zip(self.xs, self.words, strict=True))

    def extent(self, start: int, end: int) -> tuple[float, float]:
        """Return left and right of the characters ``[start, end)`` cut to this row."""
        first, last = word_range(self.words, start, end)
        if first >= last:
            return self._gap(start, end)
        ends = [self._inside(at, start, end) for at in range(first, last)]
        return min(left for left, _ in ends), max(right for _, right in ends)

    def holds(self, start: int, end: int) -> bool:
        """Whether any character of ``[start, end)`` is shown in this row."""
        first, last = word_range(self.words, start, end)
        return first < last

    def _inside(self, at: int, start: int, end: int) -> tuple[float, float]:
        """Return left and right of the part of ``[start, end)`` inside one word."""
        word, x = self.words[at], self.xs[at]
        one, other = (_offset(word, point) for point in (start, end))
        if word.backward:
            return x + word.width - other, x + word.width - one
        return x + one, x + other

    def _gap(self, start: int, end: int) -> tuple[float, float]:
        """Return where characters between words stand: right behind the word before them."""
        at = bisect_right(self.words, start, key=_start) - 1
        if at < 0:
            return self.xs[0], self.xs[0]
        word = self.words[at]
        point = min(start, word.end)
        edge, _ = self._inside(at, point, point)
        blanks, width = (start - point) * COLUMN, (end - start) * COLUMN
        if word.backward:
            return edge - blanks - width, edge - blanks
        return edge + blanks, edge + blanks + width


def word_range(words: Sequence[Word], start: int, end: int) -> tuple[int, int]:
    """Return the words ``[first, last)`` that share a character with ``[start, end)``."""
    return bisect_right(words, start, key=_end), bisect_left(words, end, key=_start)


def _start(word: Word) -> int:
    return word.start


def _end(word: Word) -> int:
    return word.end


def _offset(word: Word, point: int) -> float:
    """Return the pixels of a word before a character (of the text), cut to the word."""
    if point <= word.start:
        return 0.0
    if point >= word.end:
        return word.width
    if len(word.text) == word.end - word.start:
        return columns(word.text[: point - word.start]) * COLUMN
    # A shown sign may be longer than its character, so the place is found by proportion.
    return word.width * (point - word.start) / (word.end - word.start)


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words of all lines; a line without any has one empty word at its start."""
    found: list[Word] = []
    for line, match in enumerate(_LINE.finditer(text)):
        start, end = match.span(1)
        if match.start() == len(text) and line:
            break
        before = len(found)
        for word in _WORD.finditer(text, start, end):
            found += _split(text, word.start(), word.end(), line)
        if len(found) == before:
            found.append(Word(start, start, "", line))
    return tuple(found)


def _split(text: str, start: int, end: int, line: int) -> Iterator[Word]:
    """Cut a word that is longer than a row, never before a combining mark or inside an emoji."""
    at, used = start, 0
    for place in range(start, end):
        size = columns(visible(text[place]))
        whole = size and text[place - 1] != _JOINER
        if whole and place > at and used + size > ROW_COLUMNS:
            yield _word(text, at, place, line)
            at, used = place, 0
        used += size
    yield _word(text, at, end, line)


def _word(text: str, start: int, end: int, line: int) -> Word:
    shown = visible(text[start:end])
    return Word(start, end, shown, line, is_right_to_left(shown))
