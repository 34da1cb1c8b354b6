"""Documents as one HTML file for people: text with spans and arcs, or gold beside predicted."""

from collections.abc import Collection, Iterable, Iterator

from spanloom.document import Document
from spanloom.page.data import comparison, drawing
from spanloom.page.sheet import sheet
from spanloom.page.table import table


def render(
    documents: Iterable[Document], *, title: str, layers: Collection[str] | None = None
) -> str:
    """Return an HTML page of the documents, with nothing to load from elsewhere.

    ``layers`` names the layers to draw; None draws all but words and sentences. Raises
    ``LayerError`` for a layer that a document does not have.
    """
    given = tuple(documents)
    return sheet(drawing(given, title=title, layers=layers), _plain(given, layers, ""))


def render_pair(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> str:
    """Return an HTML page with gold beside predicted and a list of their differences.

    Raises ``DataError`` where a document has no partner of its name or a name stands twice,
    ``DocumentError`` where two texts differ, ``LayerError`` for a layer in ``layers`` that a
    document does not have.
    """
    sides = tuple(gold), tuple(predicted)
    data = comparison(*sides, title=title, layers=layers)
    plain = [*_plain(sides[0], layers, "gold: "), *_plain(sides[1], layers, "predicted: ")]
    return sheet(data, plain)


def _plain(
    documents: Iterable[Document], layers: Collection[str] | None, side: str
) -> Iterator[tuple[str, str]]:
    """Yield a heading, the text and a table for each document."""
    for at, document in enumerate(documents, 1):
        name = document.name or f"document {at}"
        yield f"{side}{name}", f"{document.text}\n\n{table(document, layers=layers)}"
