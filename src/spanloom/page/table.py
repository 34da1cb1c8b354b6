"""A document as a plain text table, for a terminal or a pipe."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.document import Annotation, Document, Event, Layer, Query, Span
from spanloom.page.glyphs import columns, elide, visible
from spanloom.page.marks import drawn_layers

_GAP = "  "
_LEAST = 12  # columns a text keeps, however narrow the terminal is


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading and its rows; ``long`` is the place of the column that is cut to fit."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    long: int


def table(
    document: Document, *, width: int | None = None, layers: Collection[str] | None = None
) -> str:
    """Return queries, spans, relations, attributes and the rest as aligned columns, a row each.

    ``width`` is the columns of the terminal: longer texts end in ``…``; None cuts nothing. Bounds
    of a discontinuous span are joined by ``;``. ``layers`` None means all but words and sentences.
    Raises ``LayerError`` for a layer that the document does not have.
    """
    drawn = drawn_layers(document, layers)
    told = _Teller(document)
    sections = [
        _Section(("id", "query"), [_query(each) for each in document.queries], 1),
        _section("id label start end text score", 4, drawn, _spans, told),
        _section("id label text score", 2, drawn, _relations, told),
        _section("id event text score", 2, drawn, _events, told),
        _section("id attribute value about score", 3, drawn, _attributes, told),
        _section("id normalization resource key name about", 4, drawn, _normalizations, told),
        _section("id note text about", 2, drawn, _notes, told),
        _section("id equivalence members", 2, drawn, _equivalences, told),
    ]
    return "\n".join(_aligned(each, width) for each in sections if each.rows)


class _Teller:
    """Says what an id means: the text of a span or of an event's trigger."""

    def __init__(self, document: Document) -> None:
        self._document, self._known = document, document.annotations()

    def text(self, target: str) -> str:
        """Return the text that an id stands for, or the id itself where it stands for none."""
        each: Annotation | None = self._known.get(target)
        if isinstance(each, Event):
            each = self._known.get(each.trigger)
        return self._document.cover(each) if isinstance(each, Span) else target


_Rows = Callable[[Layer, _Teller], Iterator[tuple[str, ...]]]


def _section(
    heads: str, long: int, layers: Sequence[Layer], rows: _Rows, told: _Teller
) -> _Section:
    """Return a section: layers are named where there are several, scores where there are any."""
    named = len(layers) > 1
    found = [
        ((row[0], layer.name, *row[1:]) if named else row)
        for layer in layers
        for row in rows(layer, told)
    ]
    titles = heads.split()
    if named:
        titles.insert(1, "layer")
    if titles[-1] == "score" and not any(row[-1] for row in found):
        titles.pop()
        found = [row[:-1] for row in found]
    return _Section(tuple(titles), [tuple(map(visible, row)) for row in found], long + named)


def _query(query: Query) -> tuple[str, ...]:
    return visible(query.id), visible(query.prompt)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _spans(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for span in layer.spans:
        starts, ends = (";".join(map(str, side)) for side in zip(*span.fragments, strict=True))
        yield span.id, span.label, starts, ends, told.text(span.id), _score(span.score)


def _relations(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for each in layer.relations:
        text = f"{told.text(each.head)} → {told.text(each.tail)}"
        yield each.id, each.label, text, _score(each.score)


def _events(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for event in layer.events:
        filled = "; ".join(f"{each.role}: {told.text(each.target)}" for each in event.arguments)
        text = told.text(event.trigger) + (f" → {filled}" if filled else "")
        yield event.id, event.label, text, _score(event.score)


def _attributes(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for each in layer.attributes:
        about = _about(each.target, told)
        yield each.id, each.label, each.value or "", about, _score(each.score)


def _about(target: str, told: _Teller) -> str:
    text = told.text(target)
    return target if text == target else f"{target} {text}"


def _normalizations(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for each in layer.normalizations:
        about = _about(each.target, told)
        yield each.id, each.label, each.resource, each.key, each.text, about


def _notes(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for note in layer.notes:
        yield note.id, note.label, note.text, _about(note.target, told)


def _equivalences(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for same in layer.equivalences:
        yield same.id, same.label, " = ".join(map(told.text, same.members))


def _aligned(section: _Section, width: int | None) -> str:
    """Return the lines of a section, its long column cut so that lines fit into ``width``."""
    lines = [section.heads, *section.rows]
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        spare = width - sum(widths) - len(_GAP) * (len(widths) - 1)
        widths[section.long] = max(
            min(_LEAST, widths[section.long]), widths[section.long] + min(0, spare)
        )
    return "".join(_line(line, widths) for line in lines)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    shown = (elide(cell, size) for cell, size in zip(cells, widths, strict=True))
    padded = (cell + " " * (size - columns(cell)) for cell, size in zip(shown, widths, strict=True))
    return _GAP.join(padded).rstrip() + "\n"
