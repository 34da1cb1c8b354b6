"""Captions over the text: how wide, where, and how high they are stacked.

Heights are pixels above the top of the text and grow upward. A box is a caption with a bar under it
for each piece of its mark; a box stands above every box that it overlaps from left to right, so a
span stands above the spans nested in it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spanloom.page.fill import BETWEEN_BOXES, Demand
from spanloom.page.glyphs import columns, visible
from spanloom.page.lines import COLUMN, Row, Word, word_range
from spanloom.page.marks import Link, Mark

CAPTION_COLUMN = 6.6  # one column of a caption
PADDING = 4.0  # between a caption and the edge of its box
LEVEL = 22.0  # from a box to the box above it
BAR = 5.0  # height of the bar under a caption
CAPTION = 15.0  # height of a caption
_GLUED = 8  # a span of more words may be torn apart at the end of a row
_TURNS = 24.0  # what a link needs beside its caption to go up and down

Piece = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A mark in one row: the caption from ``left`` to ``right``, the pieces of text it is about."""

    mark: Mark
    caption: str
    left: float
    right: float
    pieces: tuple[Piece, ...]
    level: int = 0

    @property
    def reach(self) -> Piece:
        """Left and right of the caption and all pieces together."""
        lefts, rights = zip(*self.pieces, strict=True)
        return min(self.left, *lefts), max(self.right, *rights)

    @property
    def bottom(self) -> float:
        """Height of the lower edge of the caption."""
        return self.level * LEVEL + BAR

    @property
    def top(self) -> float:
        """Height of the upper edge of the caption."""
        return self.bottom + CAPTION


def caption_width(caption: str) -> float:
    """Return the pixels of a caption, its padding too."""
    return columns(caption) * CAPTION_COLUMN + 2 * PADDING


def overlap(one: Piece, other: Piece, room: float = 0.0) -> bool:
    """Whether two extents share more than a border, or are nearer than ``room``."""
    return one[0] < other[1] + room and other[0] < one[1] + room


def demand_of(words: Sequence[Word], marks: Iterable[Mark], links: Iterable[Link]) -> Demand:
    """Return the room that captions and the captions of links need between the words."""
    demand = Demand()
    anchors: dict[str, tuple[int, int, float]] = {}
    for mark in marks:
        start, end = mark.fragments[0]
        first, last = word_range(words, start, end)
        last = max(first, last - 1)
        if last >= len(words):
            continue
        width = caption_width(visible(mark.caption))
        before = max(0, start - words[first].start) * COLUMN
        behind = max(0, words[last].end - end) * COLUMN
        over = (width - (words[last].end - words[first].start) * COLUMN + before + behind) / 2
        demand.beside(first, max(0.0, over - before), 0.0)
        demand.beside(last, 0.0, max(0.0, over - behind))
        demand.glued.update(range(first + 1, last + 1) if last - first < _GLUED else ())
        anchors[mark.id] = first, last, width / 2 - over
    for link in links:
        if link.source in anchors and link.target in anchors:
            _spread(anchors[link.source], anchors[link.target], link, demand)
    return demand


def _spread(
    one: tuple[int, int, float], other: tuple[int, int, float], link: Link, demand: Demand
) -> None:
    """Ask for room for the caption of a link between neighbours."""
    (_, last, half), (first, _, far_half) = sorted((one, other))
    if last < first:
        room = caption_width(visible(link.caption)) + _TURNS - half - far_half
        demand.between(last, first, max(0.0, room))


def pieces_of(rows: Sequence[Row], mark: Mark) -> dict[int, list[Piece]]:
    """Return the extents of a mark by row; blanks at a row's border do not count as a piece."""
    found: dict[int, list[Piece]] = {}
    for start, end in mark.fragments:
        home = max(0, bisect_right(rows, start, key=_row_start) - 1)
        past = max(home + 1, bisect_right(rows, end - 1, key=_row_start))
        held = [at for at in range(home, past) if rows[at].holds(start, end)] or [home]
        for at in held:
            found.setdefault(at, []).append(rows[at].extent(start, end))
    return found


def _row_start(row: Row) -> int:
    return row.start


def boxes_of(rows: Sequence[Row], marks: Iterable[Mark]) -> tuple[tuple[Box, ...], ...]:
    """Return the boxes of every row, each at its level."""
    by_row: list[list[Box]] = [[] for _ in rows]
    for mark in marks:
        found = pieces_of(rows, mark)
        for at, pieces in found.items():
            before, behind = at > min(found), at < max(found)
            by_row[at].append(_box(mark, pieces, before=before, behind=behind))
    return tuple(map(_stack, by_row))


def _box(mark: Mark, pieces: list[Piece], *, before: bool, behind: bool) -> Box:
    """Return a box whose caption is centred over its first piece, ``…`` where the mark goes on."""
    caption = "…" * before + visible(mark.caption) + "…" * behind
    left, right = pieces[0]
    margin = caption_width(caption) / 2
    centre = (left + right) / 2
    return Box(mark, caption, centre - margin, centre + margin, tuple(sorted(pieces)))


def _stack(boxes: list[Box]) -> tuple[Box, ...]:
    """Give each box a level above all boxes that it overlaps, the narrowest first."""
    placed: list[Box] = []
    for box in sorted(boxes, key=_breadth):
        under = [each.level for each in placed if _collide(box, each)]
        placed.append(replace(box, level=max(under, default=-1) + 1))
    return tuple(placed)


def _breadth(box: Box) -> tuple[float, float]:
    return sum(right - left for left, right in box.pieces), box.left


def _collide(one: Box, other: Box) -> bool:
    captions = overlap((one.left, one.right), (other.left, other.right), BETWEEN_BOXES / 2)
    return captions or overlap(one.reach, other.reach)
