"""Tags that words stand in, in the order in which they begin; apart from how a file spells them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from spanloom.document import Document

ORDER = "order"  # the label of notes

_ORDER = re.compile(r"[0-9]{1,9} [0-9]{1,9}")


class Tag(NamedTuple):
    """A tag with the words ``[first, end)`` in it, and how many tags it stands in."""

    name: str
    said: dict[str, str]
    depth: int
    first: int
    end: int
    row: int = -1  # its place among the tags


class About:
    """What attributes and notes of a layer say of its tags."""

    def __init__(self, document: Document, layer: str) -> None:
        """Gather them."""
        self.said: dict[str, dict[str, str]] = {}
        self.order: dict[str, tuple[int, int]] = {}
        if not document.has(layer):
            return
        for each in document[layer].attributes:
            if each.value is not None:
                self.said.setdefault(each.target, {}).setdefault(each.label, each.value)
        for note in document[layer].notes:
            if note.label == ORDER and _ORDER.fullmatch(note.text):
                row, depth = note.text.split()
                self.order[note.target] = int(row), int(depth)

    def tag(self, name: str, span: str, first: int, end: int) -> Tag:
        """Return the tag of a span."""
        row, depth = self.order.get(span, (-1, 0))
        return Tag(name, self.said.get(span, {}), depth, first, end, row)


def nested(tags: Sequence[Tag]) -> bool:
    """Whether tags with these depths, in this order, stand in each other."""
    stack: list[Tag] = []
    place = 0
    for tag in tags:
        while stack and len(stack) >= tag.depth:
            place = max(place, stack.pop().end)
        outer = stack[-1].end if stack else tag.end
        if tag.depth != len(stack) + 1 or not place <= tag.first <= tag.end <= outer:
            return False
        place = tag.first
        stack.append(tag)
    return True
