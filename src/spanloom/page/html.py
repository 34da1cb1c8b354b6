"""Documents as one HTML file for people: text with spans and arcs, or gold above predicted."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from html import escape

from spanloom.document import Document
from spanloom.errors import DataError, DocumentError
from spanloom.page.compare import Comparison, Difference, Item, compare
from spanloom.page.glyphs import elide, visible
from spanloom.page.layout import layout
from spanloom.page.marks import Link, Mark, Picture, drawn_layers, picture
from spanloom.page.palette import numbers
from spanloom.page.sheet import sheet
from spanloom.page.svg import draw

_SHOWN_COLUMNS = 60  # of a mark's text in the list of differences


def render(
    documents: Iterable[Document], *, title: str, layers: Collection[str] | None = None
) -> str:
    """Return an HTML page of the documents, with nothing to load from elsewhere.

    ``layers`` names the layers to draw; None draws all but words and sentences. Raises
    ``LayerError`` for a layer that a document does not have.
    """
    given = tuple(documents)
    pictures = [picture(document, layers) for document in given]
    colours = _colours(pictures)
    parts = [_legend(pictures, colours), _undrawn(given, layers)]
    for at, (document, drawn) in enumerate(zip(given, pictures, strict=True), 1):
        name = escape(visible(document.name or f"document {at}"))
        parts.append(f"<h2>{name}</h2>\n{_body(document, drawn, colours)}")
    return sheet(title, "\n".join(filter(None, parts)))


def render_pair(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> str:
    """Return an HTML page with each gold document above its prediction and their differences.

    Documents belong together by name. Layers that only one side has are named and not compared.
    Raises ``DataError`` where a name has no partner or stands twice, ``DocumentError`` where the
    two texts differ, ``LayerError`` for a layer in ``layers`` that a document does not have.
    """
    pairs = _pairs(tuple(gold), tuple(predicted))
    compared = []
    for one, other in pairs:
        names = _shared_layers(one, other) if layers is None else layers
        compared.append(compare(picture(one, names), picture(other, names)))
    pictures = [side for each in compared for side in (each.gold, each.predicted)]
    colours = _colours(pictures)
    parts = [_legend(pictures, colours)]
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


def _colours(pictures: Iterable[Picture]) -> dict[str, int]:
    return numbers(mark.label for drawn in pictures for mark in drawn.marks)


def _body(document: Document, drawn: Picture, colours: Mapping[str, int]) -> str:
    """Return the rows of one document, and what has no place in them."""
    rows = []
    for strip in layout(document.text, drawn):
        way = " rtl" if strip.row.backward else ""
        number = str(strip.row.line + 1) if strip.row.opens else ""
        svg = draw(strip, colours)
        rows.append(f'<div class="s{way}"><span class="n">{number}</span>{svg}</div>')
    loose = "".join(f"<li>{escape(visible(line))}</li>" for line in drawn.loose)
    return "\n".join(rows) + (f'\n<ul class="loose">{loose}</ul>' if loose else "")


def _legend(pictures: Iterable[Picture], colours: Mapping[str, int]) -> str:
    """Return the labels of each layer with their counts."""
    marks: dict[str, Counter[str]] = {}
    links: dict[str, Counter[str]] = {}
    for drawn in pictures:
        for mark in drawn.marks:
            marks.setdefault(mark.layer, Counter())[mark.label] += 1
        for link in drawn.links:
            links.setdefault(link.layer, Counter())[link.label] += 1
    lines = []
    for layer in dict.fromkeys((*marks, *links)):
        keys = [
            _key(*each, f"c{colours[each[0]]}") for each in sorted(marks.get(layer, {}).items())
        ]
        keys += [_key(*each, "r") for each in sorted(links.get(layer, {}).items())]
        lines.append(f"<p><b>{escape(visible(layer))}</b>{' '.join(keys)}</p>")
    return f'<div class="legend">{"".join(lines)}</div>' if lines else ""


def _key(label: str, count: int, colour: str) -> str:
    name = escape(visible(label))
    return f'<span class="k"><span class="{colour}">{name}</span> <i>{count:,}</i></span>'


def _undrawn(documents: Iterable[Document], layers: Collection[str] | None) -> str:
    """Name the layers that are there and not drawn."""
    hidden: dict[str, None] = {}
    for document in documents:
        drawn = {layer.name for layer in drawn_layers(document, layers)}
        hidden |= {layer.name: None for layer in document.layers if layer.name not in drawn}
    names = escape(visible(", ".join(hidden)))
    return f'<p class="loose">Layers not drawn: {names}</p>' if hidden else ""


def _pair(
    one: Document, other: Document, comparison: Comparison, colours: Mapping[str, int]
) -> str:
    """Return gold, predicted and the list of their differences."""
    shared = set(_shared_layers(one, other))
    alone = sorted(
        {layer.name for side in (one, other) for layer in drawn_layers(side, None)} - shared
    )
    note = (
        f'<p class="loose">On one side only: {escape(visible(", ".join(alone)))}</p>'
        if alone
        else ""
    )
    return (
        f"<h2>{escape(visible(one.name or 'document'))}</h2>\n<h3>gold</h3>\n"
        f"{_body(one, comparison.gold, colours)}\n<h3>predicted</h3>\n"
        f"{_body(other, comparison.predicted, colours)}\n{note}{_differences(one, comparison)}"
    )


def _differences(document: Document, comparison: Comparison) -> str:
    counts = Counter(each.kind for each in comparison.differences)
    told = ", ".join([f"{comparison.equal} equal", *(f"{n} {kind}" for kind, n in counts.items())])
    rows = [_row(document, comparison, each) for each in comparison.differences]
    head = "<tr><th>difference</th><th>layer</th><th>gold</th><th>predicted</th></tr>"
    table = f"<table>{head}{''.join(rows)}</table>" if rows else ""
    return f"<h3>differences: {told}</h3>{table}"


def _row(document: Document, comparison: Comparison, each: Difference) -> str:
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
