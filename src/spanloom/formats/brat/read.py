"""Read brat standoff. Nothing is dropped: a line that makes no annotation is kept as it stands.

``T1`` of ``NAME.ann`` is the span ``T1`` of the document; an equivalence, which has no id in brat,
gets ``*1``, ``*2``…. A type ``layer__Label`` belongs to that layer, any other to ``main``;
attributes, normalizations and notes follow what they are about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from spanloom.document import (
    MAIN,
    Annotation,
    Document,
    Source,
    SourceLine,
    Span,
)
from spanloom.errors import DocumentError, FormatError
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.draft import Draft, Problem, cut
from spanloom.formats.brat.layers import layer_from, layers_of, unite
from spanloom.formats.brat.lines import Said, owner, parse
from spanloom.formats.brat.offsets import MARK, Bound, Unit, agrees, choose, shifted
from spanloom.formats.brat.sanity import refuse_dangling, refuse_duplicates, renumber_words

PARTS = (".a1", ".a2", ".rel", ".co")


@dataclass(frozen=True, slots=True)
class Reading:
    """A document, and what was wrong with its files."""

    document: Document
    problems: tuple[Problem, ...] = ()


def loads(text: str, ann: str, *, name: str = "") -> Reading:
    """Read a text and its annotation; a leading byte order mark is no part of the text."""
    return loads_parts(text, {".ann": ann}, name=name)


def loads_parts(text: str, parts: Mapping[str, str], *, name: str = "") -> Reading:
    """Read a text and the files beside it, by suffix (``.ann``, ``.words``, ``.queries``…)."""
    marked = text.startswith(MARK)
    asked = queries.read(parts.get(queries.SUFFIX, ""), name)
    order = {suffix: place for place, suffix in enumerate(parts)}
    parts = {suffix: content for suffix, content in parts.items() if suffix != queries.SUFFIX}
    lines = [line for suffix, content in parts.items() for line in cut(content, suffix)]
    draft = Draft(name, text.removeprefix(MARK), lines, [None] * len(lines), [])
    unit = _parse(draft, marked=marked)
    renumber_words(draft)
    refuse_duplicates(draft)
    refuse_dangling(draft)
    layers = layers_of(draft)
    unite(draft, layers)
    document = _assembled(draft, layers, parts, unit, marked=marked)
    problems = [*draft.problems, *asked.problems]
    problems.sort(key=lambda each: (order[each.file], each.line or 0))
    return Reading(_asking(document, asked), tuple(problems))


def load(
    path: Path, *, name: str | None = None, annotations: Path | None = None, encoding: str = "utf-8"
) -> Reading:
    """Read ``NAME.txt`` with its .ann (else .a1, .a2, .rel, .co), .words and .queries.

    ``name`` is the document's (default: the file's); ``annotations`` the folder of the annotation
    files where it is another. Raises ``FormatError``: no such file, or bytes that are not of the
    encoding.
    """
    text = read_text_file(path, encoding)
    found = files(path, annotations)
    ignored = [suffix for suffix in found if suffix in PARTS and ".ann" in found]
    parts = {s: read_text_file(p, encoding) for s, p in found.items() if s not in ignored}
    base = path.name.removesuffix(".txt")
    reading = loads_parts(text, parts, name=base if name is None else name)
    where = reading.document.name
    more = (Problem(where, None, s, "not read, for there is an .ann") for s in ignored)
    return Reading(reading.document, (*reading.problems, *more))


def files(path: Path, annotations: Path | None = None) -> dict[str, Path]:
    """Return the files beside ``NAME.txt`` by suffix, in the order in which they are read."""
    folder, base = annotations or path.parent, path.name.removesuffix(".txt")
    places = {s: folder / (base + s) for s in (".ann", *PARTS, sidecar.SUFFIX, queries.SUFFIX)}
    return {suffix: place for suffix, place in places.items() if place.is_file()}


def read_text_file(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file, line ends untouched; raises ``FormatError`` as ``decoded``."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
    return decoded(data, str(path), encoding)


def decoded(data: bytes, path: str, encoding: str = "utf-8") -> str:
    """Return the text of bytes; raises ``FormatError``, which names the first wrong byte."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not {encoding}"
        raise FormatError(path, line, f"{problem}; if it is another, name the encoding") from error
    except LookupError as error:
        raise FormatError(path, None, f"unknown encoding {encoding!r}") from error


