"""Clusters in a column (``forms.coreference_column``) as the layer ``coreference``, and back.

Mentions are spans ``mention``, each linked to the one before it in its cluster by a relation
``coref``. A cluster that is not called by its number is called as the attribute ``cluster`` of its
first mention says; a cell that says the same in other words is an attribute of its word.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from spanloom.document import WORDS, Layer
from spanloom.errors import FormatError
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.forms.coreference_column import NONE, ColumnError, closed, clusters, column
from spanloom.forms.grid import Grid
from spanloom.forms.links import linked

LAYER, MENTION, COREF = "coreference", "mention", "coref"
CLUSTER = "cluster"  # an attribute of a mention
CELL = "coreference"  # an attribute of a word

_NAME = re.compile(r"[^\s()|]+")
_MARK = re.compile(r"\(?[^\s()|]+\)?")

Bounds = tuple[int, int]


def joined(cell: str) -> str:
    """Return a cell with a bar between any two marks: ``(3|(4)`` for ``(3(4)``."""
    marks = _MARK.findall(cell)
    return "|".join(marks) if "".join(marks) == cell else cell


@dataclass(frozen=True, slots=True)
class Style:
    """The number of the first cluster, which cells can be written, and how marks are ordered."""

    least: int
    spells: Callable[[str], bool]
    arranged: Callable[[str], str] = str


def closed_first(cell: str) -> str:
    """Return a cell with what it closes before what it opens, and single words last."""
    marks = cell.split("|")
    ends = [mark for mark in marks if not mark.startswith("(")]
    singles = [mark for mark in marks if mark.startswith("(") and mark.endswith(")")]
    starts = [mark for mark in marks if mark.startswith("(") and not mark.endswith(")")]
    return "|".join((*ends, *starts, *singles))


def annotate(
    making: Making,
    cells: Sequence[str],
    lines: Sequence[int],
    style: Style,
    path: str,
) -> None:
    """Add the mentions of a document, whose words are all there.

    ``lines`` are those of the words. Raises ``FormatError``.
    """
    making.layer(LAYER)
    try:
        found = clusters(cells)
    except ColumnError as error:
        raise FormatError(path, lines[error.word], error.problem) from error
    every = sorted((*each, name) for name, mentions in found.items() for each in mentions)
    every.sort(key=lambda each: (each[0], -each[1]))
    last: dict[str, str] = {}
    ordered: dict[str, list[Bounds]] = {}
    for start, end, name in every:
        span = making.over(LAYER, MENTION, start, end)
        if name in last:
            making.relation(LAYER, COREF, span, last[name])
        elif name != str(len(last) + style.least):
            making.attribute(LAYER, CLUSTER, span, name)
        last[name] = span
        ordered.setdefault(name, []).append((start, end))
    for word, (cell, usual) in enumerate(zip(cells, column(ordered, len(cells)), strict=True)):
        if cell != style.arranged(usual):
            making.attribute(WORDS, CELL, making.words[word], cell)


def cells(laid: Laid, style: Style) -> list[str]:
    """Return one cell a word.

    Left out are mentions with gaps, or that are no whole words, or that cross another one of their
    cluster.
    """
    usual = [style.arranged(cell) for cell in column(_named(laid, style), len(laid.forms))]
    said = {
        word: each.value or NONE
        for word, found in laid.values(WORDS).items()
        for each in found
        if each.label == CELL and style.spells(each.value or NONE)
    }
    respelt = [said.get(word, cell) for word, cell in enumerate(usual)]
    try:
        same = sorted(closed(respelt)) == sorted(closed(usual))
    except ColumnError:
        same = False
    return respelt if same else usual


def _named(laid: Laid, style: Style) -> Mapping[str, list[Bounds]]:
    """Return the mentions of each cluster by its name, clusters by their first mentions."""
    if not laid.document.has(LAYER):
        return {}
    layer = laid.document[LAYER]
    bounds = _bounds(laid, layer)
    wanted = {each.target: each.value or "" for each in layer.attributes if each.label == CLUSTER}
    groups = _groups(layer, bounds)
    own = [next((wanted[each] for each in group if each in wanted), "") for group in groups]
    given = [name if _NAME.fullmatch(name) and style.spells(name) else "" for name in own]
    named: dict[str, list[Bounds]] = {}
    said = {*given}
    fresh = _fresh(named, said, len(groups) + style.least)
    for number, (group, name) in enumerate(zip(groups, given, strict=True), style.least):
        wish = name or str(number)
        taken = wish in named or (not name and wish in said)
        key = next(fresh) if taken else wish
        named[key] = _apart([bounds[each] for each in group])
    return named


def _fresh(named: Container[str], given: Container[str], least: int) -> Iterator[str]:
    """Yield names of clusters that none has."""
    for number in count(least):
        if str(number) not in named and str(number) not in given:
            yield str(number)


def _bounds(laid: Laid, layer: Layer) -> dict[str, Bounds]:
    """Return the words of each span that covers whole ones without gaps."""
    grid = Grid(laid.words)
    places = {span.id: grid.place(span) for span in layer.spans if len(span.fragments) == 1}
    return {key: (place.first, place.end) for key, place in places.items() if place.fits}


def _groups(layer: Layer, bounds: Mapping[str, Bounds]) -> list[list[str]]:
    """Return the spans of each cluster that have bounds, clusters by their first mentions."""
    together = linked(layer)
    inside = {each for group in together for each in group}
    alone = [(span.id,) for span in layer.spans if span.id not in inside]
    order = {span.id: number for number, span in enumerate(layer.spans)}

    def place(each: str) -> tuple[int, int, int]:
        start, end = bounds[each]
        return start, -end, order[each]

    groups = [sorted((e for e in group if e in bounds), key=place) for group in (*together, *alone)]
    return sorted((group for group in groups if group), key=lambda group: place(group[0]))


def _apart(mentions: Sequence[Bounds]) -> list[Bounds]:
    """Return the mentions of a cluster but those that cross an earlier one in more than a word."""
    kept: list[Bounds] = []
    ends: list[int] = []
    for start, end in mentions:
        while ends and ends[-1] <= start + 1:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            kept.append((start, end))
    return kept
