"""Write the lines of a document's annotation files: unchanged, changed and new ones."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from spanloom.annotation.reference_graph import references
from spanloom.columns import AnnotationColumns
from spanloom.document import (
    GIVEN_WORDS,
    MAIN,
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Normalization,
    Note,
    Relation,
    SourceLine,
    Span,
)
from spanloom.errors import DocumentError
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.ann_grammar import owner
from spanloom.formats.brat.layers import type_of
from spanloom.formats.brat.lookup import Lookup
from spanloom.formats.brat.offsets import Unit, split_at_line_breaks
from spanloom.formats.brat.spelling import (
    read_type,
    write_key,
    write_name,
    write_text,
    write_type,
)

LETTERS: dict[type[Annotation], str] = {  # with which ids of each kind begin
    Span: "T",
    Event: "E",
    Relation: "R",
    Equivalence: "*",
    Attribute: "AM",
    Normalization: "N",
    Note: "#",
}
_ORDER = (  # of a new file
    *("spans", "events", "relations", "equivalences"),
    *("attributes", "normalizations", "notes"),
)


class AnnWriter:
    """Writes the annotations of a document as lines, knowing their layers and their source."""

    def __init__(self, document: Document) -> None:
        """Index the annotations, layers and source lines of the document."""
        self._document = document
        self._text = document.text
        self._lines = document.source.lines if document.source else ()
        self._unit = Unit(document.source.offsets if document.source else "points", document.text)
        self._lookup = Lookup(document.layers)
        self._words_apart = sidecar.stands_apart(document)
        self._default_suffix = home(line.file for line in self._lines)
        self._written: set[str] = set()
        self.annotated: set[str] = set()  # the files that hold an annotation
        self.ends: dict[str, str] = {}  # how the lines of each file end
        for line in self._lines:
            if line.end:
                self.ends.setdefault(line.file, line.end)

    def old_lines(self) -> dict[str, list[str]]:
        """Return the lines of every source file; lines of changed annotations are rewritten."""
        files: dict[str, list[str]] = {}
        for line in self._lines:
            if line.file not in (".txt", queries.SUFFIX):
                files.setdefault(line.file, []).extend(self._rewrite(line))
        return files

    def new(self, with_line: Collection[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield the lines, without line ends, of all annotations but those ``with_line``.

        They come in brat's order, some at a time, with the suffix of the file that they go to.
        """
        for kind in _ORDER:
            for layer in self._document.layers:
                lines = self._new_lines(getattr(layer, kind), layer.name, with_line)
                if lines:
                    yield self._suffix_for(layer.name), lines

    def written(self) -> Collection[str]:
        """Return the ids of the annotations that ``old_lines`` has written."""
        return self._written

    def _new_lines(
        self, annotations: Sequence[Annotation], layer: str, with_line: Collection[str]
    ) -> list[str]:
        """Return the lines of a layer's annotations of one kind, but those ``with_line``."""
        if isinstance(annotations, AnnotationColumns) and not any(
            key in annotations.ids for key in with_line
        ):
            types = {label: _type(label, layer) for label in annotations.labels}
            if annotations.referred_ids() is not None:
                return [
                    f"{key}\t{types[label]} Arg1:{head} Arg2:{tail}"
                    for key, label, head, tail, _ in annotations.rows(0, len(annotations))
                ]
            if self._unit.is_plain:
                return list(self._column_lines(annotations, types))
        new = (annotation for annotation in annotations if annotation.id not in with_line)
        return [self._line(annotation, layer) for annotation in new]

    def _column_lines(
        self, spans: AnnotationColumns[Annotation], types: Mapping[str, str]
    ) -> Iterator[str]:
        """Yield the lines of spans of one fragment; ``types`` are those of their labels."""
        for key, label, start, end, _ in spans.rows(0, len(spans)):
            covered = self._text[start:end]
            if "\n" in covered or "\r" in covered:
                yield self._span_line(Span(key, label, ((start, end),)), types[label])
            else:
                yield f"{key}\t{types[label]} {start} {end}\t{covered}"

    def _suffix_for(self, layer: str) -> str:
        """Return the suffix of the file that new lines of a layer go to."""
        is_apart = self._words_apart and layer in GIVEN_WORDS
        return sidecar.SUFFIX if is_apart else self._default_suffix

    def _line(self, annotation: Annotation, layer: str) -> str:
        """Return the line of an annotation, without its line end."""
        type_name = type_of(annotation, layer, self._lookup.layer_of)
        if isinstance(annotation, Span):
            return self._span_line(annotation, type_name)
        return _format_line(annotation, type_name)

    def _rewrite(self, line: SourceLine) -> Iterator[str]:
        """Yield the line with its end: rewritten if changed, nothing if its annotation is gone."""
        if line.annotation is None:
            yield line.raw + line.end
            return
        current = self._lookup.get(line.annotation.id)
        if current is None or (line.file == sidecar.SUFFIX and not self._words_apart):
            return
        if current == line.annotation and self._same_layer(line.raw, current):
            yield line.raw + line.end
        elif current.id not in self._written:
            yield self._line(current, self._lookup.layer_of(current.id) or "") + line.end
        self._written.add(current.id)
        self.annotated.add(line.file)

    def _same_layer(self, raw: str, current: Annotation) -> bool:
        """Whether the type on the raw line still names the annotation's layer."""
        type_name = raw.split("\t", 2)[1].split(" ", 1)[0]
        if isinstance(current, Attribute | Normalization | Note):
            type_layer = read_type(type_name)[0]
            layer = self._target_layer(current) if type_layer is None else type_layer
        else:
            layer = owner(type_name.split(":", 1)[0] if isinstance(current, Event) else type_name)[
                0
            ]
        return layer == self._lookup.layer_of(current.id)

    def _target_layer(self, annotation: Annotation) -> str | None:
        """Return the layer of the annotation's target."""
        return self._lookup.layer_of(references(annotation)[0], MAIN)

    def _span_line(self, span: Span, type_name: str) -> str:
        """Return a text-bound line, the span split at line breaks."""
        if len(span.fragments) == 1 and self._unit.is_plain:
            ((start, end),) = span.fragments
            covered = self._text[start:end]
            if "\n" not in covered and "\r" not in covered:
                return f"{span.id}\t{type_name} {start} {end}\t{covered}"
        fragments = split_at_line_breaks(self._text, span.fragments)
        offsets = ";".join(f"{start} {end}" for start, end in self._unit.offsets(fragments))
        text = " ".join(self._text[start:end] for start, end in fragments)
        return (
            f"{span.id}\t{type_name} {offsets}\t{text.replace(chr(10), ' ').replace(chr(13), ' ')}"
        )


