"""Documents as tables of pandas: one row an annotation."""

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
    """Return spans, relations, events' arguments and attributes of documents, a row each.

    ``kind`` is what a row is: of a span ``start`` and ``end`` are its first character and the one
    after its last, ``text`` what it covers; of a relation or argument ``head`` and ``tail`` are the
    ids of its ends; of an attribute ``head`` is what it is about, ``text`` its value. What a row
    has not is ``<NA>``. Raises ``PackageMissing`` without pandas.
    """
    PackageMissing.check("to_pandas", "pandas", "pandas")
    import pandas

    every = [documents] if isinstance(documents, Document) else documents
    rows = [row for document in every for row in _rows(document)]
    table = {
        name: pandas.array([row.get(name) for row in rows], dtype=kind)
        for name, kind in COLUMNS.items()
    }
    frame: DataFrame = pandas.DataFrame(table)
    return frame


def _rows(document: Document) -> Iterator[dict[str, Any]]:
    for layer in document.layers:
        for row in _annotations(document, layer):
            yield {"document": document.name, "layer": layer.name, **row}


def _annotations(document: Document, layer: Layer) -> Iterator[dict[str, Any]]:
    for span in layer.spans:
        place = {"start": span.start, "end": span.end, "text": document.cover(span)}
        said = {"kind": "span", "id": span.id, "label": span.label, "score": span.score}
        yield {**said, **place}
    for each in layer.relations:
        said = {"kind": "relation", "id": each.id, "label": each.label, "score": each.score}
        yield {**said, "head": each.head, "tail": each.tail}
    for event in layer.events:
        said = {"kind": "argument", "id": event.id, "score": event.score, "head": event.trigger}
        for filled in event.arguments:
            yield {**said, "label": filled.role, "tail": filled.target}
    for value in layer.attributes:
        said = {"kind": "attribute", "id": value.id, "label": value.label, "score": value.score}
        yield {**said, "head": value.target, "text": value.value}
