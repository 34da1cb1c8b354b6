"""Convert a coreference column (``annotation.coreference_column``) to a layer and back.

In the layer ``coreference``, mentions are spans ``mention``; a relation ``coref`` links each to the
one before it in its cluster. The name of a cluster that is not its number is the attribute
``cluster`` of its first mention; a cell that writes the same marks differently is an attribute of
its word.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from spanloom.annotation.connected_spans import connected_spans
from spanloom.annotation.coreference_column import (
    NONE,
    ColumnError,
    clusters,
    column,
    mentions_by_end,
)
from spanloom.annotation.word_index import WordIndex
from spanloom.document import WORDS, Layer
from spanloom.errors import FormatError
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView

LAYER, MENTION, COREF = "coreference", "mention", "coref"
CLUSTER = "cluster"  # an attribute of a mention
CELL = "coreference"  # an attribute of a word

_NAME = re.compile(r"[^\s()|]+")
_MARK = re.compile(r"\(?[^\s()|]+\)?")

Bounds = tuple[int, int]


def separate_marks(cell: str) -> str:
    """Return a cell with a bar between its marks: ``(3|(4)`` for ``(3(4)``."""
    marks = _MARK.findall(cell)
    return "|".join(marks) if "".join(marks) == cell else cell


@dataclass(frozen=True, slots=True)
class Style:
    """The number of the first cluster, whether a cell can be written, and the order of marks."""

    first_number: int
    spells: Callable[[str], bool]
    order_marks: Callable[[str], str] = str


def closed_first(cell: str) -> str:
    """Return a cell with closing marks first, then opening marks, then single-word marks."""
    marks = cell.split("|")
    ends = [mark for mark in marks if not mark.startswith("(")]
    singles = [mark for mark in marks if mark.startswith("(") and mark.endswith(")")]
    starts = [mark for mark in marks if mark.startswith("(") and not mark.endswith(")")]
    return "|".join((*ends, *starts, *singles))


def annotate(
    builder: DocumentBuilder,
    cells: Sequence[str],
    lines: Sequence[int],
    style: Style,
    path: str,
) -> None:
    """Add the mentions of a document whose words have been added.

    ``lines`` are the line numbers of the words. Raises ``FormatError``.
    """
    builder.layer(LAYER)
    try:
        clusters_by_name = clusters(cells)
    except ColumnError as error:
        raise FormatError(path, lines[error.word], error.problem) from error
    mentions = sorted(
        (start, end, name) for name, bounds in clusters_by_name.items() for start, end in bounds
    )
    mentions.sort(key=lambda mention: (mention[0], -mention[1]))
    last_span_of: dict[str, str] = {}
    bounds_of: dict[str, list[Bounds]] = {}
    for start, end, name in mentions:
        span = builder.add_word_span(LAYER, MENTION, start, end)
        if name in last_span_of:
            builder.relation(LAYER, COREF, span, last_span_of[name])
        elif name != str(len(last_span_of) + style.first_number):
            builder.attribute(LAYER, CLUSTER, span, name)
        last_span_of[name] = span
        bounds_of.setdefault(name, []).append((start, end))
    for row, (cell, default_cell) in enumerate(
        zip(cells, column(bounds_of, len(cells)), strict=True)
    ):
        if cell != style.order_marks(default_cell):
            builder.attribute(WORDS, CELL, builder.words[row], cell)


def cells(view: WordView, style: Style) -> list[str]:
    """Return one cell per word.

    Left out are mentions with gaps, mentions that are not whole words, and those that cross another
    one of their cluster.
    """
    default = [
        style.order_marks(cell) for cell in column(_mentions_by_name(view, style), len(view.tokens))
    ]
    stated = {
        row: attribute.value or NONE
        for row, attributes in view.values(WORDS).items()
        for attribute in attributes
        if attribute.label == CELL and style.spells(attribute.value or NONE)
    }
    restated = [stated.get(row, cell) for row, cell in enumerate(default)]
    try:
        is_equivalent = sorted(mentions_by_end(restated)) == sorted(mentions_by_end(default))
    except ColumnError:
        is_equivalent = False
    return restated if is_equivalent else default


def _mentions_by_name(view: WordView, style: Style) -> Mapping[str, list[Bounds]]:
    """Return the mentions of each cluster by its name, ordered by first mention."""
    if not view.document.has_layer(LAYER):
        return {}
    layer = view.document[LAYER]
    bounds = _word_bounds(view, layer)
    requested = {
        attribute.target: attribute.value or ""
        for attribute in layer.attributes
        if attribute.label == CLUSTER
    }
    groups = _groups(layer, bounds)
    requested_names = [
        next((requested[span_id] for span_id in group if span_id in requested), "")
        for group in groups
    ]
    valid_names = [
        name if _NAME.fullmatch(name) and style.spells(name) else "" for name in requested_names
    ]
    named: dict[str, list[Bounds]] = {}
    reserved = {*valid_names}
    new_names = _new_names(named, reserved, len(groups) + style.first_number)
    for number, (group, name) in enumerate(
        zip(groups, valid_names, strict=True), style.first_number
    ):
        candidate = name or str(number)
        taken = candidate in named or (not name and candidate in reserved)
        key = next(new_names) if taken else candidate
        named[key] = _without_crossing([bounds[span_id] for span_id in group])
    return named


def _new_names(named: Container[str], reserved: Container[str], first_number: int) -> Iterator[str]:
    """Yield cluster names that are neither used nor reserved."""
    for number in count(first_number):
        if str(number) not in named and str(number) not in reserved:
            yield str(number)


def _word_bounds(view: WordView, layer: Layer) -> dict[str, Bounds]:
    """Return the word bounds of each contiguous span of whole words, by id."""
    word_index = WordIndex(view.words)
    word_spans = {
        span.id: word_index.locate(span) for span in layer.spans if len(span.fragments) == 1
    }
    return {
        span_id: (word_span.first, word_span.end)
        for span_id, word_span in word_spans.items()
        if word_span.aligned
    }


def _groups(layer: Layer, bounds: Mapping[str, Bounds]) -> list[list[str]]:
    """Return the ids of each cluster's spans with bounds, clusters ordered by first mention."""
    linked = connected_spans(layer)
    linked_ids = {span_id for group in linked for span_id in group}
    unlinked = [(span.id,) for span in layer.spans if span.id not in linked_ids]
    order = {span.id: number for number, span in enumerate(layer.spans)}

    def sort_key(span_id: str) -> tuple[int, int, int]:
        start, end = bounds[span_id]
        return start, -end, order[span_id]

    groups = [
        sorted((span_id for span_id in group if span_id in bounds), key=sort_key)
        for group in (*linked, *unlinked)
    ]
    return sorted((group for group in groups if group), key=lambda group: sort_key(group[0]))


def _without_crossing(mentions: Sequence[Bounds]) -> list[Bounds]:
    """Return a cluster's mentions but those that cross an earlier one in more than one word."""
    kept_mentions: list[Bounds] = []
    ends: list[int] = []
    for start, end in mentions:
        while ends and ends[-1] <= start + 1:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            kept_mentions.append((start, end))
    return kept_mentions
