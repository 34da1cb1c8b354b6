"""Gold and predicted documents as one HTML file: line over line, and a list of the differences."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from html import escape

from spanloom.document import Document
from spanloom.errors import DataError, DocumentError
from spanloom.page.compare import Comparison, Difference, Item, compare
from spanloom.page.glyphs import elide, visible
from spanloom.page.layout import Strip, layout
from spanloom.page.marks import Link, Mark, Picture, drawn_layers, picture
from spanloom.page.parts import colours_of, draw_legend, draw_loose, draw_row, number_of
from spanloom.page.sheet import sheet

_SHOWN_COLUMNS = 60  # of a mark's text in the list of differences


def render_pair(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> str:
    """Return an HTML page with gold above predicted, line by line, and their differences.

    Counts in the legend are gold / predicted. Documents belong together by name; layers that only
    one side has are named and not compared. Raises ``DataError`` where a name has no partner or
    stands twice, ``DocumentError`` where the two texts differ, ``LayerError`` for a layer in
    ``layers`` that a document does not have.
    """
    pairs = _pairs(tuple(gold), tuple(predicted))
    compared = []
    for one, other in pairs:
        names = _shared_layers(one, other) if layers is None else layers
        compared.append(compare(picture(one, names), picture(other, names)))
    sides = [[each.gold for each in compared], [each.predicted for each in compared]]
    colours = colours_of([*sides[0], *sides[1]])
    parts = [draw_legend(sides, colours)]
    for (one, other), comparison in zip(pairs, compared, strict=True):
        parts.append(_pair(one, other, comparison, colours))
    return sheet(title, "\n".join(filter(None, parts)))


def _pairs(
    gold: tuple[Document, ...], predicted: tuple[Document, ...]
) -> list[tuple[Document, Document]]:
    """Return the documents of both sides by name, in the order of the gold ones."""
    guesses = {document.name: document for document in predicted}
    for side, given in (("gold", gold), ("predicted", predicted)):
        twice = [name for name, n in Counter(each.name for each in given).items() if n > 1]
        if twice:
            raise DataError(f"{side}: expected one document of each name, got two of {twice[0]!r}")
    odd = sorted({document.name for document in gold} ^ set(guesses))
    if odd:
        side = "predicted" if odd[0] not in guesses else "gold"
        raise DataError(f"{side}: no document named {odd[0]!r} to stand beside the other side's")
    for document in gold:
        if document.text != guesses[document.name].text:
            raise DocumentError(f"{document.name}: gold and predicted have different texts")
    return [(document, guesses[document.name]) for document in gold]


def _shared_layers(one: Document, other: Document) -> list[str]:
    return [layer.name for layer in drawn_layers(one, None) if other.has(layer.name)]


def _pair(
    one: Document, other: Document, comparison: Comparison, colours: Mapping[str, int]
) -> str:
    """Return the lines of gold, each above its prediction, and the list of differences.

    A line in which nothing differs is drawn once.
    """
    shown = [_lines(one.text, comparison.gold), _lines(one.text, comparison.predicted)]
    rows = []
    for gold, guess in zip(*(side.values() for side in shown), strict=True):
        differs = any(map(_is_flagged, (*gold, *guess)))
        rows += [draw_row(strip, colours, number_of(strip) + " gold" * differs) for strip in gold]
        rows += [draw_row(strip, colours, "predicted") for strip in guess if differs]
    shared = set(_shared_layers(one, other))
    sides = [layer.name for side in (one, other) for layer in drawn_layers(side, None)]
    alone = escape(visible(", ".join(sorted(set(sides) - shared))))
    note = f'<p class="loose">Layers on one side only: {alone}</p>' if alone else ""
    loose = draw_loose(comparison.gold) + draw_loose(comparison.predicted)
    name = escape(visible(one.name or "document"))
    body = "\n".join(rows)
    below = f"{loose}{note}{_differences(one, comparison)}"
    return f'<h2>{name}</h2>\n<div class="p">{body}</div>\n{below}'


def _lines(text: str, drawn: Picture) -> dict[int, list[Strip]]:
    """Return the strips of each line."""
    lines: dict[int, list[Strip]] = {}
    for strip in layout(text, drawn):
        lines.setdefault(strip.row.line, []).append(strip)
    return lines


def _is_flagged(strip: Strip) -> bool:
    marks = any(box.mark.state for box in strip.boxes)
    return marks or any(arc.link.state for arc in strip.arcs)


def _differences(document: Document, comparison: Comparison) -> str:
    counts = Counter(each.kind for each in comparison.differences)
    told = ", ".join([f"{comparison.equal} equal", *(f"{n} {kind}" for kind, n in counts.items())])
    rows = [_difference(document, comparison, each) for each in comparison.differences]
    head = "<tr><th>difference</th><th>layer</th><th>gold</th><th>predicted</th></tr>"
    table = f"<table>{head}{''.join(rows)}</table>" if rows else ""
    return f"<h3>differences: {told}</h3>{table}"


def _difference(document: Document, comparison: Comparison, each: Difference) -> str:
    gold = _told(document, comparison.gold, each.gold)
    guess = _told(document, comparison.predicted, each.predicted)
    item = each.gold or each.predicted
    layer = escape(visible(item.layer)) if item else ""
    kind = f'<td class="{each.kind}">{each.kind}</td>'
    return f"<tr>{kind}<td>{layer}</td><td>{gold}</td><td>{guess}</td></tr>"


def _told(document: Document, drawn: Picture, item: Item | None) -> str:
    """Describe a mark by label, text and bounds, a link by the texts of its ends."""
    match item:
        case Mark():
            bounds = " ".join(f"{start}–{end}" for start, end in item.fragments)
            return escape(f"{visible(item.label)} “{_text(document, item)}” {bounds}")
        case Link():
            marks = {mark.id: mark for mark in drawn.marks}
            ends = [_text(document, marks[end]) for end in (item.source, item.target)]
            return escape(f"{visible(item.label)}: “{ends[0]}” → “{ends[1]}”")
        case None:
            return ""


def _text(document: Document, mark: Mark) -> str:
    shown = " ".join(visible(document.text[start:end]) for start, end in mark.fragments)
    return elide(shown, _SHOWN_COLUMNS)
