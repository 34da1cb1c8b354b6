"""Format a document as a plain text table, for a terminal or a pipe."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.document import WORD, Annotation, Document, Event, Fragment, Layer, Query, Span
from spanloom.viewer.marks import drawn_layers
from spanloom.viewer.text_width import columns, elide, visible

_GAP = "  "
_MIN_TEXT_COLUMNS = 12  # minimum columns of a text, however narrow the terminal is


@dataclass(frozen=True, slots=True)
class _Section:
    """A header and its rows; the last column is truncated to fit."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


def table(
    document: Document, *, width: int | None = None, layers: Collection[str] | None = None
) -> str:
    """Return queries, spans, relations, attributes and the rest in aligned columns, one per row.

    Layers with the same words as spans (tags, a tree's words) share a section with one row per
    word: its label, and the relation to it with that relation's head. ``width`` is the number of
    columns of the terminal: longer texts end in ``…``; None truncates nothing. Bounds of a
    discontinuous span are joined by ``;``. ``layers`` None means all but words and sentences.
    Raises ``LayerError`` for a layer that the document does not have.
    """
    id_text = _IdText(document)
    aligned_groups, other_layers = _group_aligned(drawn_layers(document, layers))
    sections = [
        _Section(("id", "query"), [_query_row(query) for query in document.queries]),
        *(_aligned_section(group, id_text) for group in aligned_groups),
        _section("id label start end score text", other_layers, _span_rows, id_text),
        _section("id label score text", other_layers, _relation_rows, id_text),
        _section("id event score text", other_layers, _event_rows, id_text),
        _section("id attribute value score about", other_layers, _attribute_rows, id_text),
        _section(
            "id normalization resource key name about", other_layers, _normalization_rows, id_text
        ),
        _section("id note about text", other_layers, _note_rows, id_text),
        _section("id equivalence members", other_layers, _equivalence_rows, id_text),
    ]
    return "\n".join(_format_section(section, width) for section in sections if section.rows)


class _IdText:
    """Returns the text an id stands for: that of a span or of an event's trigger."""

    def __init__(self, document: Document) -> None:
        """Index the document's annotations."""
        self._document, self._by_id = document, document.annotations()

    def text(self, target: str) -> str:
        """Return the text of a span or an event's trigger, for other annotations the id itself."""
        annotation: Annotation | None = self._by_id.get(target)
        if isinstance(annotation, Event):
            annotation = self._by_id.get(annotation.trigger)
        return self._document.text_of(annotation) if isinstance(annotation, Span) else target

    def text_of_fragments(self, fragments: tuple[Fragment, ...]) -> str:
        """Return the text of fragments."""
        return self._document.text_of(Span("", "", fragments))


_Rows = Callable[[Layer, _IdText], Iterator[tuple[str, ...]]]


def _group_aligned(layers: Sequence[Layer]) -> tuple[list[list[Layer]], list[Layer]]:
    """Return groups of layers with the same words as spans, and all other layers."""
    groups: dict[tuple[tuple[Fragment, ...], ...], list[Layer]] = {}
    for layer in layers:
        bounds = tuple(span.fragments for span in layer.spans)
        if bounds and len(set(bounds)) == len(bounds) and _is_plain(layer):
            groups.setdefault(tuple(sorted(bounds)), []).append(layer)
    aligned = [group for group in groups.values() if len(group) > 1]
    aligned_names = {layer.name for group in aligned for layer in group}
    return aligned, [layer for layer in layers if layer.name not in aligned_names]


def _is_plain(layer: Layer) -> bool:
    """Whether a layer only has spans and at most one relation to each."""
    tails = [relation.tail for relation in layer.relations]
    span_ids = {span.id for span in layer.spans}
    ends_are_spans = all({relation.head, relation.tail} <= span_ids for relation in layer.relations)
    other_annotations = (
        layer.attributes or layer.normalizations or layer.notes or layer.equivalences
    )
    return (
        ends_are_spans and len(set(tails)) == len(tails) and not (layer.events or other_annotations)
    )


def _aligned_section(layers: Sequence[Layer], id_text: _IdText) -> _Section:
    """Return a section with one row per word and one column per layer."""
    cells_by_layer = [dict(_word_cells(layer, id_text)) for layer in layers]
    word_fragments = sorted(cells_by_layer[0])
    rows = [
        (
            str(fragments[0][0]),
            *(cells[fragments] for cells in cells_by_layer),
            id_text.text_of_fragments(fragments),
        )
        for fragments in word_fragments
    ]
    heads = ("start", *(layer.name for layer in layers), "text")
    return _Section(heads, [tuple(map(visible, row)) for row in rows])


