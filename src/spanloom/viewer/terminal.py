"""Draw a document for a terminal: brackets, who did what, chains of mentions, and trees."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from spanloom.annotation.connected_spans import connected_spans
from spanloom.document import SENTENCES, Document, Fragment, Layer
from spanloom.viewer import palette
from spanloom.viewer.analyses import analyses_of, repeated_layers
from spanloom.viewer.interlinear import Line, Mark, lay_out, wrap
from spanloom.viewer.marks import Arc, DrawnDocument, SpanBox, drawn_layers, picture
from spanloom.viewer.shapes import (
    CLUSTERS,
    CONSTITUENTS,
    DEPENDENCY,
    SPANS,
    TUPLES,
    hidden_layers,
    nesting,
    shapes_of,
)
from spanloom.viewer.text_width import columns, elide, visible
from spanloom.viewer.tree_lines import constituent_lines, dependency_lines

_DEFAULT_SHAPES = (SPANS, TUPLES, CLUSTERS)  # of the layers shown unless others are asked for
_LONGEST_TEXT = 60  # columns of a span's text below its sentence
_NARROWEST = 20  # columns of text, however narrow the terminal is
_MAX_NAME = 14  # columns of a layer's name
_NEARLY_ALL = 0.8

Paint = Callable[[str, int | None], str]


def default_layers(document: Document, doubtful: Collection[str] = ()) -> list[str]:
    """Return the names of at most three layers: spans, who did what, and chains of mentions.

    Layers that cover nearly every word, trees, and layers that repeat another one are left out
    unless there are no others. Spans inside spans come last. ``doubtful`` layers are left out.
    """
    names = [
        layer.name
        for layer in drawn_layers(document, None)
        if any(layer.annotations()) and layer.name not in doubtful
    ]
    shapes = shapes_of([document])
    hidden = hidden_layers(names, shapes, [document])
    hidden |= repeated_layers(analyses_of(names, shapes, [document]), shapes, [document])
    shown = sorted(
        (name for name in names if name not in hidden),
        key=lambda name: shapes[name] == SPANS and _is_nested(document[name]),
    )
    firsts = [
        next((name for name in shown if shapes[name] == shape), None) for shape in _DEFAULT_SHAPES
    ]
    ranked = dict.fromkeys([*(name for name in firsts if name), *shown])
    chosen = list(ranked)[: len(_DEFAULT_SHAPES)]
    return [name for name in names if name in chosen]


def _is_nested(layer: Layer) -> bool:
    """Return whether a span of a layer without relations contains another one, or crosses it."""
    parents = nesting(layer.spans)
    is_flat = parents is not None and not any(parent is not None for parent in parents)
    return not (is_flat or layer.relations or layer.events)


def draw(
    document: Document,
    *,
    width: int | None = None,
    colored: bool = False,
    layers: Collection[str] | None = None,
) -> str:
    """Return a drawing of the document, sentence by sentence; "" where layers have nothing.

    Spans are brackets above the text and tags below it; relations, events and roles are lines below
    their sentence, one for each head; chains of mentions are listed at the end; trees are drawn
    with their words. ``width`` is the number of columns of the terminal: lines are wrapped to fit;
    None wraps nothing. ``colored`` adds ANSI colors. ``layers`` None means ``default_layers``.
    Raises ``LayerError`` for a layer that the document does not have.
    """
    names = default_layers(document) if layers is None else list(layers)
    drawn = picture(document, names)
    if not (drawn.marks or drawn.links or document.queries):
        return ""
    drawing = _Drawing(document, names, drawn, _ansi if colored else _plain)
    space = None if width is None else max(_NARROWEST, width - drawing.gutter)
    lines = [f"{visible(query.id)}  {visible(query.prompt)}" for query in document.queries]
    for bounds in _sentences(document):
        lines += drawing.sentence(bounds, space)
    lines += drawing.chains(space)
    lines += [visible(line) for line in drawn.loose]
    return "".join(f"{line.rstrip()}\n" for line in lines)


class _Drawing:
    """What all sentences of a document share."""

    def __init__(
        self, document: Document, names: Sequence[str], drawn: DrawnDocument, paint: Paint
    ) -> None:
        self._document, self._names, self._paint = document, names, paint
        self._shapes = {name: SPANS for name in names} | shapes_of([document])
        self._boxes = {box.id: box for box in drawn.marks}
        self._arcs: dict[str, list[Arc]] = defaultdict(list)
        for arc in drawn.links:
            self._arcs[arc.source].append(arc)
        starts: dict[str, list[SpanBox]] = defaultdict(list)
        for box in drawn.marks:
            starts[box.layer].append(box)
        self._boxes_of = {
            name: sorted(boxes, key=lambda box: box.fragments) for name, boxes in starts.items()
        }
        self._taggings = {
            name for name, boxes in self._boxes_of.items() if _is_tagging(boxes, document.text)
        }
        self._next = dict.fromkeys(names, 0)
        self.gutter = min(_MAX_NAME, max(map(columns, names), default=0)) + 2

    def sentence(self, bounds: Fragment, space: int | None) -> Iterator[str]:
        """Yield the lines of one sentence; sentences come in the order of the text."""
        inside = {name: self._take(name, bounds[1]) for name in self._names}
        brackets, tags = (
            [
                (name, [*self._marks(inside[name], bounds)])
                for name in self._names
                if self._shapes[name] == SPANS and (name in self._taggings) is is_tagging
            ]
            for is_tagging in (False, True)
        )
        lines = lay_out(self._document.text[slice(*bounds)], brackets, tags)
        for part in [lines] if space is None else wrap(lines, space):
            for line in part:
                if not line.name or any(sign.strip() for sign, _ in line.cells):
                    yield self._gutter(line.name) + self._painted(line)
        for name, boxes in inside.items():
            for text in self._below(name, boxes, space):
                yield self._gutter(name) + text

    def chains(self, space: int | None) -> Iterator[str]:
        """Yield the chains of mentions of all layers that have some."""
        for name in self._names:
            if self._shapes[name] != CLUSTERS:
                continue
            for chain in connected_spans(self._document[name]):
                texts = dict.fromkeys(self._text(self._boxes[span].fragments) for span in chain)
                first, *others = ((text, text) for text in texts)
                for line in _fit(first, others, " = ", space):
                    yield self._gutter(name) + line

    def _take(self, name: str, end: int) -> list[SpanBox]:
        """Return the next boxes of a layer that begin before ``end``."""
        boxes, first = self._boxes_of.get(name, []), self._next[name]
        last = first
        while last < len(boxes) and boxes[last].fragments[0][0] < end:
            last += 1
        self._next[name] = last
        return boxes[first:last]

    def _marks(self, boxes: Iterable[SpanBox], bounds: Fragment) -> Iterator[Mark]:
        """Yield what is shown of boxes' fragments as marks of a sentence; later ones have no label.

        Fragments may be empty, or begin at a line break, which no sentence has.
        """
        for box in boxes:
            clipped = [(max(a, bounds[0]), min(b, bounds[1])) for a, b in box.fragments]
            shown = [(start, end) for start, end in clipped if start < end]
            for number, (start, end) in enumerate(shown):
                label = "…" if number else visible(box.caption)
                color = palette.number(box.label)
                yield Mark(start - bounds[0], end - bounds[0], label, color)

    def _below(self, name: str, boxes: Sequence[SpanBox], space: int | None) -> Iterator[str]:
        """Yield the lines below a sentence that a layer has."""
        shape = self._shapes[name]
        if shape == CONSTITUENTS:
            yield from constituent_lines(boxes, self._text)
        elif shape == DEPENDENCY:
            yield from dependency_lines(boxes, self._arcs, self._text)
        elif shape != CLUSTERS:
            for box in boxes:
                yield from self._statement(box, space)

    def _statement(self, box: SpanBox, space: int | None) -> Iterator[str]:
        """Yield the lines of a box with its relations or arguments; none if it has none."""
        arcs = sorted(self._arcs[box.id], key=lambda arc: self._boxes[arc.target].fragments)
        parts = []
        for arc in arcs:
            label, text = visible(arc.caption), self._text(self._boxes[arc.target].fragments)
            painted = self._paint(label, palette.number(arc.label))
            parts.append((f"{label} {text}", f"{painted} {text}"))
        if parts:
            head = f"{self._text(box.fragments)}: "
            yield from _fit((head + parts[0][0], head + parts[0][1]), parts[1:], " · ", space)

    def _text(self, fragments: Sequence[Fragment]) -> str:
        """Return the text of fragments in one short line."""
        pieces = (self._document.text[start:end] for start, end in fragments)
        return elide(visible(" ".join(" … ".join(pieces).split())), _LONGEST_TEXT)

    def _gutter(self, name: str) -> str:
        """Return what stands left of a line."""
        shown = elide(visible(name), _MAX_NAME)
        return shown + " " * (self.gutter - columns(shown))

    def _painted(self, line: Line) -> str:
        """Return the cells of a line, runs of one color painted together."""
        parts: list[str] = []
        run, color = "", None
        for sign, sign_color in line.cells:
            if sign_color != color:
                parts.append(self._paint(run, color))
                run, color = "", sign_color
            run += sign
        return "".join([*parts, self._paint(run, color)])


def _sentences(document: Document) -> Iterator[Fragment]:
    """Yield the bounds of all sentences, of lines where there are none; blank ones are left out."""
    if document.has_layer(SENTENCES):
        bounds = [(span.start, span.end) for span in document[SENTENCES].spans]
    else:
        bounds, start = [], 0
        for line in document.text.splitlines(keepends=True):
            bounds.append((start, start + len(line.rstrip("\r\n"))))
            start += len(line)
    for start, end in sorted(bounds):
        if document.text[start:end].strip():
            yield start, end


def _is_tagging(boxes: Sequence[SpanBox], text: str) -> bool:
    """Return whether nearly all spans are words that follow one another: labels are tags."""
    pairs = list(pairwise(boxes))
    near = sum(
        0 <= following.fragments[0][0] - box.fragments[-1][1] <= 1 for box, following in pairs
    )
    words = sum(len(text[slice(*box.fragments[0])].split()) == 1 for box in boxes)
    return bool(pairs) and near > _NEARLY_ALL * len(pairs) and words > _NEARLY_ALL * len(boxes)


def _fit(
    first: tuple[str, str], others: Iterable[tuple[str, str]], joint: str, space: int | None
) -> Iterator[str]:
    """Yield parts joined in lines that fit; each part is given plain, to measure, and painted."""
    used, line = columns(first[0]), first[1]
    for plain, painted in others:
        size = columns(plain) + len(joint)
        if space is not None and used + size > space:
            yield line
            used, line = 0, " "
        used, line = used + size, line + joint + painted
    yield line


def _ansi(text: str, color: int | None) -> str:
    """Return text in a color of the palette."""
    if color is None or not text.strip():
        return text
    red, green, blue = palette.edge(color, dark=False)
    code = 16 + 36 * round(red / 51) + 6 * round(green / 51) + round(blue / 51)
    return f"\x1b[38;5;{code}m{text}\x1b[39m"


def _plain(text: str, color: int | None) -> str:
    """Return text as it is."""
    return text
