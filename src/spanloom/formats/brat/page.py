"""The lines of a document's annotation files: old ones again, changed ones anew, new ones."""

from collections.abc import Iterable, Iterator

from spanloom.document import (
    GIVEN,
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
from spanloom.formats.brat.layers import type_of
from spanloom.formats.brat.lines import owner
from spanloom.formats.brat.offsets import Unit, unbroken
from spanloom.formats.brat.references import references
from spanloom.formats.brat.spelling import read_type, write_key, write_name, write_text

KINDS: dict[type[Annotation], tuple[int, str]] = {  # place in a new file, letters of the id
    Span: (0, "T"),
    Event: (1, "E"),
    Relation: (2, "R"),
    Equivalence: (3, "*"),
    Attribute: (4, "AM"),
    Normalization: (5, "N"),
    Note: (6, "#"),
}


class Page:
    """The annotations of a document with what their lines need to know."""

    def __init__(self, document: Document) -> None:
        """Reads the document once."""
        self._text = document.text
        self._lines = document.source.lines if document.source else ()
        self._unit = Unit(document.source.offsets if document.source else "points", document.text)
        self._known = document.annotations()
        self._layer = {
            each.id: layer.name for layer in document.layers for each in layer.annotations()
        }
        self._apart = sidecar.stands_apart(document)
        self._home = home(line.file for line in self._lines)
        self._written: set[str] = set()
        self.annotated: set[str] = set()  # the files that hold an annotation
        self.ends: dict[str, str] = {}  # how the lines of each file end
        for line in self._lines:
            if line.end:
                self.ends.setdefault(line.file, line.end)

    def old_lines(self) -> dict[str, list[str]]:
        """Return the lines of every file there was, those of changed annotations made anew."""
        files: dict[str, list[str]] = {}
        for line in self._lines:
            if line.file not in (".txt", queries.SUFFIX):
                files.setdefault(line.file, []).extend(self._again(line))
        return files

    def new(self) -> list[Annotation]:
        """Return what has no line yet, in brat's order."""
        rest = [each for key, each in self._known.items() if key not in self._written]
        return sorted(rest, key=lambda each: KINDS[type(each)][0])

    def add(self, annotation: Annotation, files: dict[str, list[str]]) -> None:
        """Put a new line at the end of its file."""
        suffix = self._file_of(annotation)
        files.setdefault(suffix, []).append(self.line(annotation) + self.ends.get(suffix, "\n"))
        self.annotated.add(suffix)

    def _file_of(self, annotation: Annotation) -> str:
        """Return the suffix of the file a new line goes to."""
        given = self._apart and self._layer[annotation.id] in GIVEN
        return sidecar.SUFFIX if given else self._home

    def line(self, annotation: Annotation) -> str:
        """Return the line of an annotation, without its end."""
        kind = type_of(annotation, self._layer)
        if isinstance(annotation, Span):
            return self._span_line(annotation, kind)
        return _line(annotation, kind)

    def _again(self, line: SourceLine) -> Iterator[str]:
        """Return the line with its end, a new one if it changed, nothing if it is gone."""
        if line.made is None:
            yield line.raw + line.end
            return
        current = self._known.get(line.made.id)
        if current is None or (line.file == sidecar.SUFFIX and not self._apart):
            return
        if current == line.made and self._same_layer(line.raw, current):
            yield line.raw + line.end
        elif current.id not in self._written:
            yield self.line(current) + line.end
        self._written.add(current.id)
        self.annotated.add(line.file)

    def _same_layer(self, raw: str, current: Annotation) -> bool:
        """Whether the type on the raw line still names the annotation's layer."""
        kind = raw.split("\t", 2)[1].split(" ", 1)[0]
        if isinstance(current, Attribute | Normalization | Note):
            named = read_type(kind)[0]
            layer = self._above(current) if named is None else named
        else:
            layer = owner(kind.split(":", 1)[0] if isinstance(current, Event) else kind)[0]
        return layer == self._layer[current.id]

    def _above(self, annotation: Annotation) -> str:
        """Return the layer of what the annotation is about."""
        return self._layer.get(references(annotation)[0], MAIN)

    def _span_line(self, span: Span, kind: str) -> str:
        """Return a text-bound line, the span cut at line breaks."""
        fragments = unbroken(self._text, span.fragments)
        places = ";".join(f"{start} {end}" for start, end in self._unit.offsets(fragments))
        cover = " ".join(self._text[start:end] for start, end in fragments)
        return f"{span.id}\t{kind} {places}\t{cover.replace(chr(10), ' ').replace(chr(13), ' ')}"


def _line(annotation: Annotation, kind: str) -> str:
    """Return the line of anything but a span."""
    match annotation:
        case Relation(id=key, roles=roles):
            first, second = (write_name(role) for role in roles)
            return f"{key}\t{kind} {first}:{annotation.head} {second}:{annotation.tail}"
        case Event(id=key):
            filled = (f" {write_name(each.role)}:{each.target}" for each in annotation.arguments)
            return f"{key}\t{kind}:{annotation.trigger}{''.join(filled)}"
        case Equivalence():
            return " ".join((f"*\t{kind}", *annotation.members))
        case Attribute(id=key, value=value):
            shown = "" if value is None else " " + (write_text(value, tabs=False) or "_x_")
            return f"{key}\t{kind} {annotation.target}{shown}"
        case Normalization(id=key):
            where = f"{write_name(annotation.resource)}:{write_key(annotation.key)}"
            return f"{key}\t{kind} {annotation.target} {where}\t{write_text(annotation.text)}"
        case Note(id=key):
            return f"{key}\t{kind} {annotation.target}\t{write_text(annotation.text)}"
        case _:
            raise DocumentError(f"{annotation.id!r}: no line of brat is for {type(annotation)}")


def home(files: Iterable[str]) -> str:
    """Return which of a document's files takes new annotations: the .ann, or the last split one."""
    suffixes = set(files) - {".txt", sidecar.SUFFIX, queries.SUFFIX}
    if not suffixes or ".ann" in suffixes:
        return ".ann"
    return ".a2" if ".a2" in suffixes else max(suffixes)
