"""The interface of a file format, so that commands and corpora need not know which one it is.

A module in this folder is a format's name. It has ``loads`` and ``dumps`` for Python users and a
``KIND`` for all other code; ``dumps`` of what ``loads`` returned is the same text again.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from spanloom.annotation.comparable import comparable
from spanloom.config.options import Options
from spanloom.document import GIVEN_WORDS, Document, Layer, Span

Losses = Mapping[str, int]  # description of what a format cannot hold -> how often it occurred


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of file stores documents.

    ``loads(text, path=…, options=…)`` yields documents and raises only ``FormatError``, with path
    and line, whatever the input. ``dumps(documents, options=…)`` returns the text; it leaves out
    what the format has no place for. If ``binary``, text is bytes. ``lost_counter(document,
    options)`` replaces the usual way of ``count_lost``: write, read again, compare.

    ``sidecars`` maps the keywords of further texts that belong to the first to their default file
    names, in which ``{stem}`` is the stem of the first file's name: ``loads`` takes them by
    keyword, ``dumps`` returns a mapping with them and, under "", the file itself. ``sniff(head,
    name)`` tells from the first characters (up to 65,536, cut anywhere) and the file's name whether
    a text may be of this format; it prefers a false no to a false yes. ``suffixes`` are the file
    suffixes, the first one for new files; ``example`` is a small text with the format's special
    cases. ``sniff_options(head)`` returns the options that a file's beginning shows, unless the
    user gives them; ``holding(documents)`` returns those with which a file has a place for what the
    documents hold; ``options_of_suffix`` are those of new files whose names end so. ``layers`` are
    the names of the layers that a file can have, first that of the spans, where these are fixed.
    """

    loads: Callable[..., Iterator[Document]]
    dumps: Callable[..., Any]
    sniff: Callable[[str, str], bool]
    suffixes: tuple[str, ...]
    example: Any
    options: type[Options] = Options
    sidecars: Mapping[str, str] = field(default_factory=dict)
    binary: bool = False
    sniff_options: Callable[[str], Mapping[str, Any]] = lambda _: {}
    holding: Callable[[Sequence[Document]], Mapping[str, Any]] = lambda _: {}
    options_of_suffix: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lost_counter: Callable[[Document, Any], Losses] | None = None
    layers: tuple[str, ...] = ()

    def layer_to_rename(self, document: Document) -> str | None:
        """Return the document's only other layer of spans, if it lacks the one a file can have.

        A layer with nothing in it counts where none has spans: it says that there are none.
        """
        if not self.layers or document.has_layer(self.layers[0]):
            return None
        ignored = (*GIVEN_WORDS, *self.layers)
        names = [layer.name for layer in document.layers if layer.name not in ignored]
        with_spans = [name for name in names if document[name].spans]
        chosen = with_spans or [name for name in names if not any(document[name].kinds())]
        return chosen[0] if len(chosen) == 1 else None

    def with_fixed_layer(self, document: Document, old_name: str) -> Document:
        """Return a document whose layer ``old_name`` has the name that a file can have."""
        layers = (
            replace(layer, name=self.layers[0]) if layer.name == old_name else layer
            for layer in document.layers
        )
        return replace(document, layers=tuple(layers))

    def count_lost(self, document: Document, options: Any) -> Losses:
        """Count what the format drops, by a plural description (``"relations of layer ner"``)."""
        if self.lost_counter is not None:
            return self.lost_counter(document, options)
        output = self.dumps([document], options=options)
        texts = dict(output) if self.sidecars else {"": output}
        text = texts.pop("")
        return lost_in_roundtrip(document, self.loads(text, options=options, **texts))


def describe_losses(name: str, losses: Losses) -> list[str]:
    """Return a line on each thing that a format of that name cannot hold."""
    return [f"{name} has no place for {what}: {times}" for what, times in losses.items()]


def without_layers(losses: Losses, layers: Collection[str]) -> Losses:
    """Return the losses but for those of layers with the given names."""
    ends = tuple(f" of layer {name}" for name in layers)
    return Counter({what: times for what, times in losses.items() if not what.endswith(ends)})


def count_queries_and_scores(document: Document) -> Iterator[str]:
    """Yield one description per query and score, for a format that can hold neither."""
    yield from ["queries"] * len(document.queries)
    for layer in document.layers:
        yield from (
            "scores"
            for annotation in layer.annotations()
            if getattr(annotation, "score", None) is not None
        )


_NUMBERED_NAME = re.compile(r"(s\d{5,})?")  # names of documents without one in their file


def lost_in_roundtrip(document: Document, reread: Iterable[Document]) -> Losses:
    """Count the annotations of ``document`` that ``reread`` lacks.

    Spans are compared by the number of nonblank characters before and in them, so a format may
    split words differently or write one document as several; such differences are counted
    separately.
    """
    reread_documents = list(reread)
    lost = Counter(_document_differences(document, reread_documents))
    for layer, kind, _ in (
        _count_annotations([document]) - _count_annotations(reread_documents)
    ).elements():
        lost[f"{kind}s of layer {layer}"] += 1
    lost += Counter(count_queries_and_scores(document)) - Counter(
        item
        for reread_document in reread_documents
        for item in count_queries_and_scores(reread_document)
    )
    return dict(lost)


def _document_differences(document: Document, reread: Sequence[Document]) -> Iterator[str]:
    """Yield a description for each difference of text, name and meta."""
    reread_text = "\n".join(document_read.text for document_read in reread)
    if "".join(document.text.split()) != "".join(reread_text.split()):
        yield "texts"
    elif reread_text != document.text:
        yield "blanks and line breaks"
    if len(reread) > 1:
        yield from ["joints between sentences"] * (len(reread) - 1)
    elif not _NUMBERED_NAME.fullmatch(document.name) and [
        document_read.name for document_read in reread
    ] != [document.name]:
        yield "names"
    reread_meta = Counter(pair for document_read in reread for pair in document_read.meta)
    yield from ["values of the document"] * (Counter(document.meta) - reread_meta).total()


def _count_annotations(documents: Sequence[Document]) -> Counter[tuple[str, str, str]]:
    """Count annotations by layer, kind and content, the documents taken as one."""
    full_text = "".join("".join(document.text.split()) for document in documents)
    counts: Counter[tuple[str, str, str]] = Counter()
    offset = 0
    for document in documents:
        is_solid = [not char.isspace() for char in document.text]
        solid_offsets = [*accumulate(is_solid, initial=offset)]
        offset = solid_offsets[-1]
        moved_layers = tuple(_move_layer(layer, solid_offsets) for layer in document.layers)
        layers = comparable(Document(full_text, moved_layers))[3]
        counts.update(
            (name, annotation.split("'", 2)[1], annotation)
            for name, annotations in layers
            for annotation in annotations
        )
    return counts


def _move_layer(layer: Layer, new_offsets: Sequence[int]) -> Layer:
    """Return a layer with its offsets mapped by ``new_offsets``."""
    spans = tuple(
        Span(
            span.id,
            span.label,
            tuple((new_offsets[start], new_offsets[end]) for start, end in span.fragments),
        )
        for span in layer.spans
    )
    return replace(layer, spans=spans)
