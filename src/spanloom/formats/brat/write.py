"""Write brat standoff: what was read and not changed is written byte for byte.

A changed annotation takes the place of its line, a removed one leaves, new ones stand at the end;
without a source the order is T, E, R, *, A, N, #. A span over a line break is cut there, as brat
wants it. Scores have no place in brat. An id that brat cannot hold is replaced by a fresh one.
"""

from collections.abc import Iterator
from dataclasses import replace

from spanloom.document import MAIN, Annotation, Document, Equivalence, Event, Relation, Span
from spanloom.errors import DocumentError
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.ids import fresh_ids
from spanloom.formats.brat.layers import layer_from
from spanloom.formats.brat.lines import ID
from spanloom.formats.brat.offsets import MARK
from spanloom.formats.brat.page import KINDS, Page
from spanloom.formats.brat.references import needs, renamed


def dumps(document: Document) -> str:
    """Return the .ann text (split files one after the other), without words and queries.

    Raises ``DocumentError`` where annotations refer to nothing or brat has no form for them.
    """
    apart = (sidecar.SUFFIX, queries.SUFFIX)
    texts = (text for suffix, text in parts(document).items() if suffix not in apart)
    return "".join(_joined([text for text in texts if text]))


def parts(document: Document) -> dict[str, str]:
    """Return the files beside the text by suffix.

    ``.ann`` or the split files, ``.words`` and ``.queries`` if needed. A document without layers
    and queries has none. Raises ``DocumentError`` as ``dumps`` does.
    """
    whole = _with_brat_ids(document)
    _check(whole)
    page = Page(whole)
    files = page.old_lines()
    for annotation in page.new():
        page.add(annotation, files)
    _add_directives(whole, files, shown=bool(page.annotated - {sidecar.SUFFIX}))
    if MAIN in {layer.name for layer in whole.layers} and set(files) <= {sidecar.SUFFIX}:
        files[".ann"] = []
    texts = {s: "".join(_joined(lines, page.ends.get(s, "\n"))) for s, lines in files.items()}
    asked = queries.written(document)
    return texts if asked is None else {**texts, queries.SUFFIX: asked}


def added(document: Document) -> list[str]:
    """Return the lines, without their ends, of what no line of the source made.

    Raises ``DocumentError`` as ``dumps`` does.
    """
    whole = _with_brat_ids(document)
    _check(whole)
    made = {line.made.id for line in whole.source.lines if line.made} if whole.source else set()
    new = [each for key, each in whole.annotations().items() if key not in made]
    page = Page(whole)
    return [page.line(each) for each in sorted(new, key=lambda each: KINDS[type(each)][0])]


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


def _joined(lines: list[str], end: str = "\n") -> Iterator[str]:
    """Yield the lines, with an end for one that has none where others follow."""
    for place, line in enumerate(lines, start=1):
        yield line if place == len(lines) else line + separator(line, end)


def separator(content: str, end: str) -> str:
    """Return what must follow ``content`` before a line that is to begin, "" where it may."""
    if content in ("", MARK) or content.endswith(end[-1]):
        return ""
    return end[-1] if content.endswith("\r") else end  # half of a CRLF is there


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
    ids = {each.id: fresh(KINDS[type(each)][1][0]) for each in wrong}
    layers = tuple(
        layer_from(layer.name, (renamed(each, ids) for each in layer.annotations()))
        for layer in document.layers
    )
    return replace(document, layers=layers)


def _reserved(document: Document) -> set[str]:
    """Return the ids of lines that made nothing, which a new annotation must not take."""
    lines = document.source.lines if document.source else ()
    silent = [line for line in lines if line.made is None and line.file != queries.SUFFIX]
    held = {line.raw.partition("\t")[0] for line in silent}
    return held - {line.made.id for line in lines if line.made is not None}


def _holds(annotation: Annotation) -> bool:
    """Whether the id is one that brat reads as this kind of annotation."""
    if isinstance(annotation, Equivalence):
        return True
    letters = KINDS[type(annotation)][1]
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
