"""Select the layers that a crowded page hides at first: dense and repeated ones.

They are found by measuring, so that no layer has to be known by its name.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from spanloom.document import Document, Fragment, Layer
from spanloom.tokenization import fine_words
from spanloom.viewer.shapes import CONSTITUENTS

_MAX_UNFILTERED = 3  # pages with up to this many layers per text hide none
_NEARLY_ALL = 0.8  # fraction of words that are spans or have arcs; of repeated spans

LayerByDocument = dict[int, Layer]  # one layer of some documents, by document index
SpanKeys = set[tuple[int, str, tuple[Fragment, ...]]]


def hidden_layers(
    names: Sequence[str], shapes: Mapping[str, str], documents: Sequence[Document]
) -> frozenset[str]:
    """Return the layers among ``names`` that a page of these documents hides at first.

    They are layers where nearly every word is a span of its own, or has an arc; constituent trees;
    and layers whose spans also occur in a layer with relations. None is hidden if no document has
    more than a few layers. If all were hidden, the first few are shown.
    """
    by_name = {name: _by_document(name, documents) for name in names}
    layers_per_document = Counter(index for layers in by_name.values() for index in layers)
    if max(layers_per_document.values(), default=0) <= _MAX_UNFILTERED:
        return frozenset()
    dense = [
        name
        for name in names
        if shapes[name] == CONSTITUENTS or _is_dense(by_name[name], documents)
    ]
    linked_keys = [
        _span_keys(by_document)
        for name, by_document in by_name.items()
        if name not in dense and _count_arcs(by_document)
    ]
    repeated = [
        name
        for name, by_document in by_name.items()
        if not _count_arcs(by_document) and _is_repeated(by_document, linked_keys)
    ]
    hidden = [name for name in names if name in {*dense, *repeated}]
    return frozenset(hidden if len(hidden) < len(names) else hidden[_MAX_UNFILTERED:])


def _by_document(name: str, documents: Sequence[Document]) -> LayerByDocument:
    """Return a layer of all documents where it is not empty, by the documents' indices."""
    layers = {
        index: document[name]
        for index, document in enumerate(documents)
        if document.has_layer(name)
    }
    return {index: layer for index, layer in layers.items() if any(layer.annotations())}


def _is_dense(by_document: LayerByDocument, documents: Sequence[Document]) -> bool:
    """Whether nearly every word is a span of its own, or has an arc."""
    num_words = num_marked = 0
    for index, layer in by_document.items():
        text = documents[index].text
        starts = [start for start, _ in fine_words(text)]
        num_words += len(starts)
        num_marked += _count_marked(layer, text, starts)
    return max(num_marked, _count_arcs(by_document)) >= _NEARLY_ALL * max(1, num_words)


def _count_marked(layer: Layer, text: str, starts: Sequence[int]) -> int:
    """Return the number of words that are spans of their own."""
    word_indices: set[int] = set()
    for start, end in {fragment for span in layer.spans for fragment in span.fragments}:
        if len(text[start:end].split()) == 1:
            word_indices.update(range(bisect_left(starts, start), bisect_left(starts, end)))
    return len(word_indices)


def _count_arcs(by_document: LayerByDocument) -> int:
    """Return the number of relations, equivalences and event arguments."""
    return sum(
        len(layer.relations)
        + len(layer.equivalences)
        + sum(len(event.arguments) for event in layer.events)
        for layer in by_document.values()
    )


def _span_keys(by_document: LayerByDocument) -> SpanKeys:
    """Return document index, label and fragments of all spans."""
    return {
        (index, span.label, span.fragments)
        for index, layer in by_document.items()
        for span in layer.spans
    }


def _is_repeated(by_document: LayerByDocument, keys_of_others: Sequence[SpanKeys]) -> bool:
    """Whether another layer has nearly the same spans."""
    keys = _span_keys(by_document)
    return any(
        len(keys & other_keys) >= _NEARLY_ALL * max(len(keys), len(other_keys))
        for other_keys in keys_of_others
    )
