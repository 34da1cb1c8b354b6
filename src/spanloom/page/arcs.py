"""Arrows between boxes: where they stand, how high they go, where their captions are.

An arc goes up from a foot on each box and along a level line that carries its caption. Level lines
are higher than all boxes under them; the lines of two arcs that overlap from left to right are at
least ``STEP`` apart, so no caption covers a box, a word or another caption.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spanloom.page.boxes import Box, Piece, caption_width, overlap
from spanloom.page.feet import Foot, Plan, feet_of
from spanloom.page.marks import Link

STEP = 16.0  # between two level lines
RISE = 16.0  # from a box to the lowest line above it


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


def arcs_of(boxes: Sequence[Box], plans: Sequence[Plan]) -> tuple[Arc, ...]:
    """Return the arcs of a row with their captions placed and their heights chosen."""
    feet = feet_of(boxes, plans)
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


def _raise(boxes: Sequence[Box], arcs: Sequence[Arc]) -> tuple[Arc, ...]:
    """Give each arc the lowest line that is free, the shortest arcs first.

    An arc whose caption would hide the leg of another is placed late and above that other.
    """
    legs = [x for arc in arcs for x in _legs(arc)]
    placed: list[Arc] = []
    for arc in sorted(arcs, key=lambda arc: (_hides(arc, legs), _length(arc))):
        under = [box.top for box in boxes if overlap(arc.reach, (box.left, box.right), 2.0)]
        hidden = [each.height for each in placed if _hides(arc, _legs(each))]
        height = max(max(under, default=0.0) + RISE, max(hidden, default=-STEP) + STEP)
        taken = sorted(each.height for each in placed if overlap(arc.reach, each.reach, 2.0))
        for line in taken:
            if abs(line - height) < STEP:
                height = line + STEP
        placed.append(replace(arc, height=height))
    return tuple(placed)


def _legs(arc: Arc) -> list[float]:
    return [foot.x for foot in (arc.source, arc.target) if foot]


def _hides(arc: Arc, legs: Iterable[float]) -> bool:
    """Whether the caption stands over a leg that is not its own."""
    own = _legs(arc)
    return any(arc.label[0] < x < arc.label[1] and x not in own for x in legs)


def _length(arc: Arc) -> tuple[float, float]:
    left, right = arc.reach
    return right - left, left
