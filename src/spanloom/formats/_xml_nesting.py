"""The nesting of XML tags around words, independent of how a file writes them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from spanloom.document import Document

ORDER = "order"  # the label of notes that hold a tag's row and depth

_ORDER = re.compile(r"[0-9]{1,9} [0-9]{1,9}")


class Tag(NamedTuple):
    """A tag with its words ``[first, end)`` and its nesting depth."""

    name: str
    said: dict[str, str]
    depth: int
    first: int
    end: int
    row: int = -1  # its index among the tags


class About:
    """The attributes and notes of a layer's tags."""

    def __init__(self, document: Document, layer: str) -> None:
        """Collect them by span id."""
        self.said: dict[str, dict[str, str]] = {}
        self.order: dict[str, tuple[int, int]] = {}
        if not document.has_layer(layer):
            return
        for attribute in document[layer].attributes:
            if attribute.value is not None:
                self.said.setdefault(attribute.target, {}).setdefault(
                    attribute.label, attribute.value
                )
        for note in document[layer].notes:
            if note.label == ORDER and _ORDER.fullmatch(note.text):
                row, depth = note.text.split()
                self.order[note.target] = int(row), int(depth)

    def tag(self, name: str, span: str, first: int, end: int) -> Tag:
        """Return the tag of a span."""
        row, depth = self.order.get(span, (-1, 0))
        return Tag(name, self.said.get(span, {}), depth, first, end, row)


def nesting_order(tags: Sequence[Tag]) -> bool:
    """Whether tags in this order, with these depths, nest correctly."""
    stack: list[Tag] = []
    min_start = 0
    for tag in tags:
        while stack and len(stack) >= tag.depth:
            min_start = max(min_start, stack.pop().end)
        outer = stack[-1].end if stack else tag.end
        if tag.depth != len(stack) + 1 or not min_start <= tag.first <= tag.end <= outer:
            return False
        min_start = tag.first
        stack.append(tag)
    return True
