"""Render documents as one HTML file: text with spans and arcs, or gold beside predicted."""

from collections.abc import Collection, Iterable, Iterator

from spanloom.document import Document
from spanloom.viewer.data import comparison, drawing
from spanloom.viewer.html_shell import render_shell
from spanloom.viewer.table import table


def render(
    documents: Iterable[Document], *, title: str, layers: Collection[str] | None = None
) -> str:
    """Return an HTML page of the documents that loads nothing from elsewhere.

    ``layers`` names the layers to draw; None draws all but words and sentences. Raises
    ``LayerError`` for a layer that a document does not have.
    """
    all_documents = tuple(documents)
    return render_shell(
        drawing(all_documents, title=title, layers=layers),
        _text_sections(all_documents, layers, ""),
    )


def render_pair(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> str:
    """Return an HTML page with gold beside predicted and a list of their differences.

    Raises ``DataError`` if a document has no counterpart or a name occurs twice, ``DocumentError``
    if two texts differ, ``LayerError`` for a layer in ``layers`` that a document does not have.
    """
    sides = tuple(gold), tuple(predicted)
    data = comparison(*sides, title=title, layers=layers)
    text_sections = [
        *_text_sections(sides[0], layers, "gold: "),
        *_text_sections(sides[1], layers, "predicted: "),
    ]
    return render_shell(data, text_sections)


def _text_sections(
    documents: Iterable[Document], layers: Collection[str] | None, side: str
) -> Iterator[tuple[str, str]]:
    """Yield a heading, the text and a table for each document."""
    for number, document in enumerate(documents, 1):
        name = document.name or f"document {number}"
        yield f"{side}{name}", f"{document.text}\n\n{table(document, layers=layers)}"
