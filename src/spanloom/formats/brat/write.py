"""Write brat standoff; unchanged annotations are written byte for byte as they were read.

A changed annotation replaces its line, a removed one drops it, new ones are appended at the end;
without a source the order is T, E, R, *, A, N, #. A span over a line break is split there, as brat
wants it. Scores are dropped, as brat has none; an id that brat cannot hold gets a new one.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from spanloom.columns import AnnotationColumns
from spanloom.document import (
    GIVEN_WORDS,
    MAIN,
    Annotation,
    Document,
    Equivalence,
    Event,
    Note,
    Relation,
    Source,
    SourceLine,
    Span,
)
from spanloom.errors import DocumentError
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.ann_grammar import ID, TARGET, needs, rename_ids
from spanloom.formats.brat.ann_writer import LETTERS, AnnWriter
from spanloom.formats.brat.layers import layer_from
from spanloom.formats.brat.lookup import Lookup
from spanloom.formats.brat.offsets import MARK


def dumps(document: Document) -> str:
    """Return the .ann text (split files one after another), without words and queries.

    Raises ``DocumentError`` if an annotation refers to a missing one or brat has no form for it.
    """
    sidecar_suffixes = (sidecar.SUFFIX, queries.SUFFIX)
    texts = (text for suffix, text in parts(document).items() if suffix not in sidecar_suffixes)
    return "".join(_terminate_lines([text for text in texts if text]))


def parts(document: Document, *, list_layers: bool = False) -> dict[str, str]:
    """Return the contents of the document's annotation files by suffix.

    These are ``.ann`` or the split files, and ``.words`` and ``.queries`` if needed. A document
    without layers and queries has none. With ``list_layers`` the ``.words`` of one with other
    layers than ``main`` names all, and there is an ``.ann``: so a layer stays annotated when people
    delete all that was found. Raises ``DocumentError`` as ``dumps`` does.
    """
    valid = _with_byte_order_mark(_with_brat_ids(document))
    _check(valid)
    writer = AnnWriter(valid)
    files = writer.old_lines()
    for suffix, lines in writer.new(writer.written()):
        end = writer.ends.get(suffix, "\n")
        files.setdefault(suffix, []).append("".join(line + end for line in lines))
        writer.annotated.add(suffix)
    names = {layer.name for layer in valid.layers}
    old = files.get(sidecar.SUFFIX, [])
    if sidecar.listed_layers(old) is not None or (list_layers and names - {MAIN, *GIVEN_WORDS}):
        wanted = [sidecar.list_of_layers(valid), *sidecar.directives(valid, ())]
        has_ann_file = True
    else:
        wanted = sidecar.directives(valid, _invisible_layers(valid, writer))
        has_ann_file = MAIN in names
    _replace_directives(files, wanted)
    if has_ann_file and set(files) <= {sidecar.SUFFIX}:
        files[".ann"] = []
    texts = {
        suffix: "".join(_terminate_lines(lines, writer.ends.get(suffix, "\n")))
        for suffix, lines in files.items()
    }
    query_text = queries.format_queries(document)
    return texts if query_text is None else {**texts, queries.SUFFIX: query_text}


def new_lines(document: Document) -> list[str]:
    """Return the lines, without line ends, of annotations that come from no line of the source.

    Raises ``DocumentError`` as ``dumps`` does.
    """
    valid = _with_brat_ids(document)
    _check(valid)
    source_ids = (
        {line.annotation.id for line in valid.source.lines if line.annotation}
        if valid.source
        else set()
    )
    return [line for _, lines in AnnWriter(valid).new(source_ids) for line in lines]


def text_file(document: Document) -> str:
    """Return the content of the .txt file, including the byte order mark it had or needs."""
    source = _with_byte_order_mark(document).source
    lines = source.lines if source else ()
    return "".join(line.raw for line in lines if line.file == ".txt") + document.text


def original(document: Document, suffix: str) -> str | None:
    """Return the content of a file as it was read, None if nothing was read from it."""
    lines = (
        [line for line in document.source.lines if line.file == suffix] if document.source else []
    )
    return "".join(line.raw + line.end for line in lines) if lines else None


def _terminate_lines(lines: list[str], end: str = "\n") -> Iterator[str]:
    """Yield the lines; each but the last gets a line end if it lacks one."""
    for number, line in enumerate(lines, start=1):
        yield line if number == len(lines) else line + separator(line, end)


def separator(content: str, end: str) -> str:
    """Return what must stand between ``content`` and a new line, "" if nothing is missing."""
    if content in ("", MARK) or content.endswith(end[-1]):
        return ""
    return end[-1] if content.endswith("\r") else end  # half of a CRLF is there


def _invisible_layers(document: Document, writer: AnnWriter) -> list[str]:
    """Return the layers that no annotation shows; an .ann without any is that of the main layer."""
    ann_has_annotation = bool(writer.annotated - {sidecar.SUFFIX})
    return [
        layer.name
        for layer in document.layers
        if not any(layer.annotations()) and (layer.name != MAIN or ann_has_annotation)
    ]


def _replace_directives(files: dict[str, list[str]], wanted: Sequence[str]) -> None:
    """Update the lines of the words file that are no annotations."""
    old = files.get(sidecar.SUFFIX, [])
    kept = [line for line in old if not sidecar.is_directive(line) or line.rstrip("\r\n") in wanted]
    present = {line.rstrip("\r\n") for line in kept}
    lines = kept + [line + "\n" for line in dict.fromkeys(wanted) if line not in present]
    if lines or old:
        files[sidecar.SUFFIX] = lines


def _with_byte_order_mark(document: Document) -> Document:
    """Return the document, with a byte order mark in its source if its text looks like it has one.

    A reader takes the first U+FEFF of a file for the mark, so a text that begins with one needs
    another before it.
    """
    lines = document.source.lines if document.source else ()
    if not document.text.startswith(MARK) or any(line.file == ".txt" for line in lines):
        return document
    mark_line = SourceLine(MARK, None, ".txt", "")
    return replace(document, source=Source((mark_line, *lines), "bom"))


def _with_brat_ids(document: Document) -> Document:
    """Return the document with new ids in place of those that its files cannot hold."""
    reserved = _reserved_ids(document)
    unwritable = [
        annotation
        for layer in document.layers
        for annotations in layer.kinds()
        for annotation in _unwritable(annotations, reserved)
    ]
    if not unwritable:
        return document
    new_id = document.id_generator()
    ids = {annotation.id: new_id(LETTERS[type(annotation)][0]) for annotation in unwritable}
    layers = tuple(
        layer_from(layer.name, (rename_ids(annotation, ids) for annotation in layer.annotations()))
        for layer in document.layers
    )
    return replace(document, layers=layers)


def _reserved_ids(document: Document) -> set[str]:
    """Return the ids of unreadable lines, which a new annotation must not take."""
    lines = document.source.lines if document.source else ()
    unparsed = [line for line in lines if line.annotation is None and line.file != queries.SUFFIX]
    ids = {line.raw.partition("\t")[0] for line in unparsed}
    return ids - {line.annotation.id for line in lines if line.annotation is not None}


def _unwritable(
    annotations: Sequence[Annotation], reserved: Collection[str]
) -> Iterable[Annotation]:
    """Yield the annotations of one kind whose ids brat does not read as ids of that kind."""
    if isinstance(annotations, AnnotationColumns):
        kind = Span if annotations.referred_ids() is None else Relation
        ids = annotations.ids
        if ids.prefix == LETTERS[kind] and not any(key in ids for key in reserved):
            return ()
    return (
        annotation
        for annotation in annotations
        if annotation.id in reserved or not _is_brat_id(annotation)
    )


def _is_brat_id(annotation: Annotation) -> bool:
    """Whether brat reads the id as one of this kind of annotation."""
    if isinstance(annotation, Equivalence):
        return True
    letters = LETTERS[type(annotation)]
    return annotation.id[:1] in tuple(letters) and ID.fullmatch(annotation.id) is not None


def _check(document: Document) -> None:
    """Raise ``DocumentError`` for annotations that brat would refuse to read."""
    lookup = Lookup(document.layers)
    for layer in document.layers:
        for annotations in layer.kinds()[1:]:  # spans need nothing
            is_checked = isinstance(annotations, AnnotationColumns) and lookup.has_all(
                annotations.referred_ids()
            )
            for annotation in () if is_checked else annotations:
                _check_annotation(annotation, layer.name, lookup, document.name or "document")


def _check_annotation(annotation: Annotation, layer: str, lookup: Lookup, document: str) -> None:
    """Raise ``DocumentError`` if brat would refuse to read an annotation."""
    for key in needs(annotation):
        target = lookup.get(key)
        if target is None or isinstance(target, Equivalence):
            raise DocumentError(
                f"{document}: {annotation.id} refers to {key!r}, which no line of brat can be"
            )
    match annotation:
        case Event(trigger=trigger, label=label):
            span, span_layer = lookup.get(trigger), lookup.layer_of(trigger)
            if not isinstance(span, Span) or span_layer != layer or span.label != label:
                expected = f"expected a trigger of its own layer and label {label!r}"
                got = f"got {getattr(span, 'label', None)!r} of {span_layer!r}"
                raise DocumentError(f"{document}: {annotation.id}: {expected}, {got}")
        case Relation(roles=(first, second)) if first == second:
            problem = f"expected two different roles, got {first!r} twice"
            raise DocumentError(f"{document}: {annotation.id}: {problem}")
        case Equivalence(members=()):
            raise DocumentError(f"{document}: {annotation.id}: expected members, got none")
        case Note() if not TARGET.fullmatch(annotation.target):
            problem = f"expected a target without blanks, got {annotation.target!r:.60}"
            raise DocumentError(f"{document}: {annotation.id}: {problem}")
        case _:
            pass
