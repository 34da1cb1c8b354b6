"""Some sentences of a document as a document of their own."""

from dataclasses import replace

from spanloom.document import SENTENCES, Document, Layer, Span
from spanloom.forms.kept import without


def excerpt(document: Document, first: int, stop: int) -> Document:
    """Return a document of the given sentences ``[first, stop)``, in text order.

    Spans that do not lie within them are left out, with what refers to them; queries and meta stay.
    Raises ``LayerError`` for a document without given sentences.
    """
    bounds = sorted((span.start, span.end) for span in document[SENTENCES].spans)[first:stop]
    start, end = bounds[0][0], bounds[-1][1]
    layers = tuple(_within(layer, start, end) for layer in document.layers)
    return replace(document, text=document.text[start:end], layers=layers, source=None)


def _within(layer: Layer, start: int, end: int) -> Layer:
    """Return what a layer says of the characters ``[start, end)``, counted from ``start``."""
    inside = {span.id for span in layer.spans if start <= span.start and span.end <= end}
    kept = without(layer, {span.id for span in layer.spans} - inside)
    return replace(kept, spans=tuple(_moved(span, start) for span in kept.spans))


def _moved(span: Span, start: int) -> Span:
    return replace(span, fragments=tuple((a - start, b - start) for a, b in span.fragments))
