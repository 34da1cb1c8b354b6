"""What a layer is, told from its shape alone: nobody has to say which layer is a tree.

| shape | what it is told from |
|---|---|
| ``dependency`` | spans side by side, and a relation of one to itself: the root |
| ``constituents`` | spans that never cross; outermost ones are filled and cover the text |
| ``clusters`` | equivalences, or relations of one label, each to a span before, mostly a like one |
| ``tuples`` | relations to spans of one label, which nothing else leads from and no span lacks |
| ``spans`` | all else |
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from spanloom.document import Document, Layer, Span

SPANS = "spans"
DEPENDENCY, CONSTITUENTS, CLUSTERS, TUPLES = "dependency", "constituents", "clusters", "tuples"

_FILLED = 0.8  # of outermost spans of trees that hold another, and of the text that they cover
_ALIKE = 0.5  # of mentions that have the label of the mention before them


def shapes_of(documents: Iterable[Document]) -> dict[str, str]:
    """Return the shape of every layer: that of all its documents, ``spans`` where they differ."""
    found: dict[str, list[tuple[Layer, str]]] = {}
    for document in documents:
        for layer in document.layers:
            if any(layer.annotations()):
                found.setdefault(layer.name, []).append((layer, document.text))
    return {name: _shape(layers) for name, layers in found.items()}


def _shape(layers: list[tuple[Layer, str]]) -> str:
    """Return the shape that all of a layer's documents with anything between spans have."""
    linked = [layer for layer, _ in layers if layer.relations or layer.events or layer.equivalences]
    if not linked:
        return CONSTITUENTS if _are_trees(layers) else SPANS
    return next((shape for shape, is_such in _SHAPES.items() if all(map(is_such, linked))), SPANS)


def _is_dependency(layer: Layer) -> bool:
    roots = any(each.head == each.tail for each in layer.relations)
    ordered = sorted((span.start, span.end) for span in layer.spans)
    beside = all(one[1] <= other[0] for one, other in pairwise(ordered))
    return roots and beside and not layer.events


def _is_clusters(layer: Layer) -> bool:
    spans = {span.id: span for span in layer.spans}
    ends = [(each.head, each.tail) for each in layer.relations]
    if layer.events or not all(one in spans and other in spans for one, other in ends):
        return False
    pairs = [(spans[one], spans[other]) for one, other in ends]
    alike = sum(one.label == other.label for one, other in pairs)
    once = Counter(each.head for each in layer.relations)
    return (
        all(_is_antecedent(*pair) for pair in pairs)
        and alike >= _ALIKE * len(pairs)
        and len({each.label for each in layer.relations}) <= 1
        and max(once.values(), default=1) == 1
    )


def _is_antecedent(later: Span, earlier: Span) -> bool:
    return (earlier.start, earlier.end) < (later.start, later.end)


def _is_tuples(layer: Layer) -> bool:
    labels = {span.id: span.label for span in layer.spans}
    tails = {each.tail for each in layer.relations}
    arguments = {labels.get(tail) for tail in tails}
    heads = {labels.get(each.head) for each in layer.relations}
    every = {id for id, label in labels.items() if label in arguments}
    return len(arguments) == 1 and not heads & arguments and every == tails and not layer.events


def _are_trees(layers: list[tuple[Layer, str]]) -> bool:
    """Whether nothing crosses, and outermost spans are filled and cover the text, nearly always."""
    roots = filled = covered = characters = parts = 0
    for layer, text in layers:
        nested = nesting(layer.spans)
        if nested is None:
            return False
        pairs = [
            (layer.spans[at], layer.spans[up]) for at, up in enumerate(nested) if up is not None
        ]
        parts += sum((span.start, span.end) != (up.start, up.end) for span, up in pairs)
        tops = [at for at, parent in enumerate(nested) if parent is None]
        roots += len(tops)
        filled += len(set(tops) & set(nested))
        covered += sum(_solid(text[layer.spans[at].start : layer.spans[at].end]) for at in tops)
        characters += _solid(text)
    return parts > 0 and filled >= _FILLED * roots and covered >= _FILLED * characters


def _solid(text: str) -> int:
    """Return how many characters are no blanks."""
    return sum(map(len, text.split()))


def nesting(spans: tuple[Span, ...]) -> list[int | None] | None:
    """Return for each span the place of the smallest one that holds it; None where any two cross.

    Of spans on the same words the first holds the others; a span with gaps crosses.
    """
    if any(len(span.fragments) > 1 for span in spans):
        return None
    parents: list[int | None] = [None] * len(spans)
    above: list[int] = []
    for at in _outermost_first(spans):
        span = spans[at]
        while above and spans[above[-1]].end <= span.start and spans[above[-1]].end < span.end:
            above.pop()
        if above and spans[above[-1]].end < span.end:
            return None
        parents[at] = above[-1] if above else None
        above.append(at)
    return parents


def _outermost_first(spans: tuple[Span, ...]) -> Iterator[int]:
    yield from sorted(range(len(spans)), key=lambda at: (spans[at].start, -spans[at].end, at))


_SHAPES: dict[str, Callable[[Layer], bool]] = {
    DEPENDENCY: _is_dependency,
    CLUSTERS: _is_clusters,
    TUPLES: _is_tuples,
}
