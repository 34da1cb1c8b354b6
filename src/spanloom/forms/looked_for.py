"""Spans of corpora with different labels as one: what each is called, and what was looked for.

A document says in its meta which labels its annotators looked for, where these are not all that a
layer may have. A span whose label says too little (``MISC`` may be a work or an event) is
``UNSURE``: something stands there, nobody knows what. No corpus can spell that label.
"""

from collections.abc import Mapping
from dataclasses import replace

from spanloom.document import Document, Layer
from spanloom.errors import DataError

UNSURE = "\x00unsure"
_KEY = "looked for: "


def relabelled(
    document: Document,
    layer: str,
    to: str,
    labels: Mapping[str, str | None] | None,
    *,
    partial: bool,
) -> Document:
    """Return the bare text with one layer, called ``to``, and its spans labelled as said.

    Without ``labels`` they stay as they are. Where ``labels`` says None a span is unsure. With
    ``partial`` only the labels that ``labels`` leads to were looked for, and spans alone are kept:
    what else was looked for it does not say. Events are called as their triggers. A document
    without the layer has none of that name afterwards. Raises ``DataError`` for a span whose label
    is not in ``labels``.
    """
    bare = document.bare()
    if not document.has(layer):
        return bare
    if labels is None:
        return bare.with_layer(replace(document[layer], name=to))
    spans = document[layer].spans
    for span in spans:
        if span.label not in labels:
            raise DataError(
                f"{document.name}: layer {layer!r} has a span {span.label!r} that its map of "
                f"labels does not name (named: {', '.join(sorted(labels))})"
            )
    mine = document[layer]
    named = tuple(replace(span, label=labels[span.label] or UNSURE) for span in spans)
    if not partial:
        events = (replace(each, label=labels.get(each.label) or each.label) for each in mine.events)
        return bare.with_layer(replace(mine, name=to, spans=named, events=tuple(events)))
    known = "\n".join(sorted({label for label in labels.values() if label is not None}))
    meta = (*(pair for pair in bare.meta if pair[0] != _KEY + to), (_KEY + to, known))
    return replace(bare.with_layer(Layer(to, named)), meta=meta)


def looked_for(document: Document, layer: str) -> frozenset[str] | None:
    """Return the labels that were looked for in a layer; None where all were."""
    said = dict(document.meta).get(_KEY + layer)
    return None if said is None else frozenset(said.split("\n"))


def judged(gold: Document, layer: Layer) -> Layer:
    """Leave out of a layer, the gold document's or a predicted one, what cannot be judged.

    That is spans of labels nobody looked for, those of which the gold is unsure, and what hangs on
    these.
    """
    known = looked_for(gold, layer.name)
    if known is None:
        return layer
    sure = {span.fragments for span in gold[layer.name].spans if span.label != UNSURE}
    unsure = {span.fragments for span in gold[layer.name].spans} - sure
    spans = tuple(
        span for span in layer.spans if span.label in known and span.fragments not in unsure
    )
    ids = {span.id for span in spans}
    return replace(
        layer,
        spans=spans,
        relations=tuple(each for each in layer.relations if {each.head, each.tail} <= ids),
        events=tuple(each for each in layer.events if each.trigger in ids),
        attributes=tuple(each for each in layer.attributes if each.target in ids),
    )