def _type(label: str, layer: str) -> str:
    """Return the brat type of a label of a layer."""
    return write_type(label, None if layer == MAIN else layer)


def _format_line(annotation: Annotation, type_name: str) -> str:
    """Return the line of any annotation but a span."""
    match annotation:
        case Relation(id=key, roles=roles):
            first, second = (write_name(role) for role in roles)
            return f"{key}\t{type_name} {first}:{annotation.head} {second}:{annotation.tail}"
        case Event(id=key):
            arguments = (
                f" {write_name(argument.role)}:{argument.target}"
                for argument in annotation.arguments
            )
            return f"{key}\t{type_name}:{annotation.trigger}{''.join(arguments)}"
        case Equivalence():
            return " ".join((f"*\t{type_name}", *annotation.members))
        case Attribute(id=key, value=value):
            suffix = "" if value is None else " " + (write_text(value, tabs=False) or "_x_")
            return f"{key}\t{type_name} {annotation.target}{suffix}"
        case Normalization(id=key):
            reference = f"{write_name(annotation.resource)}:{write_key(annotation.key)}"
            return (
                f"{key}\t{type_name} {annotation.target} {reference}\t{write_text(annotation.text)}"
            )
        case Note(id=key):
            return f"{key}\t{type_name} {annotation.target}\t{write_text(annotation.text)}"
        case _:
            raise DocumentError(f"{annotation.id!r}: no line of brat is for {type(annotation)}")


def home(files: Iterable[str]) -> str:
    """Return the suffix of the file that takes new annotations: .ann, or the last split file."""
    suffixes = set(files) - {".txt", sidecar.SUFFIX, queries.SUFFIX}
    if not suffixes or ".ann" in suffixes:
        return ".ann"
    return ".a2" if ".a2" in suffixes else max(suffixes)
