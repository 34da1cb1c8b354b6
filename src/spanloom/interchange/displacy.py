"""A layer as the data that displaCy draws: ``displacy.render(data, style=…, manual=True)``.

See https://spacy.io/usage/visualizers#manual-usage.
"""

from collections.abc import Mapping
from typing import Any

from spanloom.document import Document
from spanloom.words import splitter, words_of

Data = dict[str, Any]


def entities(document: Document, layer: str) -> Data:
    """Return the spans of a layer for ``style="ent"``, in the order of the text.

    A span of several fragments is drawn from its first character to its last. Raises
    ``LayerError`` where there is no such layer.
    """
    spans = sorted(document[layer].spans, key=lambda each: (each.start, each.end))
    found = [{"start": each.start, "end": each.end, "label": each.label} for each in spans]
    return {"text": document.text, "ents": found, "title": document.name or None}


def arcs(document: Document, layer: str, *, tags: str | None = None) -> Data:
    """Return the relations of a layer for ``style="dep"``: arcs between the first words of ends.

    ``tags`` names a layer whose labels stand below the words. A relation of a word to itself, as
    a tree's root has, is not drawn. Raises ``LayerError`` where there is no such layer.
    """
    words = words_of(document, splitter("blank", "line")).words
    rows = {start: row for row, (start, _) in enumerate(words)}
    above = {} if tags is None else {each.start: each.label for each in document[tags].spans}
    starts = {each.id: each.start for one in document.layers for each in one.spans}
    drawn = (
        _arc(rows.get(starts.get(each.head, -1)), rows.get(starts.get(each.tail, -1)), each.label)
        for each in document[layer].relations
    )
    shown = [{"text": document.text[a:b], "tag": above.get(a, "")} for a, b in words]
    return {"words": shown, "arcs": [each for each in drawn if each]}


def _arc(head: int | None, tail: int | None, label: str) -> Mapping[str, Any] | None:
    if head is None or tail is None or head == tail:
        return None
    way = "left" if tail < head else "right"
    return {"start": min(head, tail), "end": max(head, tail), "label": label, "dir": way}
