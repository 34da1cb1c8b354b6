"""Documents as one HTML file for people: text with spans and arcs."""

from collections.abc import Collection, Iterable, Mapping
from html import escape

from spanloom.document import Document
from spanloom.page.glyphs import visible
from spanloom.page.layout import layout
from spanloom.page.marks import Picture, drawn_layers, picture
from spanloom.page.parts import colours_of, draw_legend, draw_loose, draw_row, number_of
from spanloom.page.sheet import sheet


def render(
    documents: Iterable[Document], *, title: str, layers: Collection[str] | None = None
) -> str:
    """Return an HTML page of the documents, with nothing to load from elsewhere.

    ``layers`` names the layers to draw; None draws all but words and sentences. Raises
    ``LayerError`` for a layer that a document does not have.
    """
    given = tuple(documents)
    pictures = [picture(document, layers) for document in given]
    colours = colours_of(pictures)
    parts = [draw_legend([pictures], colours), _undrawn(given, layers)]
    for at, (document, drawn) in enumerate(zip(given, pictures, strict=True), 1):
        name = escape(visible(document.name or f"document {at}"))
        parts.append(f"<h2>{name}</h2>\n{_body(document, drawn, colours)}")
    return sheet(title, "\n".join(filter(None, parts)))


def _body(document: Document, drawn: Picture, colours: Mapping[str, int]) -> str:
    """Return the rows of one document, and what has no place in them."""
    strips = layout(document.text, drawn)
    rows = [draw_row(each, colours, number_of(each)) for each in strips]
    return "\n".join([*rows, draw_loose(drawn)])


def _undrawn(documents: Iterable[Document], layers: Collection[str] | None) -> str:
    """Name the layers that are there and not drawn."""
    hidden: dict[str, None] = {}
    for document in documents:
        drawn = {layer.name for layer in drawn_layers(document, layers)}
        hidden |= {layer.name: None for layer in document.layers if layer.name not in drawn}
    names = escape(visible(", ".join(hidden)))
    return f'<p class="loose">Layers not drawn: {names}</p>' if hidden else ""
