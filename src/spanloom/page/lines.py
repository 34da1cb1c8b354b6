"""Words set in rows: where every word stands, given how much room its annotation needs.

All widths are pixels at the page's font sizes. Words stand in the order they are read: a row that
reads from right to left starts at its right end, and a run of words of the other direction is set
the other way round.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from spanloom.page.glyphs import columns, is_right_to_left, visible

COLUMN = 8.0  # one column of the text
ROW_COLUMNS = 110
BETWEEN_BOXES = 6.0  # least gap between two captions side by side

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


@dataclass(slots=True)
class Demand:
    """Room that annotation needs: pixels beside words, and pixels between two words.

    ``apart[w]`` lists ``(v, px)``: words ``v`` and ``w`` stand at least ``px`` apart.
    """

    left: dict[int, float] = field(default_factory=dict)
    right: dict[int, float] = field(default_factory=dict)
    apart: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def beside(self, word: int, left: float, right: float) -> None:
        """Ask for room at the two sides of a word."""
        self.left[word] = max(left, self.left.get(word, 0.0))
        self.right[word] = max(right, self.right.get(word, 0.0))

    def between(self, one: int, other: int, room: float) -> None:
        """Ask for room between two words, whichever of them stands first."""
        self.apart.setdefault(one, []).append((other, room))
        self.apart.setdefault(other, []).append((one, room))


@dataclass(frozen=True, slots=True)
class Row:
    """Words ``first … first + len(words)`` of a text, each at ``xs``, in a row of that width.

    The row holds the characters ``[start, end)``, the line end too.
    """

    line: int
    start: int
    end: int
    words: tuple[Word, ...]
    xs: tuple[float, ...]
    opens: bool

    @property
    def width(self) -> float:
        """The right end of the rightmost word."""
        return max(x + word.width for x, word in zip(self.xs, self.words, strict=True))

    @property
    def backward(self) -> bool:
        """Whether the row reads from right to left."""
        return bool(next((way for word in self.words if (way := word.backward) is not None), False))

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


def rows_of(text: str, words: Sequence[Word], demand: Demand) -> tuple[Row, ...]:
    """Fill rows of at most ``ROW_COLUMNS`` columns, broken at line ends and blanks."""
    bounds = list(_breaks(words, demand))
    rows = []
    for first, last in bounds:
        opens = first == 0 or words[first - 1].line < words[first].line
        start = _line_start(text, words[first].start) if opens else words[first].start
        rows.append((first, last, start, opens))
    ends = [start for _, _, start, _ in rows[1:]] + [len(text)]
    return tuple(
        _set_row(words, first, last, demand, start=start, end=end, opens=opens)
        for (first, last, start, opens), end in zip(rows, ends, strict=True)
    )


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _breaks(words: Sequence[Word], demand: Demand) -> Iterator[tuple[int, int]]:
    """Yield the words ``[first, last)`` of each row."""
    first, ends = 0, dict[int, float]()
    for at, word in enumerate(words):
        x = _place(words, at, at - 1 if ends else None, ends, demand)
        full = x + word.width > ROW_COLUMNS * COLUMN
        if ends and (full or word.line > words[at - 1].line):
            yield first, at
            first, ends = at, {}
            x = _place(words, at, None, ends, demand)
        ends[at] = x + word.width
    if words:
        yield first, len(words)


def _place(
    words: Sequence[Word], at: int, before: int | None, ends: dict[int, float], demand: Demand
) -> float:
    """Return the left of a word that stands next to the word ``before`` (None: in front)."""
    left = demand.left.get(at, 0.0)
    if before is None:
        return left
    beside = demand.right.get(before, 0.0) + left
    room = max(_blanks(words[before], words[at]), beside + BETWEEN_BOXES if beside else 0.0)
    x = ends[before] + room
    return max([x, *(ends[v] + px for v, px in demand.apart.get(at, ()) if v in ends)])


def _blanks(one: Word, other: Word) -> float:
    """Return the width of the blanks between two words that stand side by side."""
    gap = other.start - one.end if other.start >= one.end else one.start - other.end
    return min(gap, ROW_COLUMNS // 4) * COLUMN if abs(gap) else 0.0


def _set_row(
    words: Sequence[Word],
    first: int,
    last: int,
    demand: Demand,
    *,
    start: int,
    end: int,
    opens: bool,
) -> Row:
    """Place the words of one row in the order they are seen."""
    ends: dict[int, float] = {}
    lefts: dict[int, float] = {}
    before = None
    for at in _seen_order(words, first, last):
        lefts[at] = _place(words, at, before, ends, demand)
        ends[at] = lefts[at] + words[at].width
        before = at
    xs = tuple(lefts[at] for at in range(first, last))
    return Row(words[first].line, start, end, tuple(words[first:last]), xs, opens)


def _seen_order(words: Sequence[Word], first: int, last: int) -> list[int]:
    """Return words from left to right: two levels of the Unicode bidirectional algorithm."""
    order = list(range(first, last))
    directions = [words[at].backward for at in order]
    if not any(directions):
        return order
    base = next(way for way in directions if way is not None)
    runs = [list(run) for _, run in groupby(order, lambda at: words[at].backward in (None, base))]
    turned = [run if words[run[0]].backward in (None, base) else run[::-1] for run in runs]
    seen = [at for run in turned for at in run]
    return seen[::-1] if base else seen
