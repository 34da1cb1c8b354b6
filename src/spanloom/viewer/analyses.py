"""Sort layers into analyses, the tabs of a page; only what a layer holds decides, not its name.

| analysis | layers |
|---|---|
| names | spans |
| relations | spans with relations or events |
| roles | ``tuples``: predicates with their arguments |
| coreference | ``clusters`` |
| grammar | ``dependency``, and spans on nearly every word |
| tree | ``constituents`` |
| classes | one span for nearly all of the text |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanloom.document import Document, Layer, Span
from spanloom.viewer.shapes import (
    CLUSTERS,
    CONSTITUENTS,
    DEPENDENCY,
    TUPLES,
    LayerByDocument,
    count_arcs,
    is_dense,
    layer_by_document,
)

_MOSTLY = 0.5  # fraction of spans that overlap those of another layer
_NEARLY_ALL = 0.8  # fraction of the characters of a text


@dataclass(frozen=True, slots=True)
class Analysis:
    """A tab: its key in the data of a page, its title, and one line that explains it."""

    key: str
    title: str
    about: str


NAMES = Analysis("names", "Names", "names of people, places and other things")
RELATIONS = Analysis("relations", "Relations", "things in the text, and how they are related")
ROLES = Analysis("roles", "Who did what", "who did what to whom, when and where")
COREFERENCE = Analysis("coreference", "Coreference", "which words mean the same person or thing")
GRAMMAR = Analysis("grammar", "Grammar", "word classes, and which word depends on which")
TREE = Analysis("tree", "Tree", "phrases inside phrases")
CLASSES = Analysis("classes", "Classes", "of which class a text is as a whole")

ANALYSES = (NAMES, RELATIONS, ROLES, COREFERENCE, GRAMMAR, TREE, CLASSES)
_BY_SHAPE = {TUPLES: ROLES, CLUSTERS: COREFERENCE, DEPENDENCY: GRAMMAR, CONSTITUENTS: TREE}


def analyses_of(
    names: Sequence[str], shapes: Mapping[str, str], documents: Sequence[Document]
) -> dict[str, Analysis]:
    """Return the analysis of each layer."""
    return {
        name: _analysis(shapes[name], layer_by_document(name, documents), documents)
        for name in names
    }


def _analysis(shape: str, by_document: LayerByDocument, documents: Sequence[Document]) -> Analysis:
    """Return the analysis of a layer that has annotations in some documents."""
    if shape in _BY_SHAPE:
        return _BY_SHAPE[shape]
    if count_arcs(by_document):
        return RELATIONS
    if all(_is_class(layer, documents[index].text) for index, layer in by_document.items()):
        return CLASSES
    return GRAMMAR if is_dense(by_document, documents) else NAMES


def _is_class(layer: Layer, text: str) -> bool:
    """Return whether a layer has one span, on several words and nearly all of the text."""
    if len(layer.spans) != 1:
        return False
    (span,) = layer.spans
    is_phrase = len(text[span.start : span.end].split()) > 1
    return is_phrase and span.end - span.start >= _NEARLY_ALL * len(text.strip())


def repeated_layers(
    analyses: Mapping[str, Analysis],
    shapes: Mapping[str, str],
    documents: Sequence[Document],
) -> frozenset[str]:
    """Return the layers whose spans mostly overlap those of an earlier layer of the same kind.

    Layers are of the same kind if they have one analysis and one shape. A page shows these layers
    only if the reader asks for them.
    """
    repeated: set[str] = set()
    for number, name in enumerate(analyses):
        for other in list(analyses)[:number]:
            same = (analyses[other], shapes[other]) == (analyses[name], shapes[name])
            if same and other not in repeated and _overlap(other, name, documents):
                repeated.add(name)
    return frozenset(repeated)


def _overlap(first: str, second: str, documents: Sequence[Document]) -> bool:
    """Return whether most spans of one of two layers overlap spans of the other."""
    layers = [layer_by_document(name, documents) for name in (first, second)]
    counts = [[0, 0], [0, 0]]
    for index in layers[0].keys() & layers[1].keys():
        pair = layers[0][index].spans, layers[1][index].spans
        for side in (0, 1):
            spans, others = pair[side], _covered(pair[1 - side])
            counts[side][0] += sum(_touches(span, others) for span in spans)
            counts[side][1] += len(spans)
    return any(total and touching >= _MOSTLY * total for touching, total in counts)


def _covered(spans: Sequence[Span]) -> set[int]:
    """Return the characters that spans cover."""
    return {
        character
        for span in spans
        for start, end in span.fragments
        for character in range(start, end)
    }


def _touches(span: Span, covered: set[int]) -> bool:
    """Return whether a span has one of these characters."""
    return any(
        character in covered for start, end in span.fragments for character in range(start, end)
    )
