"""Count what a format cannot hold of a document, by writing it and reading it again.

Formats that hold spans only under conditions (one pair of entities, labels without blanks, terms
on one line…) need no second description of these: whatever is not read again was lost.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from spanloom.document import Document, Layer, Span, comparable
from spanloom.formats._base import Losses, count_queries_and_scores

_NUMBERED_NAME = re.compile(r"(s\d{5,})?")  # names of documents without one in their file


def lost_in_roundtrip(document: Document, reread: Iterable[Document]) -> Losses:
    """Count the annotations of ``document`` that ``reread`` lacks.

    Spans are compared by the number of nonblank characters before and in them, so a format may
    split words differently or write one document as several; such differences are counted
    separately.
    """
    reread_documents = list(reread)
    lost = Counter(_document_differences(document, reread_documents))
    for layer, kind, _ in (
        _count_annotations([document]) - _count_annotations(reread_documents)
    ).elements():
        lost[f"{kind}s of layer {layer}"] += 1
    lost += Counter(count_queries_and_scores(document)) - Counter(
        item
        for reread_document in reread_documents
        for item in count_queries_and_scores(reread_document)
    )
    return dict(lost)


def _document_differences(document: Document, reread: Sequence[Document]) -> Iterator[str]:
    """Yield a description for each difference of text, name and meta."""
    reread_text = "\n".join(document_read.text for document_read in reread)
    if "".join(document.text.split()) != "".join(reread_text.split()):
        yield "texts"
    elif reread_text != document.text:
        yield "blanks and line breaks"
    if len(reread) > 1:
        yield from ["joints between sentences"] * (len(reread) - 1)
    elif not _NUMBERED_NAME.fullmatch(document.name) and [
        document_read.name for document_read in reread
    ] != [document.name]:
        yield "names"
    reread_meta = Counter(pair for document_read in reread for pair in document_read.meta)
    yield from ["values of the document"] * (Counter(document.meta) - reread_meta).total()


def _count_annotations(documents: Sequence[Document]) -> Counter[tuple[str, str, str]]:
    """Count annotations by layer, kind and content, the documents taken as one."""
    full_text = "".join("".join(document.text.split()) for document in documents)
    counts: Counter[tuple[str, str, str]] = Counter()
    offset = 0
    for document in documents:
        is_solid = [not char.isspace() for char in document.text]
        solid_offsets = [*accumulate(is_solid, initial=offset)]
        offset = solid_offsets[-1]
        moved_layers = tuple(_move_layer(layer, solid_offsets) for layer in document.layers)
        layers = comparable(Document(full_text, moved_layers))[3]
        counts.update(
            (name, annotation.split("'", 2)[1], annotation)
            for name, annotations in layers
            for annotation in annotations
        )
    return counts


def _move_layer(layer: Layer, new_offsets: Sequence[int]) -> Layer:
    """Return a layer with its offsets mapped by ``new_offsets``."""
    spans = tuple(
        Span(
            span.id,
            span.label,
            tuple((new_offsets[start], new_offsets[end]) for start, end in span.fragments),
        )
        for span in layer.spans
    )
    return replace(layer, spans=spans)
