"""Overlap of the spans of two tasks on the same text.

Two corpora rarely annotate the same text, so their gold spans cannot be compared directly. A model
of the source task reads the target's sentences instead, and its spans are compared with the
target's gold spans. So the overlap measures how far the source's idea of a span is the target's,
and also how well the source's model reads the target's kind of text.
"""

from collections.abc import Sequence

from spanloom.document import Document
from spanloom.model.model import Model

Bounds = set[tuple[int, int, int]]  # document, start and end in characters


def dice(a: Bounds, b: Bounds) -> float:
    """Return twice the share of common spans in both sets; 0 where both are empty."""
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0


def spans_of(documents: Sequence[Document], layer: str) -> Bounds:
    """Return the bounds of the distinct spans of a layer, whatever their labels."""
    return {
        (row, span.start, span.end)
        for row, document in enumerate(documents)
        if document.has_layer(layer)
        for span in document[layer].spans
    }


def span_overlap(
    source: Model, task: str, documents: Sequence[Document], layer: str
) -> float | None:
    """Return the Dice coefficient of a source's predicted spans and the gold spans of a layer.

    Labels do not count. ``task`` is that of the source model. None for a task that predicts nothing
    or needs annotation as input, which the documents of another corpus do not have.
    """
    if not source.tasks[task].predicts or source.tasks[task].inputs:
        return None
    texts = [document.unannotated() for document in documents]
    predicted = list(source.predict(texts, task))
    return dice(spans_of(predicted, source.tasks[task].layer), spans_of(documents, layer))
