"""Where arrows stand on boxes: side by side, and on a way up that no other caption blocks."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from spanloom.page.boxes import CAPTION, Box, caption_width, overlap
from spanloom.page.fill import ROW
from spanloom.page.glyphs import visible
from spanloom.page.marks import Link

TOE = 9.0  # between two feet on one box
_APART = 4.0  # between a leg that had to move aside and any other
STUB = 14.0  # how much longer a stub is than its caption


@dataclass(frozen=True, slots=True)
class Foot:
    """Where an arc leaves a box: at ``x``, from the height ``y``; ``side`` is where a side step
    starts if the box is covered by others, else None."""

    x: float
    y: float
    side: float | None = None


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
    limit = max(ROW, boxes[at].right)
    if onward and centre + length > limit:
        onward = centre < length
    elif not onward and centre < length:
        onward = True
    free = centre + length if onward else centre - length
    return Plan(link, caption, at if is_source else None, None if is_source else at, free)


def _centre(box: Box) -> float:
    return (box.left + box.right) / 2


def feet_of(boxes: Sequence[Box], plans: Sequence[Plan]) -> dict[tuple[int, bool], Foot]:
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
    feet: dict[tuple[int, bool], Foot] = {}
    for box, ends in by_box.items():
        ends.sort(key=_toe_order)
        step = min(TOE, (boxes[box].right - boxes[box].left) / (len(ends) + 1))
        for rank, end in enumerate(ends):
            x = _centre(boxes[box]) + (rank - (len(ends) - 1) / 2) * step
            used = [foot.x for foot in feet.values()]
            feet[end.plan, end.is_source] = _foot(boxes, box, x, used)
    return feet


def _toe_order(end: _End) -> tuple[int, float, int, bool]:
    """Order ends so that arcs of one box do not cross: the shortest outside, on both sides."""
    if end.length < 0:
        return 0, -end.length, end.plan, end.is_source
    return (2 if end.length else 1), -end.length, end.plan, end.is_source


def _foot(boxes: Sequence[Box], at: int, x: float, used: Sequence[float]) -> Foot:
    """Return the foot nearest to ``x`` from which the way up is free of other captions and legs."""
    box = boxes[at]
    for away in (0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80):
        for tried in (x - away, x + away) if away else (x,):
            beside = away and any(abs(tried - other) < _APART for other in used)
            if not beside and not _blocked(boxes, box, tried):
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
