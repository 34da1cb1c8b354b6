"""Map the labels of corpora to one label set, and mark which labels each corpus annotated.

A document's metadata name the labels that its annotators looked for, if these are not all labels
of the layer. A span whose label is too coarse (``MISC`` may be a work or an event) is labelled
``UNKNOWN_LABEL``: there is a span, but its label is unknown. No corpus can contain that label.
"""

from collections.abc import Mapping
from dataclasses import replace

from spanloom.document import Document, Layer
from spanloom.errors import DataError

UNKNOWN_LABEL = "\x00unsure"
_KEY = "looked for: "


def map_labels(
    document: Document,
    layer: str,
    to: str,
    labels: Mapping[str, str | None] | None,
    *,
    partial: bool,
) -> Document:
    """Return the unannotated document with one layer, called ``to``, and its span labels mapped.

    Without ``labels`` they stay unchanged; a label mapped to None becomes ``UNKNOWN_LABEL``. With
    ``partial``, only the labels that ``labels`` maps to count as annotated, and only spans are
    kept, since it does not say which other annotations are complete. Events are renamed like their
    triggers. A document without the layer gets no layer ``to``. Raises ``DataError`` for a span
    whose label is not in ``labels``.
    """
    unannotated = document.unannotated()
    if not document.has_layer(layer):
        return unannotated
    if labels is None:
        return unannotated.with_layer(replace(document[layer], name=to))
    source = document[layer]
    for span in source.spans:
        if span.label not in labels:
            raise DataError(
                f"{document.name}: layer {layer!r} has a span {span.label!r} that its map of "
                f"labels does not name (named: {', '.join(sorted(labels))})"
            )
    renamed = tuple(
        replace(span, label=labels[span.label] or UNKNOWN_LABEL) for span in source.spans
    )
    if not partial:
        events = (
            replace(event, label=labels.get(event.label) or event.label) for event in source.events
        )
        return unannotated.with_layer(replace(source, name=to, spans=renamed, events=tuple(events)))
    annotated = "\n".join(sorted({label for label in labels.values() if label is not None}))
    meta = (*(pair for pair in unannotated.meta if pair[0] != _KEY + to), (_KEY + to, annotated))
    return replace(unannotated.with_layer(Layer(to, renamed)), meta=meta)


def annotated_labels(document: Document, layer: str) -> frozenset[str] | None:
    """Return the labels that were annotated in a layer; None if all were."""
    labels = dict(document.meta).get(_KEY + layer)
    return None if labels is None else frozenset(labels.split("\n"))


def scorable(gold: Document, layer: Layer) -> Layer:
    """Drop spans that cannot be scored: labels not annotated in gold, and spans of unknown label.

    Spans with the offsets of a gold span of unknown label are dropped too, and so are relations,
    events and attributes of dropped spans. ``layer`` is the gold document's or a predicted one.
    """
    annotated = annotated_labels(gold, layer.name)
    if annotated is None:
        return layer
    certain = {span.fragments for span in gold[layer.name].spans if span.label != UNKNOWN_LABEL}
    uncertain = {span.fragments for span in gold[layer.name].spans} - certain
    spans = tuple(
        span for span in layer.spans if span.label in annotated and span.fragments not in uncertain
    )
    kept_ids = {span.id for span in spans}
    return replace(
        layer,
        spans=spans,
        relations=tuple(
            relation for relation in layer.relations if {relation.head, relation.tail} <= kept_ids
        ),
        events=tuple(event for event in layer.events if event.trigger in kept_ids),
        attributes=tuple(
            attribute for attribute in layer.attributes if attribute.target in kept_ids
        ),
    )
