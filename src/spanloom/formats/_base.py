"""What every file format can do, so that commands and corpora need not know which it is.

A file in this room is a format's name. It has ``loads`` and ``dumps`` for users of Python and a
``KIND`` for everybody else; ``dumps`` of what ``loads`` made is the same text again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spanloom.config.options import Options
from spanloom.document import Document

Losses = Mapping[str, int]  # what a format cannot hold, in words, and how often it came


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of file spells documents.

    ``loads(text, path=…, options=…)`` yields documents and raises ``FormatError`` with path and
    line, and nothing else, whatever comes in. ``dumps(documents, options=…)`` returns the text; it
    leaves out what the format has no place for, which ``lost(document, options)`` counts (a plural
    in words: ``"relations of layer ner"``). Where ``binary``, text is bytes.

    ``beside`` names the further texts that make sense of the first, each with the name of its file
    if the user says no other: ``loads`` takes them by keyword, ``dumps`` returns a mapping with
    them and, under "", the file itself. ``looks(head, name)`` tells from the first characters (up
    to 65,536, cut anywhere) and the file's name whether a text may be of this format; it would
    rather say no than be wrong. ``suffixes`` are what such files end in, the first when one is
    made; ``sample`` is a small text of the format, with what is special in it. ``suits(head)``
    returns the options that a file's beginning tells, where nobody says others; so does
    ``holding(documents)`` those with which a file has a place for what documents hold.
    """

    loads: Callable[..., Iterator[Document]]
    dumps: Callable[..., Any]
    lost: Callable[[Document, Any], Losses]
    looks: Callable[[str, str], bool]
    suffixes: tuple[str, ...]
    sample: Any
    options: type[Options] = Options
    beside: Mapping[str, str] = field(default_factory=dict)
    binary: bool = False
    suits: Callable[[str], Mapping[str, Any]] = lambda _: {}
    holding: Callable[[Sequence[Document]], Mapping[str, Any]] = lambda _: {}


def counted(whats: Iterable[str]) -> Losses:
    """Count what is lost, in the order it came."""
    found: dict[str, int] = {}
    for what in whats:
        found[what] = found.get(what, 0) + 1
    return found


def aside(document: Document) -> Iterator[str]:
    """Yield the queries and the scores of a document, for a format that has a place for neither."""
    yield from ["queries"] * len(document.queries)
    for layer in document.layers:
        yield from (
            "scores" for each in layer.annotations() if getattr(each, "score", None) is not None
        )


def unheld(document: Document, held: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield what a format drops that holds only these kinds of annotation of these layers.

    ``held`` maps a layer to the kinds it keeps (``spans``, ``relations``, ``attributes``…); a layer
    that is not in it is dropped whole. Queries and scores are for the format to add.
    """
    kinds = (
        *("spans", "relations", "events", "attributes"),
        *("normalizations", "notes", "equivalences"),
    )
    for layer in document.layers:
        kept = set(held.get(layer.name, ()))
        for kind in kinds:
            if kind not in kept:
                yield from [f"{kind} of layer {layer.name}"] * len(getattr(layer, kind))
