"""Convert documents to pandas tables with one row per annotation."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from spanloom.document import Document, Layer
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
        for row in _annotations(document, layer):
            yield {"document": document.name, "layer": layer.name, **row}


def _annotations(document: Document, layer: Layer) -> Iterator[dict[str, Any]]:
    """Yield the row of each annotation of a layer, without document and layer."""
    for span in layer.spans:
        bounds = {"start": span.start, "end": span.end, "text": document.text_of(span)}
        row = {"kind": "span", "id": span.id, "label": span.label, "score": span.score}
        yield {**row, **bounds}
    for relation in layer.relations:
        row = {
            "kind": "relation",
            "id": relation.id,
            "label": relation.label,
            "score": relation.score,
        }
        yield {**row, "head": relation.head, "tail": relation.tail}
    for event in layer.events:
        row = {"kind": "argument", "id": event.id, "score": event.score, "head": event.trigger}
        for argument in event.arguments:
            yield {**row, "label": argument.role, "tail": argument.target}
    for attribute in layer.attributes:
        row = {
            "kind": "attribute",
            "id": attribute.id,
            "label": attribute.label,
            "score": attribute.score,
        }
        yield {**row, "head": attribute.target, "text": attribute.value}
