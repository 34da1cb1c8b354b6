"""Spans that a file spells as tags: a word holds one, so no two of them overlap."""

from collections.abc import Callable, Iterable, Iterator

from spanloom.document import Span
from spanloom.formats._laid import Laid
from spanloom.forms.tag_schemes import Tagged

Placed = tuple[int, int, Span]  # bounds in words of a sentence


def apart(laid: Laid, layer: str, spells: Callable[[Tagged], bool]) -> list[list[Placed]]:
    """Return the spans of a layer that tags can hold, by sentence.

    Left out are those that ``spells`` refuses, those that are no whole words of one sentence, and
    of spans that overlap all but the one that starts first (of several, the widest).
    """
    return [list(_disjoint(found, spells)) for found in laid.by_sentence(layer)[0]]


def labels(placed: Iterable[Placed]) -> list[Tagged]:
    """Return spans as tag schemes take them."""
    return [(start, end, span.label) for start, end, span in placed]


def _disjoint(found: list[Placed], spells: Callable[[Tagged], bool]) -> Iterator[Placed]:
    done = 0
    for start, end, span in sorted(found, key=lambda each: (each[0], -each[1])):
        if start >= done and spells((start, end, span.label)):
            yield start, end, span
            done = end
