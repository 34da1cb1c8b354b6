"""Where everything of a document stands: rows of words, boxes over them, arcs over the boxes.

A pure function of the text and the picture; nothing here knows SVG. Coordinates are pixels: x to
the right from the row's left end, heights upward from the top of its text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanloom.page.arcs import Arc, arcs_of
from spanloom.page.boxes import Box, boxes_of, demand_of
from spanloom.page.feet import Plan, plan_of, stub_of
from spanloom.page.fill import rows_of
from spanloom.page.glyphs import elide, visible
from spanloom.page.lines import Row, words_of
from spanloom.page.marks import Link, Mark, Picture

_FAR_COLUMNS = 24  # how much of the far end's text a stub names


@dataclass(frozen=True, slots=True)
class Strip:
    """One row with what stands over it."""

    row: Row
    boxes: tuple[Box, ...]
    arcs: tuple[Arc, ...]


def layout(text: str, picture: Picture) -> tuple[Strip, ...]:
    """Return the rows of a text with the picture's marks and links over them."""
    words = words_of(text)
    rows = rows_of(text, words, demand_of(words, picture.marks, picture.links))
    boxes = boxes_of(rows, picture.marks)
    places = _places(boxes)
    names = {mark.id: _name(text, mark) for mark in picture.marks}
    plans: list[list[Plan]] = [[] for _ in rows]
    for link in picture.links:
        for at, plan in _plans(link, boxes, places, names):
            plans[at].append(plan)
    arcs = map(arcs_of, boxes, plans)
    return tuple(map(Strip, rows, boxes, arcs))


def _name(text: str, mark: Mark) -> str:
    """Return the text of a mark, short enough to name it at the end of a stub."""
    shown = " ".join(visible(" ".join(text[a:b].split())) for a, b in mark.fragments)
    return elide(shown or mark.label, _FAR_COLUMNS)


def _places(boxes: Sequence[Sequence[Box]]) -> dict[str, dict[int, int]]:
    """Return for each mark its rows, and in each row the number of its box."""
    places: dict[str, dict[int, int]] = {}
    for at, row in enumerate(boxes):
        for number, box in enumerate(row):
            places.setdefault(box.mark.id, {})[at] = number
    return places


def _plans(
    link: Link,
    boxes: Sequence[Sequence[Box]],
    places: Mapping[str, Mapping[int, int]],
    names: Mapping[str, str],
) -> list[tuple[int, Plan]]:
    """Return one plan where both ends are in one row, else a stub in the first row of each end."""
    heads, tails = places[link.source], places[link.target]
    both = sorted(heads.keys() & tails.keys())
    if both:
        at = both[0]
        return [(at, plan_of(link, heads[at], tails[at]))]
    head, tail = min(heads), min(tails)
    caption = visible(link.caption)
    arrow = "→" if link.directed else "–"
    there = f"{caption} {arrow} {names[link.target]}"
    here = f"{names[link.source]} {arrow} {caption}"
    onward = head < tail
    return [
        (head, stub_of(link, there, boxes[head], heads[head], is_source=True, onward=onward)),
        (tail, stub_of(link, here, boxes[tail], tails[tail], is_source=False, onward=not onward)),
    ]
