"""Recognize the shape of a layer, such as a tree, and select layers to hide on crowded pages.

Both are decided by the annotations, so no layer has to be known by its name.

| shape | recognized by |
|---|---|
| ``dependency`` | spans side by side, and a relation of one to itself: the root |
| ``constituents`` | spans that never cross; outermost ones have children and cover the text |
| ``clusters`` | equivalences, or relations of one label to an earlier span, mostly of equal label |
| ``tuples`` | relations to all spans of one label, from which no relation starts |
| ``spans`` | all others |
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from spanloom.document import Document, Fragment, Layer, Span
from spanloom.tokenization import fine_words

SPANS = "spans"
DEPENDENCY, CONSTITUENTS, CLUSTERS, TUPLES = "dependency", "constituents", "clusters", "tuples"

_MIN_FILLED = 0.8  # fraction of roots with children, and of characters under roots
_MIN_SAME_LABEL = 0.5  # fraction of mentions with the label of their antecedent
_MAX_UNFILTERED = 3  # pages with up to this many layers per text hide none
_NEARLY_ALL = 0.8  # fraction of words that are spans or have arcs; of repeated spans

LayerByDocument = dict[int, Layer]  # one layer of some documents, by document index
SpanKeys = set[tuple[int, str, tuple[Fragment, ...]]]


def shapes_of(documents: Iterable[Document]) -> dict[str, str]:
    """Return the shape of every layer over all its documents; ``spans`` if they differ."""
    by_name: dict[str, list[tuple[Layer, str]]] = {}
    for document in documents:
        for layer in document.layers:
            if any(layer.annotations()):
                by_name.setdefault(layer.name, []).append((layer, document.text))
    return {name: _shape(layers) for name, layers in by_name.items()}


def _shape(layers: list[tuple[Layer, str]]) -> str:
    """Return the common shape of a layer's documents; if some have relations, of those only."""
    with_relations = [
        layer for layer, _ in layers if layer.relations or layer.events or layer.equivalences
    ]
    if not with_relations:
        return CONSTITUENTS if _are_trees(layers) else SPANS
    return next(
        (shape for shape, has_shape in _SHAPES.items() if all(map(has_shape, with_relations))),
        SPANS,
    )


def _is_dependency(layer: Layer) -> bool:
    """Whether spans do not overlap, and a relation marks the root."""
    has_root = any(relation.head == relation.tail for relation in layer.relations)
    ordered = sorted((span.start, span.end) for span in layer.spans)
    is_flat = all(previous[1] <= following[0] for previous, following in pairwise(ordered))
    return has_root and is_flat and not layer.events


def _is_clusters(layer: Layer) -> bool:
    """Whether relations of one label link each mention to at most one antecedent."""
    spans = {span.id: span for span in layer.spans}
    ends = [(relation.head, relation.tail) for relation in layer.relations]
    if layer.events or not all(head in spans and tail in spans for head, tail in ends):
        return False
    span_pairs = [(spans[head], spans[tail]) for head, tail in ends]
    num_same_label = sum(head.label == tail.label for head, tail in span_pairs)
    antecedents_per_mention = Counter(relation.head for relation in layer.relations)
    return (
        all(_is_antecedent(*pair) for pair in span_pairs)
        and num_same_label >= _MIN_SAME_LABEL * len(span_pairs)
        and len({relation.label for relation in layer.relations}) <= 1
        and max(antecedents_per_mention.values(), default=1) == 1
    )


def _is_antecedent(later: Span, earlier: Span) -> bool:
    """Whether the earlier span precedes the later one."""
    return (earlier.start, earlier.end) < (later.start, later.end)


def _is_tuples(layer: Layer) -> bool:
    """Whether all spans of one label, and no others, are arguments of other spans."""
    labels = {span.id: span.label for span in layer.spans}
    tail_ids = {relation.tail for relation in layer.relations}
    tail_labels = {labels.get(tail) for tail in tail_ids}
    head_labels = {labels.get(relation.head) for relation in layer.relations}
    argument_ids = {id for id, label in labels.items() if label in tail_labels}
    return (
        len(tail_labels) == 1
        and not head_labels & tail_labels
        and argument_ids == tail_ids
        and not layer.events
    )


