"""Layers that a page begins without where there are many: dense ones, and what is said twice.

Which they are is measured, so that no layer has to be known by its name.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from spanloom.document import Document, Fragment, Layer
from spanloom.page.shapes import CONSTITUENTS
from spanloom.words import fine_words

_FEW = 3  # layers of a text that a page begins with, whatever they are
_NEARLY_ALL = 0.8  # of words are spans by themselves, or arcs a word; of spans that are said again

Held = dict[int, Layer]  # a layer of some documents, by their places
Places = set[tuple[int, str, tuple[Fragment, ...]]]


def set_aside(
    names: Sequence[str], shapes: Mapping[str, str], documents: Sequence[Document]
) -> frozenset[str]:
    """Return the layers among ``names`` that a page of these documents begins without.

    They are those whose spans are nearly all words, one by one; those with nearly an arc a word;
    trees of constituents; and spans that a layer has, too, which links them. There are none where
    no document has more than a few layers. Where all are such ones a page begins with the first.
    """
    held = {name: _held(name, documents) for name in names}
    if max(Counter(at for each in held.values() for at in each).values(), default=0) <= _FEW:
        return frozenset()
    dense = [
        name for name in names if shapes[name] == CONSTITUENTS or _is_dense(held[name], documents)
    ]
    linked = [_spans(each) for name, each in held.items() if name not in dense and _arcs(each)]
    again = [name for name, each in held.items() if not _arcs(each) and _is_among(each, linked)]
    aside = [name for name in names if name in {*dense, *again}]
    return frozenset(aside if len(aside) < len(names) else aside[_FEW:])


def _held(name: str, documents: Sequence[Document]) -> Held:
    """Return a layer of all documents that have anything in it, by their places."""
    layers = {at: each[name] for at, each in enumerate(documents) if each.has(name)}
    return {at: layer for at, layer in layers.items() if any(layer.annotations())}


def _is_dense(held: Held, documents: Sequence[Document]) -> bool:
    words = marked = 0
    for at, layer in held.items():
        text = documents[at].text
        starts = [start for start, _ in fine_words(text)]
        words += len(starts)
        marked += _marked(layer, text, starts)
    return max(marked, _arcs(held)) >= _NEARLY_ALL * max(1, words)


def _marked(layer: Layer, text: str, starts: Sequence[int]) -> int:
    """Return how many words are spans by themselves, of those that start there."""
    found: set[int] = set()
    for start, end in {fragment for span in layer.spans for fragment in span.fragments}:
        if len(text[start:end].split()) == 1:
            found.update(range(bisect_left(starts, start), bisect_left(starts, end)))
    return len(found)


def _arcs(held: Held) -> int:
    return sum(
        len(layer.relations)
        + len(layer.equivalences)
        + sum(len(event.arguments) for event in layer.events)
        for layer in held.values()
    )


def _spans(held: Held) -> Places:
    return {(at, s.label, s.fragments) for at, layer in held.items() for s in layer.spans}


def _is_among(held: Held, others: Sequence[Places]) -> bool:
    """Whether another layer has nearly the same spans."""
    own = _spans(held)
    return any(len(own & each) >= _NEARLY_ALL * max(len(own), len(each)) for each in others)
