"""Words set in rows: where every word stands, given how much room its annotation needs.

Words stand in the order they are read: a row that reads from right to left starts at its right end,
and a run of words of the other direction is set the other way round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from spanloom.page.lines import COLUMN, ROW_COLUMNS, Row, Word

ROW = 1040.0  # the widest row: words and the room they need
BETWEEN_BOXES = 6.0  # least gap between two captions side by side


@dataclass(slots=True)
class Demand:
    """Room that annotation needs: pixels beside words, and pixels between two words.

    ``apart[w]`` lists ``(v, px)``: words ``v`` and ``w`` stand at least ``px`` apart.
    A row does not break before a ``glued`` word if it can break earlier.
    """

    left: dict[int, float] = field(default_factory=dict)
    right: dict[int, float] = field(default_factory=dict)
    apart: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    glued: set[int] = field(default_factory=set)

    def beside(self, word: int, left: float, right: float) -> None:
        """Ask for room at the two sides of a word."""
        self.left[word] = max(left, self.left.get(word, 0.0))
        self.right[word] = max(right, self.right.get(word, 0.0))

    def between(self, one: int, other: int, room: float) -> None:
        """Ask for room between two words, whichever of them stands first."""
        self.apart.setdefault(one, []).append((other, room))
        self.apart.setdefault(other, []).append((one, room))


def rows_of(text: str, words: Sequence[Word], demand: Demand) -> tuple[Row, ...]:
    """Fill rows of at most ``ROW`` pixels, broken at line ends and blanks."""
    bounds = list(_breaks(words, demand))
    starts = [_row_start(text, words, first) for first, _ in bounds]
    ways = _line_ways(words)
    return tuple(
        _set_row(words, bound, (start, end), ways[words[bound[0]].line], demand)
        for bound, start, end in zip(bounds, starts, [*starts[1:], len(text)], strict=True)
    )


def _row_start(text: str, words: Sequence[Word], first: int) -> int:
    """Return the first character of a row: the line's where the row opens a line."""
    word = words[first]
    return text.rfind("\n", 0, word.start) + 1 if _opens(words, first) else word.start


def _opens(words: Sequence[Word], at: int) -> bool:
    return at == 0 or words[at - 1].line < words[at].line


def _line_ways(words: Sequence[Word]) -> dict[int, bool]:
    """Return for each line whether it reads from right to left: as its first letter does."""
    ways: dict[int, bool | None] = {}
    for word in words:
        if ways.get(word.line) is None:
            ways[word.line] = word.backward
    return {line: bool(way) for line, way in ways.items()}


def _breaks(words: Sequence[Word], demand: Demand) -> Iterator[tuple[int, int]]:
    """Yield the words ``[first, last)`` of each row."""
    first = 0
    while first < len(words):
        last = _fill(words, first, demand)
        if last < len(words) and not _opens(words, last):
            # A span is not torn apart if the row can end before it.
            whole = (at for at in range(last, first, -1) if at not in demand.glued)
            last = next(whole, last)
        yield first, last
        first = last


def _fill(words: Sequence[Word], first: int, demand: Demand) -> int:
    """Return the first word behind ``first`` that has no room in its row."""
    ends: dict[int, float] = {}
    for at in range(first, len(words)):
        x = _place(words, at, at - 1 if ends else None, ends, demand)
        ends[at] = x + words[at].width
        long = words[at].end - words[first].start > ROW_COLUMNS
        if at > first and (_opens(words, at) or long or ends[at] > ROW):
            return at
    return len(words)


def _place(
    words: Sequence[Word], at: int, before: int | None, ends: dict[int, float], demand: Demand
) -> float:
    """Return the left of a word that stands next to the word ``before`` (None: in front)."""
    left = demand.left.get(at, 0.0)
    if before is None:
        return left
    beside = demand.right.get(before, 0.0) + left
    room = max(_blanks(words, before, at), beside + BETWEEN_BOXES if beside else 0.0)
    x = ends[before] + room
    return max([x, *(ends[v] + px for v, px in demand.apart.get(at, ()) if v in ends)])


def _blanks(words: Sequence[Word], one: int, other: int) -> float:
    """Return the width of the blanks between two words that stand side by side.

    Words that only a change of direction brings together are one blank apart.
    """
    if abs(one - other) > 1:
        return COLUMN
    first, last = sorted((one, other))
    return min(words[last].start - words[first].end, ROW_COLUMNS // 4) * COLUMN


def _set_row(
    words: Sequence[Word],
    bound: tuple[int, int],
    characters: tuple[int, int],
    backward: bool,
    demand: Demand,
) -> Row:
    """Place the words of one row in the order they are seen."""
    first, last = bound
    ends: dict[int, float] = {}
    lefts: dict[int, float] = {}
    before = None
    for at in _seen_order(words, first, last, backward):
        lefts[at] = _place(words, at, before, ends, demand)
        ends[at] = lefts[at] + words[at].width
        before = at
    xs = tuple(lefts[at] for at in range(first, last))
    held = tuple(words[first:last])
    return Row(held[0].line, *characters, held, xs, _opens(words, first), backward)


def _seen_order(words: Sequence[Word], first: int, last: int, backward: bool) -> list[int]:
    """Return words from left to right: two levels of the Unicode bidirectional algorithm."""
    order = list(range(first, last))
    if not backward and not any(words[at].backward for at in order):
        return order
    ways = _ways(words[first:last], backward)
    runs = [list(run) for _, run in groupby(order, lambda at: ways[at - first])]
    turned = [run if ways[run[0] - first] == backward else run[::-1] for run in runs]
    seen = [at for run in turned for at in run]
    return seen[::-1] if backward else seen


def _ways(words: Sequence[Word], backward: bool) -> list[bool]:
    """Return the direction of each word: one without letters goes with its line, but a number
    behind a word that reads from left to right goes with that word."""
    ways: list[bool] = []
    for word in words:
        way = word.backward
        if way is None:
            number = ways and not ways[-1] and any(map(str.isdigit, word.text))
            way = False if number else backward
        ways.append(way)
    return ways
