"""Arrows between boxes: where they stand, how high they go, where their captions are.

An arc goes up from a foot on each box and along a level line that carries its caption. Level lines
are higher than all boxes under them; the lines of two arcs that overlap from left to right are at
least ``STEP`` apart, so no caption covers a box, a word or another caption.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spanloom.page.boxes import CAPTION, Box, Piece, caption_width, overlap
from spanloom.page.glyphs import visible
from spanloom.page.lines import COLUMN, ROW_COLUMNS
from spanloom.page.marks import Link

STEP = 16.0  # between two level lines
RISE = 16.0  # from a box to the lowest line above it
TOE = 9.0  # between two feet on one box
STUB = 14.0  # how much longer a stub is than its caption


@dataclass(frozen=True, slots=True)
class Foot:
    """Where an arc leaves a box: at ``x``, from the height ``y``; ``side`` is where a side step
    starts if the box is covered by others, else None."""

    x: float
    y: float
    side: float | None = None


@dataclass(frozen=True, slots=True)
class Arc:
    """A link in one row. ``source`` or ``target`` is None at the free end of a stub."""

    link: Link
    caption: str
    source: Foot | None
    target: Foot | None
    free: float
    label: Piece
    height: float = 0.0

    @property
    def ends(self) -> Piece:
        """Left and right of the level line."""
        xs = [foot.x if foot else self.free for foot in (self.source, self.target)]
        return min(xs), max(xs)

    @property
    def reach(self) -> Piece:
        """Left and right of the line and its caption."""
        return min(self.ends[0], self.label[0]), max(self.ends[1], self.label[1])


@dataclass(frozen=True, slots=True)
class Plan:
    """An arc before its feet are placed: boxes by number, and the place of a stub's free end."""

    link: Link
    caption: str
    source: int | None
    target: int | None
    free: float = 0.0


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a plan: the box it stands on, the way its line goes and how far."""

    plan: int
    is_source: bool
    length: float


def plan_of(link: Link, source: int, target: int) -> Plan:
    """Return the plan of a link between two boxes of one row."""
    return Plan(link, visible(link.caption), source, target)


def stub_of(
    link: Link, caption: str, boxes: Sequence[Box], at: int, *, is_source: bool, onward: bool
) -> Plan:
    """Return the plan of one end of a link whose other end is in another row.

    ``onward`` says that it is a later row. The stub goes to the right then, else to
    the left, unless there is no room.
    """
    length = caption_width(caption) + STUB
    centre = _centre(boxes[at])
    limit = max(ROW_COLUMNS * COLUMN, boxes[at].right)
    if onward and centre + length > limit:
        onward = centre < length
    elif not onward and centre < length:
        onward = True
    free = centre + length if onward else centre - length
    return Plan(link, caption, at if is_source else None, None if is_source else at, free)


def _centre(box: Box) -> float:
    return (box.left + box.right) / 2


def arcs_of(boxes: Sequence[Box], plans: Sequence[Plan]) -> tuple[Arc, ...]:
    """Return the arcs of a row with their captions placed and their heights chosen."""
    feet = _feet(boxes, plans)
    xs = {key: foot.x for key, foot in feet.items()}
    arcs = [
        _label(
            Arc(
                plan.link,
                plan.caption,
                feet.get((at, True)),
                feet.get((at, False)),
                plan.free,
                (0.0, 0.0),
            ),
            [x for (other, _), x in xs.items() if other != at],
        )
        for at, plan in enumerate(plans)
    ]
    return _raise(boxes, arcs)


def _feet(boxes: Sequence[Box], plans: Sequence[Plan]) -> dict[tuple[int, bool], Foot]:
    """Return the foot of each end of each plan, side by side on their box."""
    by_box: dict[int, list[_End]] = defaultdict(list)
    for at, plan in enumerate(plans):
        for box, other, is_source in (
            (plan.source, plan.target, True),
            (plan.target, plan.source, False),
        ):
            if box is not None:
                far = plan.free if other is None else _centre(boxes[other])
                way = far - _centre(boxes[box])
                by_box[box].append(_End(at, is_source, way))
    feet = {}
    for box, ends in by_box.items():
        ends.sort(key=_toe_order)
        step = min(TOE, (boxes[box].right - boxes[box].left) / (len(ends) + 1))
        for rank, end in enumerate(ends):
            x = _centre(boxes[box]) + (rank - (len(ends) - 1) / 2) * step
            feet[end.plan, end.is_source] = _foot(boxes, box, x)
    return feet


def _toe_order(end: _End) -> tuple[int, float, int, bool]:
    """Order ends so that arcs of one box do not cross: the shortest outside, on both sides."""
    if end.length < 0:
        return 0, -end.length, end.plan, end.is_source
    return (2 if end.length else 1), -end.length, end.plan, end.is_source


def _foot(boxes: Sequence[Box], at: int, x: float) -> Foot:
    """Return the foot nearest to ``x`` from which the way up is free of other captions."""
    box = boxes[at]
    for away in (0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80):
        for tried in (x - away, x + away) if away else (x,):
            if not _blocked(boxes, box, tried):
                return _stand(box, tried)
    return _stand(box, x)


def _stand(box: Box, x: float) -> Foot:
    if box.left < x < box.right:
        return Foot(x, box.top)
    return Foot(x, box.top - CAPTION / 2, box.left if x <= box.left else box.right)


def _blocked(boxes: Sequence[Box], box: Box, x: float) -> bool:
    """Whether the way from a box to ``x`` and up meets another caption."""
    way = (
        min(x, box.left if x <= box.left else x) - 3,
        max(x, box.right if x >= box.right else x) + 3,
    )
    for each in boxes:
        if each is box or each.level < box.level:
            continue
        path = way if each.level == box.level else (x - 3, x + 3)
        if overlap(path, (each.left, each.right)):
            return True
    return False


def _label(arc: Arc, others: list[float]) -> Arc:
    """Put the caption where the fewest feet of other arcs go up, near the middle of the line."""
    left, right = arc.ends
    half = caption_width(arc.caption) / 2
    middle = (left + right) / 2
    slack = max(0.0, (right - left) / 2 - half - 4)
    tries = [0.0] + [sign * slack * part / 6 for part in range(1, 7) for sign in (-1, 1)]
    inside = [x for x in others if left < x < right]

    def cost(shift: float) -> tuple[int, float]:
        centre = middle + shift
        return sum(abs(x - centre) < half for x in inside), abs(shift)

    centre = middle + min(tries, key=cost)
    return replace(arc, label=(centre - half, centre + half))


def _raise(boxes: Sequence[Box], arcs: Iterable[Arc]) -> tuple[Arc, ...]:
    """Give each arc the lowest line that is free, the shortest arcs first."""
    placed: list[Arc] = []
    for arc in sorted(arcs, key=_length):
        under = [box.top for box in boxes if overlap(arc.reach, (box.left, box.right), 2.0)]
        height = max(under, default=0.0) + RISE
        taken = sorted(each.height for each in placed if overlap(arc.reach, each.reach, 2.0))
        for line in taken:
            if abs(line - height) < STEP:
                height = line + STEP
        placed.append(replace(arc, height=height))
    return tuple(placed)


def _length(arc: Arc) -> tuple[float, float]:
    left, right = arc.reach
    return right - left, left