def _word_cells(layer: Layer, id_text: _IdText) -> Iterator[tuple[tuple[Fragment, ...], str]]:
    """Yield each word's fragments, and its label and the relation to it."""
    relation_to = {relation.tail: relation for relation in layer.relations}
    for span in layer.spans:
        parts = [] if relation_to and span.label == WORD else [span.label]
        if relation := relation_to.get(span.id):
            is_root = relation.head == span.id
            parts.append(
                relation.label if is_root else f"{relation.label} ← {id_text.text(relation.head)}"
            )
        yield span.fragments, ", ".join(parts)


def _section(heads: str, layers: Sequence[Layer], to_rows: _Rows, id_text: _IdText) -> _Section:
    """Return a section; it names layers if there are several, and scores if there are any."""
    has_several = len(layers) > 1
    cells = [
        ((row[0], layer.name, *row[1:]) if has_several else row)
        for layer in layers
        for row in to_rows(layer, id_text)
    ]
    titles = heads.split()
    if has_several:
        titles.insert(1, "layer")
    if "score" in titles and not any(row[-2] for row in cells):
        titles.remove("score")
        cells = [(*row[:-2], row[-1]) for row in cells]
    return _Section(tuple(titles), [tuple(map(visible, row)) for row in cells])


def _query_row(query: Query) -> tuple[str, ...]:
    """Return the cells of a query."""
    return visible(query.id), visible(query.prompt)


def _format_score(score: float | None) -> str:
    """Return a score with three digits, "" for None."""
    return "" if score is None else f"{score:.3f}"


def _span_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each span."""
    for span in layer.spans:
        starts, ends = (";".join(map(str, side)) for side in zip(*span.fragments, strict=True))
        yield span.id, span.label, starts, ends, _format_score(span.score), id_text.text(span.id)


def _relation_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each relation."""
    for relation in layer.relations:
        text = f"{id_text.text(relation.head)} → {id_text.text(relation.tail)}"
        yield relation.id, relation.label, _format_score(relation.score), text


def _event_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each event."""
    for event in layer.events:
        arguments = "; ".join(
            f"{argument.role}: {id_text.text(argument.target)}" for argument in event.arguments
        )
        text = id_text.text(event.trigger) + (f" → {arguments}" if arguments else "")
        yield event.id, event.label, _format_score(event.score), text


def _attribute_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each attribute."""
    for attribute in layer.attributes:
        about = _id_and_text(attribute.target, id_text)
        yield (
            attribute.id,
            attribute.label,
            attribute.value or "",
            _format_score(attribute.score),
            about,
        )


def _id_and_text(target: str, id_text: _IdText) -> str:
    """Return an id and its text, if it has one."""
    text = id_text.text(target)
    return target if text == target else f"{target} {text}"


def _normalization_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each normalization."""
    for normalization in layer.normalizations:
        about = _id_and_text(normalization.target, id_text)
        yield (
            normalization.id,
            normalization.label,
            normalization.resource,
            normalization.key,
            normalization.text,
            about,
        )


def _note_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each note."""
    for note in layer.notes:
        yield note.id, note.label, _id_and_text(note.target, id_text), note.text


def _equivalence_rows(layer: Layer, id_text: _IdText) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each equivalence."""
    for equivalence in layer.equivalences:
        yield equivalence.id, equivalence.label, " = ".join(map(id_text.text, equivalence.members))


def _format_section(section: _Section, width: int | None) -> str:
    """Return the lines of a section, its last column truncated so that lines fit into ``width``."""
    lines = [section.heads, *section.rows]
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        columns_left = width - sum(widths) - len(_GAP) * (len(widths) - 1)
        widths[-1] = max(min(_MIN_TEXT_COLUMNS, widths[-1]), widths[-1] + min(0, columns_left))
    return "".join(_format_line(line, widths) for line in lines)


def _format_line(cells: Iterable[str], widths: Iterable[int]) -> str:
    """Return one line of padded cells."""
    truncated = (elide(cell, width) for cell, width in zip(cells, widths, strict=True))
    padded = (
        cell + " " * (width - columns(cell)) for cell, width in zip(truncated, widths, strict=True)
    )
    return _GAP.join(padded).rstrip() + "\n"