def _are_trees(layers: list[tuple[Layer, str]]) -> bool:
    """Whether nothing crosses, and nearly all roots have children and cover the text."""
    num_roots = num_filled = covered_characters = characters = num_children = 0
    for layer, text in layers:
        parents = nesting(layer.spans)
        if parents is None:
            return False
        pairs = [
            (layer.spans[index], layer.spans[parent])
            for index, parent in enumerate(parents)
            if parent is not None
        ]
        num_children += sum(
            (span.start, span.end) != (parent.start, parent.end) for span, parent in pairs
        )
        root_indices = [index for index, parent in enumerate(parents) if parent is None]
        num_roots += len(root_indices)
        num_filled += len(set(root_indices) & set(parents))
        covered_characters += sum(
            _num_nonblank(text[layer.spans[index].start : layer.spans[index].end])
            for index in root_indices
        )
        characters += _num_nonblank(text)
    return (
        num_children > 0
        and num_filled >= _MIN_FILLED * num_roots
        and covered_characters >= _MIN_FILLED * characters
    )


def _num_nonblank(text: str) -> int:
    """Return the number of characters that are not blank."""
    return sum(map(len, text.split()))


def nesting(spans: Sequence[Span]) -> list[int | None] | None:
    """Return the index of each span's smallest container, None at the top; None if any two cross.

    The first of spans with equal bounds contains the others; a span with gaps crosses.
    """
    return nesting_of([span.fragments for span in spans])


def nesting_of(spans: Sequence[tuple[Fragment, ...]]) -> list[int | None] | None:
    """Return what ``nesting`` does, of the fragments of spans."""
    if any(len(fragments) > 1 for fragments in spans):
        return None
    bounds = [fragments[0] for fragments in spans]
    parents: list[int | None] = [None] * len(bounds)
    ancestors: list[int] = []
    for index in sorted(range(len(bounds)), key=lambda row: (bounds[row][0], -bounds[row][1], row)):
        start, end = bounds[index]
        while ancestors and bounds[ancestors[-1]][1] <= start and bounds[ancestors[-1]][1] < end:
            ancestors.pop()
        if ancestors and bounds[ancestors[-1]][1] < end:
            return None
        parents[index] = ancestors[-1] if ancestors else None
        ancestors.append(index)
    return parents


_SHAPES: dict[str, Callable[[Layer], bool]] = {
    DEPENDENCY: _is_dependency,
    CLUSTERS: _is_clusters,
    TUPLES: _is_tuples,
}


def hidden_layers(
    names: Sequence[str], shapes: Mapping[str, str], documents: Sequence[Document]
) -> frozenset[str]:
    """Return the layers among ``names`` that a page of these documents hides at first.

    They are layers where nearly every word is a span of its own, or has an arc; constituent trees;
    and layers whose spans also occur in a layer with relations. None is hidden if no document has
    more than a few layers. If all were hidden, the first few are shown.
    """
    by_name = {name: layer_by_document(name, documents) for name in names}
    layers_per_document = Counter(index for layers in by_name.values() for index in layers)
    if max(layers_per_document.values(), default=0) <= _MAX_UNFILTERED:
        return frozenset()
    dense = [
        name for name in names if shapes[name] == CONSTITUENTS or is_dense(by_name[name], documents)
    ]
    linked_keys = [
        _span_keys(by_document)
        for name, by_document in by_name.items()
        if name not in dense and count_arcs(by_document)
    ]
    repeated = [
        name
        for name, by_document in by_name.items()
        if not count_arcs(by_document) and _is_repeated(by_document, linked_keys)
    ]
    hidden = [name for name in names if name in {*dense, *repeated}]
    return frozenset(hidden if len(hidden) < len(names) else hidden[_MAX_UNFILTERED:])


def layer_by_document(name: str, documents: Sequence[Document]) -> LayerByDocument:
    """Return a layer of all documents where it is not empty, by the documents' indices."""
    layers = {
        index: document[name]
        for index, document in enumerate(documents)
        if document.has_layer(name)
    }
    return {index: layer for index, layer in layers.items() if any(layer.annotations())}


def is_dense(by_document: LayerByDocument, documents: Sequence[Document]) -> bool:
    """Whether nearly every word is a span of its own, or has an arc."""
    num_words = num_marked = 0
    for index, layer in by_document.items():
        text = documents[index].text
        starts = [start for start, _ in fine_words(text)]
        num_words += len(starts)
        num_marked += _count_marked(layer, text, starts)
    return max(num_marked, count_arcs(by_document)) >= _NEARLY_ALL * max(1, num_words)


def _count_marked(layer: Layer, text: str, starts: Sequence[int]) -> int:
    """Return the number of words that are spans of their own."""
    word_indices: set[int] = set()
    for start, end in {fragment for span in layer.spans for fragment in span.fragments}:
        if len(text[start:end].split()) == 1:
            word_indices.update(range(bisect_left(starts, start), bisect_left(starts, end)))
    return len(word_indices)


def count_arcs(by_document: LayerByDocument) -> int:
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
