"""Read brat standoff. Nothing is dropped: a line without an annotation is kept unchanged.

``T1`` of ``NAME.ann`` is the span ``T1`` of the document; an equivalence, which has no id in brat,
gets ``*1``, ``*2``…. A type ``layer__Label`` belongs to that layer, any other to ``main``;
attributes, normalizations and notes belong to the layer of their target.
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
from spanloom.formats._text import UTF8, decode_text
from spanloom.formats.brat import queries, sidecar
from spanloom.formats.brat.ann_grammar import ParsedLine, owner, parse
from spanloom.formats.brat.draft import AnnFileParse, Problem, split_lines
from spanloom.formats.brat.layers import layer_from, layers_of, unite
from spanloom.formats.brat.offsets import MARK, TextBound, Unit, agrees, choose, diagnose_shift
from spanloom.formats.brat.validation import check_dangling, check_duplicates, renumber_words

PARTS = (".a1", ".a2", ".rel", ".co")
LINK_OUT = "a link that leaves the folder; not read"


@dataclass(frozen=True, slots=True)
class Reading:
    """A document and the problems of its files."""

    document: Document
    problems: tuple[Problem, ...] = ()


def loads(text: str, ann: str, *, name: str = "") -> Reading:
    """Read a text and its annotation; a leading byte order mark is no part of the text."""
    return loads_parts(text, {".ann": ann}, name=name)


def loads_parts(text: str, parts: Mapping[str, str], *, name: str = "") -> Reading:
    """Read a text and its annotation files by suffix (``.ann``, ``.words``, ``.queries``…)."""
    has_bom = text.startswith(MARK)
    query_file = queries.read(parts.get(queries.SUFFIX, ""), name)
    file_order = {suffix: index for index, suffix in enumerate(parts)}
    parts = {suffix: content for suffix, content in parts.items() if suffix != queries.SUFFIX}
    lines = [line for suffix, content in parts.items() for line in split_lines(content, suffix)]
    draft = AnnFileParse(name, text.removeprefix(MARK), lines, [None] * len(lines), [])
    unit = _parse(draft, has_bom=has_bom)
    renumber_words(draft)
    check_duplicates(draft)
    check_dangling(draft)
    layers = layers_of(draft)
    unite(draft, layers)
    document = _build_document(draft, layers, parts, unit, has_bom=has_bom)
    problems = [*draft.problems, *query_file.problems]
    problems.sort(key=lambda problem: (file_order[problem.file], problem.line or 0))
    return Reading(_with_queries(document, query_file), tuple(problems))


def load(path: Path, *, name: str | None = None, encoding: str = UTF8) -> Reading:
    """Read ``NAME.txt`` with its .ann (else .a1, .a2, .rel, .co), .words and .queries.

    ``name`` is the document's name, in a collection its path from the root (default: the file's).
    Annotation files that are links out of the root are not read. Raises ``FormatError`` if there is
    no such file or its bytes are not of the encoding.
    """
    text = read_text_file(path, encoding)
    paths = files(path)
    outside = _links_out(paths, path.parents[0 if name is None else name.count("/")])
    paths = {suffix: file_path for suffix, file_path in paths.items() if suffix not in outside}
    ignored = [suffix for suffix in paths if suffix in PARTS and ".ann" in paths]
    parts = {
        suffix: read_text_file(file_path, encoding)
        for suffix, file_path in paths.items()
        if suffix not in ignored
    }
    base = path.name.removesuffix(".txt")
    reading = loads_parts(text, parts, name=base if name is None else name)
    document_name = reading.document.name
    reasons = dict.fromkeys(ignored, "not read, for there is an .ann")
    if name is None:  # of a collection ``folder.collect`` tells of links
        reasons |= dict.fromkeys(outside, LINK_OUT)
    extra_problems = (
        Problem(document_name, None, suffix, reason) for suffix, reason in reasons.items()
    )
    return Reading(reading.document, (*reading.problems, *extra_problems))


def _links_out(paths: Mapping[str, Path], root: Path) -> list[str]:
    """Return the suffixes of files that are links out of a folder that is in ``root``."""
    links = {suffix: path.resolve() for suffix, path in paths.items() if path.is_symlink()}
    inside = root.resolve() if links else root
    return [suffix for suffix, path in links.items() if not path.is_relative_to(inside)]


def files(path: Path) -> dict[str, Path]:
    """Return the existing files that belong to ``NAME.txt``, by suffix and in reading order."""
    stem = path.name.removesuffix(".txt")
    paths = {
        suffix: path.parent / (stem + suffix)
        for suffix in (".ann", *PARTS, sidecar.SUFFIX, queries.SUFFIX)
    }
    return {suffix: file_path for suffix, file_path in paths.items() if file_path.is_file()}


def read_text_file(path: Path, encoding: str = UTF8) -> str:
    """Return the text of a file, line ends untouched; raises ``FormatError`` as decoding does."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
    return decode_text(data, path, encoding)


