"""A document as a plain text table, for a terminal or a pipe."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.document import WORD, Annotation, Document, Event, Fragment, Layer, Query, Span
from spanloom.page.glyphs import columns, elide, visible
from spanloom.page.marks import drawn_layers

_GAP = "  "
_LEAST = 12  # columns a text keeps, however narrow the terminal is


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading and its rows; the last column is cut to fit."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


def table(
    document: Document, *, width: int | None = None, layers: Collection[str] | None = None
) -> str:
    """Return queries, spans, relations, attributes and the rest as aligned columns, a row each.

    Layers of spans on the very same words (tags, a tree's words) stand side by side, a row a word:
    its label, and the relation that leads to it with its head. ``width`` is the columns of the
    terminal: longer texts end in ``…``; None cuts nothing. Bounds of a discontinuous span are
    joined by ``;``. ``layers`` None means all but words and sentences. Raises ``LayerError`` for a
    layer that the document does not have.
    """
    told = _Teller(document)
    beside, drawn = _alike(drawn_layers(document, layers))
    sections = [
        _Section(("id", "query"), [_query(each) for each in document.queries]),
        *(_side_by_side(group, told) for group in beside),
        _section("id label start end score text", drawn, _spans, told),
        _section("id label score text", drawn, _relations, told),
        _section("id event score text", drawn, _events, told),
        _section("id attribute value score about", drawn, _attributes, told),
        _section("id normalization resource key name about", drawn, _normalizations, told),
        _section("id note about text", drawn, _notes, told),
        _section("id equivalence members", drawn, _equivalences, told),
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

    def cover(self, place: tuple[Fragment, ...]) -> str:
        """Return the text of fragments."""
        return self._document.cover(Span("", "", place))


_Rows = Callable[[Layer, _Teller], Iterator[tuple[str, ...]]]


def _alike(layers: Sequence[Layer]) -> tuple[list[list[Layer]], list[Layer]]:
    """Groups of layers whose spans are on the very same words, a row a span; and all others."""
    groups: dict[tuple[tuple[Fragment, ...], ...], list[Layer]] = {}
    for layer in layers:
        bounds = tuple(span.fragments for span in layer.spans)
        if bounds and len(set(bounds)) == len(bounds) and _is_plain(layer):
            groups.setdefault(tuple(sorted(bounds)), []).append(layer)
    beside = [group for group in groups.values() if len(group) > 1]
    taken = {layer.name for group in beside for layer in group}
    return beside, [layer for layer in layers if layer.name not in taken]


def _is_plain(layer: Layer) -> bool:
    """Whether a layer is spans with up to one relation that leads to each, and nothing else."""
    led = [each.tail for each in layer.relations]
    own = {span.id for span in layer.spans}
    inside = all({each.head, each.tail} <= own for each in layer.relations)
    about = layer.attributes or layer.normalizations or layer.notes or layer.equivalences
    return inside and len(set(led)) == len(led) and not (layer.events or about)


def _side_by_side(layers: Sequence[Layer], told: _Teller) -> _Section:
    columns = [dict(_words(layer, told)) for layer in layers]
    places = sorted(columns[0])
    rows = [
        (str(place[0][0]), *(column[place] for column in columns), told.cover(place))
        for place in places
    ]
    heads = ("start", *(layer.name for layer in layers), "text")
    return _Section(heads, [tuple(map(visible, row)) for row in rows])


def _words(layer: Layer, told: _Teller) -> Iterator[tuple[tuple[Fragment, ...], str]]:
    """What a layer says of each word: its label, unless that is plain, and what leads to it."""
    above = {each.tail: each for each in layer.relations}
    for span in layer.spans:
        said = [] if above and span.label == WORD else [span.label]
        if arc := above.get(span.id):
            own = arc.head == span.id
            said.append(arc.label if own else f"{arc.label} ← {told.text(arc.head)}")
        yield span.fragments, ", ".join(said)


def _section(heads: str, layers: Sequence[Layer], rows: _Rows, told: _Teller) -> _Section:
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
    if "score" in titles and not any(row[-2] for row in found):
        titles.remove("score")
        found = [(*row[:-2], row[-1]) for row in found]
    return _Section(tuple(titles), [tuple(map(visible, row)) for row in found])


def _query(query: Query) -> tuple[str, ...]:
    return visible(query.id), visible(query.prompt)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _spans(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for span in layer.spans:
        starts, ends = (";".join(map(str, side)) for side in zip(*span.fragments, strict=True))
        yield span.id, span.label, starts, ends, _score(span.score), told.text(span.id)


def _relations(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for each in layer.relations:
        text = f"{told.text(each.head)} → {told.text(each.tail)}"
        yield each.id, each.label, _score(each.score), text


def _events(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for event in layer.events:
        filled = "; ".join(f"{each.role}: {told.text(each.target)}" for each in event.arguments)
        text = told.text(event.trigger) + (f" → {filled}" if filled else "")
        yield event.id, event.label, _score(event.score), text


def _attributes(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for each in layer.attributes:
        about = _about(each.target, told)
        yield each.id, each.label, each.value or "", _score(each.score), about


def _about(target: str, told: _Teller) -> str:
    text = told.text(target)
    return target if text == target else f"{target} {text}"


def _normalizations(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for each in layer.normalizations:
        about = _about(each.target, told)
        yield each.id, each.label, each.resource, each.key, each.text, about


def _notes(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for note in layer.notes:
        yield note.id, note.label, _about(note.target, told), note.text


def _equivalences(layer: Layer, told: _Teller) -> Iterator[tuple[str, ...]]:
    for same in layer.equivalences:
        yield same.id, same.label, " = ".join(map(told.text, same.members))


def _aligned(section: _Section, width: int | None) -> str:
    """Return the lines of a section, its last column cut so that lines fit into ``width``."""
    lines = [section.heads, *section.rows]
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        spare = width - sum(widths) - len(_GAP) * (len(widths) - 1)
        widths[-1] = max(min(_LEAST, widths[-1]), widths[-1] + min(0, spare))
    return "".join(_line(line, widths) for line in lines)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    shown = (elide(cell, size) for cell, size in zip(cells, widths, strict=True))
    padded = (cell + " " * (size - columns(cell)) for cell, size in zip(shown, widths, strict=True))
    return _GAP.join(padded).rstrip() + "\n"
