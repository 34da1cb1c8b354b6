"""Lay out one sentence in columns of a terminal: brackets above its text, tags below it.

A bracket or tag that is wider than its text pushes the text after it to the right.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from spanloom.viewer.text_width import columns, visible

Cell = tuple[str, int | None]
"""What is in a column, and the number of its color; "" in the second column of a wide sign."""

_BLANK: Cell = (" ", None)
_FRAME = 2  # columns of a bracket beside its label


@dataclass(frozen=True, slots=True)
class Mark:
    """A label of the characters ``[start, end)`` of a sentence, and the number of its color."""

    start: int
    end: int
    label: str
    color: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of cells; ``name`` says what it shows and stands left of it."""

    name: str
    cells: tuple[Cell, ...]


def lay_out(
    text: str,
    brackets: Iterable[tuple[str, Sequence[Mark]]],
    tags: Iterable[tuple[str, Sequence[Mark]]],
) -> list[Line]:
    """Return the lines of a sentence: brackets by layer, the text, and tags by layer.

    All lines have the same number of cells. Brackets of a layer that overlap are on several lines,
    the shortest nearest to the text. O(n log n) in characters and marks.
    """
    brackets, tags = list(brackets), list(tags)
    shown = [visible(character) for character in text]
    needed = [
        *((mark, columns(mark.label) + _FRAME) for _, marks in brackets for mark in marks),
        *(
            (mark, columns(mark.label) + (not text[mark.end : mark.end + 1].isspace()))
            for _, marks in tags
            for mark in marks
        ),
    ]
    starts, padded = _columns(shown, needed)
    lines = []
    for name, marks in reversed(brackets):
        lines += [
            Line(name, _cells(_bracket_pieces(level, padded), padded[-1]))
            for level in _levels(marks)
        ]
    lines.reverse()
    pieces = ((column, sign, None) for column, sign in zip(starts, shown, strict=True))
    lines.append(Line("", _cells(pieces, padded[-1])))
    for name, marks in tags:
        tag_pieces = ((padded[mark.start], mark.label, mark.color) for mark in marks)
        lines.append(Line(name, _cells(tag_pieces, padded[-1])))
    return lines


def wrap(lines: Sequence[Line], width: int) -> Iterator[list[Line]]:
    """Yield the lines in pieces of at most ``width`` columns, cut before words if possible."""
    text = next(line for line in lines if not line.name).cells
    start = 0
    while start < len(text):
        end = _cut(text, start, max(width, 2))
        yield [Line(line.name, line.cells[start:end]) for line in lines]
        start = end


def _columns(
    shown: Sequence[str], needed: Iterable[tuple[Mark, int]]
) -> tuple[list[int], list[int]]:
    """Return the column of each character, and where a mark that ends before it ends.

    They differ by nothing but the last one, which is the number of columns; blanks that make room
    for a mark stand at its end.
    """
    by_end: dict[int, list[tuple[int, int]]] = {}
    for mark, width in needed:
        by_end.setdefault(mark.end, []).append((mark.start, width))
    column = [0]
    for end, sign in enumerate(shown, 1):
        position = column[-1] + (columns(sign) or not column[-1])  # nothing to combine with yet
        for start, width in by_end.get(end, ()):
            position = max(position, column[start] + width)
        column.append(position)
    return column[:-1], column


def _levels(marks: Iterable[Mark]) -> list[list[Mark]]:
    """Return marks in levels without overlap, the shorter ones in the lower levels."""
    levels: list[list[Mark]] = []
    taken: list[list[tuple[int, int]]] = []
    for mark in sorted(marks, key=lambda mark: (mark.end - mark.start, mark.start)):
        bounds = (mark.start, mark.end)
        row = next((row for row, level in enumerate(taken) if _is_free(level, bounds)), len(taken))
        if row == len(taken):
            taken.append([])
            levels.append([])
        insort(taken[row], bounds)
        levels[row].append(mark)
    return levels


def _is_free(level: Sequence[tuple[int, int]], bounds: tuple[int, int]) -> bool:
    """Return whether bounds overlap none of the sorted bounds of a level."""
    position = bisect_left(level, bounds)
    follows = position == 0 or level[position - 1][1] <= bounds[0]
    return follows and (position == len(level) or bounds[1] <= level[position][0])


def _bracket_pieces(
    marks: Iterable[Mark], column: Sequence[int]
) -> Iterator[tuple[int, str, int | None]]:
    """Yield each bracket as its first column, its signs, and its color."""
    for mark in marks:
        start, end = column[mark.start], column[mark.end]
        dashes = end - start - _FRAME - columns(mark.label)
        left = dashes // 2
        drawn = f"╭{'─' * left}{mark.label}{'─' * (dashes - left)}╮"
        yield start, drawn, mark.color


def _cells(pieces: Iterable[tuple[int, str, int | None]], width: int) -> tuple[Cell, ...]:
    """Return a line of cells with pieces of text at their columns."""
    cells = [_BLANK] * width
    for start, signs, color in pieces:
        ends = accumulate(map(columns, signs), initial=start)
        for sign, column in zip(signs, ends, strict=False):
            size = columns(sign)
            if size:
                cells[column : column + size] = [(sign, color), *[("", color)] * (size - 1)]
            elif width:  # a combining sign joins the cell before it
                before, before_color = cells[max(0, column - 1)]
                cells[max(0, column - 1)] = (before + sign, before_color)
    return tuple(cells)


def _cut(text: Sequence[Cell], start: int, width: int) -> int:
    """Return where a piece that begins at ``start`` ends: before its last word, if it can."""
    end = start + width
    if end >= len(text):
        return len(text)
    for column in range(end, start, -1):
        if text[column - 1] == _BLANK != text[column]:
            return column
    return end - 1 if not text[end][0] else end  # not inside a wide sign
