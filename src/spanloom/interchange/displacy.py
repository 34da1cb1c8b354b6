"""Convert a layer to the data that displaCy draws: ``displacy.render(data, style=…, manual=True)``.

See https://spacy.io/usage/visualizers#manual-usage.
"""

from collections.abc import Mapping
from typing import Any

from spanloom.document import Document
from spanloom.tokenization import word_tokenizer, words_of

Data = dict[str, Any]


def entities(document: Document, layer: str) -> Data:
    """Return the spans of a layer for ``style="ent"``, in the order of the text.

    A span of several fragments is drawn from its first character to its last. Raises ``LayerError``
    where the layer is absent.
    """
    spans = sorted(document[layer].spans, key=lambda span: (span.start, span.end))
    entities = [{"start": span.start, "end": span.end, "label": span.label} for span in spans]
    return {"text": document.text, "ents": entities, "title": document.name or None}


def arcs(document: Document, layer: str, *, tags: str | None = None) -> Data:
    """Return the relations of a layer for ``style="dep"``: arcs between the ends' first words.

    ``tags`` names a layer whose labels are shown below the words. A relation of a word to itself,
    such as the root of a tree, is not drawn. Raises ``LayerError`` where the layer is absent.
    """
    words = words_of(document, word_tokenizer("whitespace", "newline")).words
    index_of = {start: index for index, (start, _) in enumerate(words)}
    tag_at = {} if tags is None else {span.start: span.label for span in document[tags].spans}
    starts = {span.id: span.start for source in document.layers for span in source.spans}
    arcs = (
        _arc(
            index_of.get(starts.get(rel.head, -1)),
            index_of.get(starts.get(rel.tail, -1)),
            rel.label,
        )
        for rel in document[layer].relations
    )
    word_data = [{"text": document.text[a:b], "tag": tag_at.get(a, "")} for a, b in words]
    return {"words": word_data, "arcs": [arc for arc in arcs if arc]}


def _arc(head: int | None, tail: int | None, label: str) -> Mapping[str, Any] | None:
    """Return the arc between two words; None for a missing word or a loop."""
    if head is None or tail is None or head == tail:
        return None
    direction = "left" if tail < head else "right"
    return {"start": min(head, tail), "end": max(head, tail), "label": label, "dir": direction}