def _parse(draft: AnnFileParse, *, has_bom: bool) -> Unit:
    """Parse every line, infer the unit of the offsets from the spans, and add the spans."""
    bounds: list[tuple[int, TextBound]] = []
    for index, line in enumerate(draft.lines):
        if not line.raw.strip(" \t\r") or line.raw == MARK:
            continue
        if line.file == sidecar.SUFFIX and sidecar.is_directive(line.raw):
            continue
        parsed = parse(line.raw)
        if isinstance(parsed, str):
            draft.report(index, parsed)
        elif isinstance(parsed, TextBound):
            bounds.append((index, parsed))
        else:
            draft.parsed[index] = parsed
    unit = choose(draft.text, [bound for _, bound in bounds], has_bom=has_bom)
    for index, bound in bounds:
        _add_span(draft, index, bound, unit)
    return unit


def _add_span(draft: AnnFileParse, index: int, bound: TextBound, unit: Unit) -> None:
    """Turn a text-bound line into a span, or report why it cannot be one."""
    fragments = unit.points(bound.bounds)
    if fragments is None:
        offset, size = unit.outside(bound.bounds), len(draft.text)
        draft.report(index, f"the offset {offset} is outside the text of {size} characters")
        return
    if bound.text is None and all(start == end for start, end in fragments):
        draft.report(index, "a span of no width needs a tab and an empty text after it")
        return
    layer, label = owner(bound.type)
    try:
        draft.parsed[index] = ParsedLine(Span(bound.id, label, fragments), layer)
    except DocumentError as error:
        draft.report(index, str(error))
        return
    if bound.text and not agrees(draft.text, fragments, bound.text):
        diagnosis = diagnose_shift(draft.text, bound.bounds, bound.text, unit)
        actual = " ".join(draft.text[a : min(b, a + 60)] for a, b in fragments[:60])
        message = f"the text there is {actual!r:.60}, the line says {bound.text!r:.60}"
        draft.report(
            index, f"{message}; {diagnosis}" if diagnosis else message, kept=bool(diagnosis)
        )


def _build_document(
    draft: AnnFileParse, layers: list[str], parts: Mapping[str, str], unit: Unit, *, has_bom: bool
) -> Document:
    """Group the annotations by layer and keep every raw line as the document's source."""
    by_layer: dict[str, dict[str, Annotation]] = {}
    lines = [SourceLine(MARK, None, ".txt", "")] if has_bom else []
    has_ann_file, has_ann_annotation = any(suffix != sidecar.SUFFIX for suffix in parts), False
    for line, parsed, layer in zip(draft.lines, draft.parsed, layers, strict=True):
        annotation = parsed.annotation if parsed else None
        lines.append(SourceLine(line.raw, annotation, line.file, line.end))
        if annotation:
            by_layer.setdefault(layer, {})[annotation.id] = annotation
            has_ann_annotation = has_ann_annotation or line.file != sidecar.SUFFIX
    sidecar_lines = [line.raw for line in draft.lines if line.file == sidecar.SUFFIX]
    listed = sidecar.listed_layers(sidecar_lines)
    if listed is None:  # an empty .ann says that the text was looked at
        listed = [MAIN] if has_ann_file and not has_ann_annotation else []
    for name in (*sidecar.layer_names(sidecar_lines), *listed):
        by_layer.setdefault(name, {})
    return Document(
        draft.text,
        tuple(
            layer_from(name, by_layer[name].values())
            for name in sorted(by_layer, key=_layer_sort_key)
        ),
        draft.name,
        sidecar.meta(sidecar_lines),
        source=Source(tuple(lines), unit.name),
    )


def _with_queries(document: Document, query_file: queries.QueryFile) -> Document:
    """Return the document with the queries and the source lines of its query file."""
    source = document.source or Source()
    source = replace(source, lines=(*source.lines, *query_file.lines))
    return replace(document, queries=query_file.queries, source=source)


def _layer_sort_key(name: str) -> tuple[bool, str]:
    """Return the key that sorts layers: the main layer first, then by name."""
    return name != MAIN, name
