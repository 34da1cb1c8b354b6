"""Write brat standoff: what was read and not changed is written byte for byte.

A changed annotation takes the place of its line, a removed one leaves, new ones stand at the end;
without a source the order is T, E, R, *, A, N, #. A span over a line break is cut there, as brat
wants it. Scores have no place in brat. An id that brat cannot hold is replaced by a fresh one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from spanloom.document import (
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
from spanloom.formats.brat import sidecar
from spanloom.formats.brat.ids import fresh_ids
from spanloom.formats.brat.layers import layer_from, type_of
from spanloom.formats.brat.lines import ID, owner
from spanloom.formats.brat.offsets import Unit
from spanloom.formats.brat.references import needs, references, renamed
from spanloom.formats.brat.spelling import read_type, write_key, write_name, write_text

_KINDS: dict[type[Annotation], tuple[int, str]] = {  # place in a new file, letters of the id
    Span: (0, "T"),
    Event: (1, "E"),
    Relation: (2, "R"),
    Equivalence: (3, "*"),
    Attribute: (4, "AM"),
    Normalization: (5, "N"),
    Note: (6, "#"),
}


def dumps(document: Document) -> str:
    """Return the .ann text (split files one after the other), without the words file.

    Raises ``DocumentError`` where annotations refer to nothing or brat has no form for them.
    """
    return "".join(text for suffix, text in parts(document).items() if suffix != sidecar.SUFFIX)


def parts(document: Document) -> dict[str, str]:
    """Return the annotation files by suffix: ``.ann`` or the split files, ``.words`` if needed.

    A document without any layer has no file. Raises ``DocumentError`` as ``dumps`` does.
    """
    whole = _with_brat_ids(document)
    _check(whole)
    page = _Page(whole)
    files = page.old_lines()
    for annotation in page.new():
        suffix = page.file_of(annotation)
        files.setdefault(suffix, []).append(page.line(annotation) + "\n")
        page.annotated.add(suffix)
    _add_directives(whole, files, shown=bool(page.annotated - {sidecar.SUFFIX}))
    if MAIN in {layer.name for layer in whole.layers} and set(files) <= {sidecar.SUFFIX}:
        files[".ann"] = []
    return {suffix: "".join(_joined(lines)) for suffix, lines in files.items()}


def text_file(document: Document) -> str:
    """Return the content of the .txt file, with the byte order mark it had."""
    lines = document.source.lines if document.source else ()
    return "".join(each.raw for each in lines if each.file == ".txt") + document.text


def original(document: Document, suffix: str) -> str | None:
    """Return the content of a file as it was read, None where nothing was read from it."""
    lines = (
        [each for each in document.source.lines if each.file == suffix] if document.source else []
    )
    return "".join(each.raw + each.end for each in lines) if lines else None


class _Page:
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
        self._home = _home(self._lines)
        self._written: set[str] = set()
        self.annotated: set[str] = set()  # the files that hold an annotation

    def old_lines(self) -> dict[str, list[str]]:
        """Return the lines of every file there was, those of changed annotations made anew."""
        files: dict[str, list[str]] = {}
        for line in self._lines:
            if line.file != ".txt":
                files.setdefault(line.file, []).extend(self._again(line))
        return files

    def new(self) -> list[Annotation]:
        """Return what has no line yet, in brat's order."""
        rest = [each for key, each in self._known.items() if key not in self._written]
        return sorted(rest, key=lambda each: _KINDS[type(each)][0])

    def file_of(self, annotation: Annotation) -> str:
        """Return the suffix of the file a new line goes to."""
        given = self._apart and self._layer[annotation.id] in sidecar.GIVEN
        return sidecar.SUFFIX if given else self._home

    def line(self, annotation: Annotation) -> str:
        """Return the line of an annotation."""
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
        pieces = tuple(piece for each in span.fragments for piece in _cut(self._text, *each))
        fragments = pieces or span.fragments  # a span of line breaks only stays as it is
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


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the fragment without line breaks, in pieces; one of no width stays."""
    pieces = [(start, end)] if start == end else []
    here = start
    while here < end:
        last = here
        while last < end and text[last] not in "\n\r":
            last += 1
        if last > here:
            pieces.append((here, last))
        here = last + 1
    return pieces


def _home(lines: Iterable[SourceLine]) -> str:
    """Return the file for new annotations: the .ann, or the last one of split files."""
    suffixes = {line.file for line in lines} - {".txt", sidecar.SUFFIX}
    if not suffixes or ".ann" in suffixes:
        return ".ann"
    return ".a2" if ".a2" in suffixes else max(suffixes)


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield the lines, with an end for a last one that had none where others follow."""
    for place, line in enumerate(lines, start=1):
        unfinished = place < len(lines) and not line.endswith(("\n", "\r")) and line != "\ufeff"
        yield line + "\n" if unfinished else line


