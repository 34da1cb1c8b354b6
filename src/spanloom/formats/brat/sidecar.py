"""Read and write ``NAME.words``: in .ann grammar, what an .ann file has no place for.

It holds the given words and sentences (``T1`` TAB ``words__Label 0 5`` TAB ``Hello``, with their
attributes), unless another layer refers to them: then they stand in the .ann. It has three more
kinds of lines: ``layer`` TAB name for an empty layer, ``layers`` and after TABs the names of all
layers that are annotated, with or without annotations, and ``meta`` TAB key TAB value. brat ignores
the file; if it gave an id of this file to a new annotation, reading gives this file's annotation a
new id.
"""

from collections.abc import Iterable, Sequence

from spanloom.annotation.reference_graph import references
from spanloom.columns import AnnotationColumns
from spanloom.document import GIVEN_WORDS, Annotation, Document
from spanloom.formats.brat.lookup import Lookup
from spanloom.formats.brat.spelling import read_name, read_text, write_name, write_text

SUFFIX = ".words"
_LAYER, _LAYERS, _META = "layer\t", "layers\t", "meta\t"


def is_directive(raw: str) -> bool:
    """Whether the line is about layers or meta, and so has no annotation."""
    return raw.startswith((_LAYER, _LAYERS, _META))


def directives(document: Document, empty_layers: Iterable[str]) -> list[str]:
    """Return the layer lines of ``empty_layers`` and the document's meta lines."""
    layers = [_LAYER + write_name(name) for name in empty_layers]
    pairs = [
        f"{_META}{write_text(key, tabs=False)}\t{write_text(value, tabs=False)}"
        for key, value in document.meta
    ]
    return layers + pairs


def layer_names(raw_lines: Iterable[str]) -> list[str]:
    """Return the names in the layer lines among these."""
    return [read_name(line.removeprefix(_LAYER)) for line in raw_lines if line.startswith(_LAYER)]


def list_of_layers(document: Document) -> str:
    """Return the line that names all layers of a document."""
    return _LAYERS + "\t".join(write_name(layer.name) for layer in document.layers)


def listed_layers(raw_lines: Iterable[str]) -> list[str] | None:
    """Return the names in the line of all layers, None if there is no such line."""
    lists = [line.removeprefix(_LAYERS) for line in raw_lines if line.startswith(_LAYERS)]
    return (
        [read_name(name) for line in lists for name in line.split("\t") if name] if lists else None
    )


def meta(raw_lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the keys and values of the meta lines among these."""
    pairs = [
        line.removeprefix(_META).partition("\t") for line in raw_lines if line.startswith(_META)
    ]
    return tuple(
        (read_text(key, tabs=False), read_text(value, tabs=False)) for key, _, value in pairs
    )


def stands_apart(document: Document) -> bool:
    """Whether words and sentences can leave the .ann: no other layer refers to them."""
    given = Lookup([layer for layer in document.layers if layer.name in GIVEN_WORDS])
    return not any(
        _refers_to(annotations, given)
        for layer in document.layers
        if layer.name not in GIVEN_WORDS
        for annotations in layer.kinds()
    )


def _refers_to(annotations: Sequence[Annotation], given: Lookup) -> bool:
    """Whether any annotation refers to one of the given ones."""
    if isinstance(annotations, AnnotationColumns):
        referred_ids = annotations.referred_ids()
        if referred_ids is None or not given.has_any(referred_ids):
            return False
    return any(
        given.get(key) is not None for annotation in annotations for key in references(annotation)
    )
