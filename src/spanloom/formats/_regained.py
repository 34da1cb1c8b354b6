"""What a format cannot hold of a document, found by writing it and reading it again.

Formats that hold spans only if they lie well (one pair of entities, labels without blanks, terms
on one line…) need no second description of that: what is not there again was lost.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from spanloom.document import Document, Layer, Span, content
from spanloom.formats._base import Losses, aside

_COUNTED = re.compile(r"(s\d{5,})?")  # names of documents that have none in their file


def missing(document: Document, again: Iterable[Document]) -> Losses:
    """Count what ``document`` says and ``again``, which was made of it, does not.

    Spans are compared by how many characters that are no blanks stand before and in them, so a
    format may part words otherwise, or spell one document as several; that is counted by itself.
    """
    found = list(again)
    lost = Counter(_whole(document, found))
    for layer, kind, _ in (_said([document]) - _said(found)).elements():
        lost[f"{kind}s of layer {layer}"] += 1
    lost += Counter(aside(document)) - Counter(each for one in found for each in aside(one))
    return dict(lost)


def _whole(document: Document, again: Sequence[Document]) -> Iterator[str]:
    """Yield what differs of text, name and meta."""
    joined = "\n".join(each.text for each in again)
    if "".join(document.text.split()) != "".join(joined.split()):
        yield "texts"
    elif joined != document.text:
        yield "blanks and line breaks"
    if len(again) > 1:
        yield from ["joints between sentences"] * (len(again) - 1)
    elif not _COUNTED.fullmatch(document.name) and [each.name for each in again] != [document.name]:
        yield "names"
    kept = Counter(pair for each in again for pair in each.meta)
    yield from ["values of the document"] * (Counter(document.meta) - kept).total()


def _said(documents: Sequence[Document]) -> Counter[tuple[str, str, str]]:
    """Return layer, kind and meaning of every annotation, the documents taken as one."""
    whole = "".join("".join(each.text.split()) for each in documents)
    found: Counter[tuple[str, str, str]] = Counter()
    before = 0
    for document in documents:
        solid = [not char.isspace() for char in document.text]
        places = [*accumulate(solid, initial=before)]
        before = places[-1]
        moved = tuple(_moved(layer, places) for layer in document.layers)
        layers = content(Document(whole, moved))[3]
        found.update((name, each.split("'", 2)[1], each) for name, said in layers for each in said)
    return found


def _moved(layer: Layer, places: Sequence[int]) -> Layer:
    """Return a layer with its characters at new places."""
    spans = tuple(
        Span(each.id, each.label, tuple((places[a], places[b]) for a, b in each.fragments))
        for each in layer.spans
    )
    return replace(layer, spans=spans)
