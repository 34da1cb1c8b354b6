"""Write the lines of a document's annotation files: unchanged, changed and new ones."""

from collections.abc import Iterable, Iterator

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
from spanloom.formats.brat.ann_grammar import owner, references
from spanloom.formats.brat.layers import type_of
from spanloom.formats.brat.offsets import Unit, split_at_line_breaks
from spanloom.formats.brat.spelling import read_type, write_key, write_name, write_text

KINDS: dict[type[Annotation], tuple[int, str]] = {  # order in a new file, letters of the id
    Span: (0, "T"),
    Event: (1, "E"),
    Relation: (2, "R"),
    Equivalence: (3, "*"),
    Attribute: (4, "AM"),
    Normalization: (5, "N"),
    Note: (6, "#"),
}


class AnnWriter:
    """Writes the annotations of a document as lines, knowing their layers and their source."""

    def __init__(self, document: Document) -> None:
        """Index the annotations, layers and source lines of the document."""
        self._text = document.text
        self._lines = document.source.lines if document.source else ()
        self._unit = Unit(document.source.offsets if document.source else "points", document.text)
        self._annotations = document.annotations()
        self._layer_of = {
            annotation.id: layer.name
            for layer in document.layers
            for annotation in layer.annotations()
        }
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

    def new(self) -> list[Annotation]:
        """Return the annotations that have no line yet, in brat's order."""
        unwritten = [
            annotation for key, annotation in self._annotations.items() if key not in self._written
        ]
        return sorted(unwritten, key=lambda annotation: KINDS[type(annotation)][0])

    def add(self, annotation: Annotation, files: dict[str, list[str]]) -> None:
        """Append an annotation's line to its file in ``files`` (suffix to lines)."""
        suffix = self._suffix_for(annotation)
        files.setdefault(suffix, []).append(self.line(annotation) + self.ends.get(suffix, "\n"))
        self.annotated.add(suffix)

    def _suffix_for(self, annotation: Annotation) -> str:
        """Return the suffix of the file that a new annotation's line goes to."""
        is_given_word = self._words_apart and self._layer_of[annotation.id] in GIVEN_WORDS
        return sidecar.SUFFIX if is_given_word else self._default_suffix

    def line(self, annotation: Annotation) -> str:
        """Return the line of an annotation, without its line end."""
        type_name = type_of(annotation, self._layer_of)
        if isinstance(annotation, Span):
            return self._span_line(annotation, type_name)
        return _format_line(annotation, type_name)

    def _rewrite(self, line: SourceLine) -> Iterator[str]:
        """Yield the line with its end: rewritten if changed, nothing if its annotation is gone."""
        if line.annotation is None:
            yield line.raw + line.end
            return
        current = self._annotations.get(line.annotation.id)
        if current is None or (line.file == sidecar.SUFFIX and not self._words_apart):
            return
        if current == line.annotation and self._same_layer(line.raw, current):
            yield line.raw + line.end
        elif current.id not in self._written:
            yield self.line(current) + line.end
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
        return layer == self._layer_of[current.id]

    def _target_layer(self, annotation: Annotation) -> str:
        """Return the layer of the annotation's target."""
        return self._layer_of.get(references(annotation)[0], MAIN)

    def _span_line(self, span: Span, type_name: str) -> str:
        """Return a text-bound line, the span split at line breaks."""
        fragments = split_at_line_breaks(self._text, span.fragments)
        offsets = ";".join(f"{start} {end}" for start, end in self._unit.offsets(fragments))
        text = " ".join(self._text[start:end] for start, end in fragments)
        return (
            f"{span.id}\t{type_name} {offsets}\t{text.replace(chr(10), ' ').replace(chr(13), ' ')}"
        )


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