def _add_directives(document: Document, files: dict[str, list[str]], *, shown: bool) -> None:
    """Bring the words file's lines about layers and meta up to date.

    ``shown``: the .ann holds an annotation, so that an empty main layer would not be seen.
    """
    old = files.get(sidecar.SUFFIX, [])
    unseen = [
        layer.name
        for layer in document.layers
        if not any(layer.annotations()) and (layer.name != MAIN or shown)
    ]
    wanted = dict.fromkeys(sidecar.directives(document, unseen))
    kept = [line for line in old if not sidecar.is_directive(line) or line.rstrip("\r\n") in wanted]
    there = {line.rstrip("\r\n") for line in kept}
    lines = kept + [line + "\n" for line in wanted if line not in there]
    if lines or old:
        files[sidecar.SUFFIX] = lines


def _with_brat_ids(document: Document) -> Document:
    """Return the document with fresh ids in place of those that its files cannot hold."""
    reserved = _reserved(document)
    every = document.annotations().values()
    wrong = [each for each in every if each.id in reserved or not _holds(each)]
    if not wrong:
        return document
    fresh = fresh_ids(document)
    ids = {each.id: fresh(_KINDS[type(each)][1][0]) for each in wrong}
    layers = tuple(
        layer_from(layer.name, (renamed(each, ids) for each in layer.annotations()))
        for layer in document.layers
    )
    return replace(document, layers=layers)


def _reserved(document: Document) -> set[str]:
    """Return the ids of lines that made nothing, which a new annotation must not take."""
    lines = document.source.lines if document.source else ()
    held = {line.raw.partition("\t")[0] for line in lines if line.made is None}
    return held - {line.made.id for line in lines if line.made is not None}


def _holds(annotation: Annotation) -> bool:
    """Whether the id is one that brat reads as this kind of annotation."""
    if isinstance(annotation, Equivalence):
        return True
    letters = _KINDS[type(annotation)][1]
    return annotation.id[:1] in tuple(letters) and ID.fullmatch(annotation.id) is not None


def _check(document: Document) -> None:
    """Raise ``DocumentError`` for what brat would refuse to read."""
    known = document.annotations()
    layer_of = {each.id: layer.name for layer in document.layers for each in layer.annotations()}
    for each in known.values():
        where = f"{document.name or 'document'}: {each.id}"
        for target in needs(each):
            if target not in known or isinstance(known[target], Equivalence):
                raise DocumentError(f"{where} refers to {target!r}, which no line of brat can be")
        match each:
            case Event(trigger=trigger, label=label):
                there = known[trigger]
                same = isinstance(there, Span) and layer_of[trigger] == layer_of[each.id]
                if not same or there.label != label:
                    raise DocumentError(
                        f"{where}: expected a trigger of its own layer and label {label!r}, "
                        f"got {there.label!r} of {layer_of[trigger]!r}"
                    )
            case Relation(roles=(first, second)) if first == second:
                raise DocumentError(f"{where}: expected two different roles, got {first!r} twice")
            case Equivalence(members=()):
                raise DocumentError(f"{where}: expected members, got none")
            case _:
                pass