def _parse(draft: Draft, *, marked: bool) -> Unit:
    """Read every line, find out the unit of the offsets, and place the spans."""
    bounds: list[tuple[int, Bound]] = []
    for index, line in enumerate(draft.lines):
        if not line.raw.strip(" \t\r") or line.raw == MARK:
            continue
        if line.file == sidecar.SUFFIX and sidecar.is_directive(line.raw):
            continue
        item = parse(line.raw)
        if isinstance(item, str):
            draft.report(index, item)
        elif isinstance(item, Bound):
            bounds.append((index, item))
        else:
            draft.said[index] = item
    unit = choose(draft.text, [bound for _, bound in bounds], marked=marked)
    for index, bound in bounds:
        _place(draft, index, bound, unit)
    return unit


def _place(draft: Draft, index: int, bound: Bound, unit: Unit) -> None:
    """Make a span of a text-bound line, or report why not."""
    fragments = unit.points(bound.bounds)
    if fragments is None:
        size = len(draft.text)
        draft.report(index, f"an offset is outside the text of {size} characters")
        return
    if bound.text is None and all(start == end for start, end in fragments):
        draft.report(index, "a span of no width needs a tab and an empty text after it")
        return
    layer, label = owner(bound.type)
    try:
        draft.said[index] = Said(Span(bound.id, label, fragments), layer)
    except DocumentError as error:
        draft.report(index, str(error))
        return
    if bound.text and not agrees(draft.text, fragments, bound.text):
        mistake = shifted(draft.text, bound.bounds, bound.text, unit)
        stands = " ".join(draft.text[a : min(b, a + 60)] for a, b in fragments[:60])
        message = f"the text there is {stands!r:.60}, the line says {bound.text!r:.60}"
        draft.report(index, f"{message}; {mistake}" if mistake else message, kept=bool(mistake))


def _assembled(
    draft: Draft, layers: list[str], parts: Mapping[str, str], unit: Unit, *, marked: bool
) -> Document:
    """Sort the annotations into their layers and keep the lines."""
    found: dict[str, dict[str, Annotation]] = {}
    lines = [SourceLine(MARK, None, ".txt", "")] if marked else []
    annotated, shown = any(suffix != sidecar.SUFFIX for suffix in parts), False
    for line, said, layer in zip(draft.lines, draft.said, layers, strict=True):
        annotation = said.annotation if said else None
        lines.append(SourceLine(line.raw, annotation, line.file, line.end))
        if annotation:
            found.setdefault(layer, {})[annotation.id] = annotation
            shown = shown or line.file != sidecar.SUFFIX
    asides = [line.raw for line in draft.lines if line.file == sidecar.SUFFIX]
    empty = [MAIN] if annotated and not shown else []
    for name in (*sidecar.layer_names(asides), *empty):
        found.setdefault(name, {})
    return Document(
        draft.text,
        tuple(layer_from(name, found[name].values()) for name in sorted(found, key=_rank)),
        draft.name,
        sidecar.meta(asides),
        source=Source(tuple(lines), unit.name),
    )


def _asking(document: Document, asked: queries.Asked) -> Document:
    """Return the document with its queries and the lines they stood in."""
    source = document.source or Source()
    source = replace(source, lines=(*source.lines, *asked.lines))
    return replace(document, queries=asked.queries, source=source)


def _rank(name: str) -> tuple[bool, str]:
    """The main layer first, then by name."""
    return name != MAIN, name
