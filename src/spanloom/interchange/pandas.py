"""Convert documents to pandas tables with one row per annotation."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from spanloom.document import Attribute, Document, Event, Layer, Relation, Span
from spanloom.errors import PackageMissing

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = {
    "document": "string",
    "layer": "string",
    "kind": "string",
    "id": "string",
    "label": "string",
    "start": "Int64",
    "end": "Int64",
    "text": "string",
    "head": "string",
    "tail": "string",
    "score": "Float64",
}


def to_pandas(documents: Document | Iterable[Document]) -> "DataFrame":
    """Return spans, relations, event arguments and attributes of documents, one row each.

    ``kind`` is the type of a row. A span has ``start`` and ``end`` (offsets in characters) and its
    ``text``; a relation or argument has the ids of its ends as ``head`` and ``tail``; an attribute
    has its target as ``head`` and its value as ``text``. Other cells are ``<NA>``. Raises
    ``PackageMissing`` without pandas.
    """
    PackageMissing.check("to_pandas", "pandas", "pandas")
    import pandas

    documents = [documents] if isinstance(documents, Document) else documents
    rows = [row for document in documents for row in _rows(document)]
    table = {
        name: pandas.array([row.get(name) for row in rows], dtype=dtype)
        for name, dtype in COLUMNS.items()
    }
    frame: DataFrame = pandas.DataFrame(table)
    return frame


def _rows(document: Document) -> Iterator[dict[str, Any]]:
    """Yield one row per annotation of a document."""
    for layer in document.layers:
        for kind, annotation, cells in _annotations(document, layer):
            yield {
                "document": document.name,
                "layer": layer.name,
                "kind": kind,
                "id": annotation.id,
                "label": annotation.label,
                "score": annotation.score,
                **cells,
            }


def _annotations(
    document: Document, layer: Layer
) -> Iterator[tuple[str, Span | Relation | Event | Attribute, dict[str, Any]]]:
    """Yield the kind of each row of a layer, its annotation, and cells that differ by kind."""
    for span in layer.spans:
        text = document.text_of(span)
        yield "span", span, {"start": span.start, "end": span.end, "text": text}
    for relation in layer.relations:
        yield "relation", relation, {"head": relation.head, "tail": relation.tail}
    for event in layer.events:
        for argument in event.arguments:
            cells = {"label": argument.role, "head": event.trigger, "tail": argument.target}
            yield "argument", event, cells
    for attribute in layer.attributes:
        yield "attribute", attribute, {"head": attribute.target, "text": attribute.value}
