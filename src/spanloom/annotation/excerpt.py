"""Cut parts out of a document."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spanloom.annotation.removal import without_annotations
from spanloom.document import Document, Layer, Span


def clip(document: Document, start: int, end: int) -> Document:
    """Return the document of the characters ``[start, end)``.

    Spans that are not inside are removed, with the annotations that refer to them; queries and meta
    are kept.
    """
    layers = tuple(_clip_layer(layer, start, end) for layer in document.layers)
    return replace(document, text=document.text[start:end], layers=layers, source=None)


def clip_each(document: Document, bounds: Sequence[tuple[int, int]]) -> Iterator[Document]:
    """Yield ``clip`` of each bounds, which are sorted.

    The document is halved until one is left, so time is not the product of bounds and annotations.
    """
    if len(bounds) < 2:
        yield from (clip(document, start, end) for start, end in bounds)
        return
    middle = len(bounds) // 2
    for half in (bounds[:middle], bounds[middle:]):
        first, last = half[0][0], max(end for _, end in half)
        inner = [(start - first, end - first) for start, end in half]
        yield from clip_each(clip(document, first, last), inner)


def _clip_layer(layer: Layer, start: int, end: int) -> Layer:
    """Return a layer's annotations inside ``[start, end)``, with offsets relative to ``start``."""
    inside = {span.id for span in layer.spans if start <= span.start and span.end <= end}
    kept = without_annotations(layer, {span.id for span in layer.spans} - inside)
    return replace(kept, spans=tuple(_shift_span(span, start) for span in kept.spans))


def _shift_span(span: Span, start: int) -> Span:
    return replace(span, fragments=tuple((a - start, b - start) for a, b in span.fragments))
