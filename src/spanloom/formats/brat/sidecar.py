"""``NAME.words``: what an .ann file has no place for, in the same grammar, beside it.

It holds the given words and sentences (``T1`` TAB ``words__Label 0 5`` TAB ``Hello``, with their
attributes), unless another layer refers to them: then they stand in the .ann. Two kinds of lines
more: ``layer`` TAB name for a layer that is there but empty, ``meta`` TAB key TAB value. brat does
not look at the file; where it gave an id of this file to something new, reading numbers this file's
annotation anew.
"""

from collections.abc import Iterable

from spanloom.document import GIVEN, Document
from spanloom.formats.brat.references import references
from spanloom.formats.brat.spelling import read_name, read_text, write_name, write_text

SUFFIX = ".words"
_LAYER, _META = "layer\t", "meta\t"


def is_directive(raw: str) -> bool:
    """Whether the line says something about the document and makes no annotation."""
    return raw.startswith((_LAYER, _META))


def directives(document: Document, unseen: Iterable[str]) -> list[str]:
    """Return the lines for the layers that no annotation shows, and for the document's meta."""
    layers = [_LAYER + write_name(name) for name in unseen]
    pairs = [
        f"{_META}{write_text(key, tabs=False)}\t{write_text(value, tabs=False)}"
        for key, value in document.meta
    ]
    return layers + pairs


def layer_names(raws: Iterable[str]) -> list[str]:
    """Return the layers that such lines name."""
    return [read_name(raw.removeprefix(_LAYER)) for raw in raws if raw.startswith(_LAYER)]


def meta(raws: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the document's meta from such lines."""
    pairs = [raw.removeprefix(_META).partition("\t") for raw in raws if raw.startswith(_META)]
    return tuple(
        (read_text(key, tabs=False), read_text(value, tabs=False)) for key, _, value in pairs
    )


def stands_apart(document: Document) -> bool:
    """Whether words and sentences can leave the .ann: nothing in another layer refers to them."""
    inside = {
        each.id for layer in document.layers if layer.name in GIVEN for each in layer.annotations()
    }
    return not any(
        inside.intersection(references(each))
        for layer in document.layers
        if layer.name not in GIVEN
        for each in layer.annotations()
    )
