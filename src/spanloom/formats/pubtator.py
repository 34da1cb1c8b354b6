"""Read and write PubTator: titles and abstracts with mentions of concepts, and their relations.

::

    354896|t|Lidocaine-induced cardiac asystole.
    354896|a|Intravenous administration of a single dose in a patient ...
    354896	0	9	Lidocaine	Chemical	D008012
    354896	18	34	cardiac asystole	Disease	D006323
    354896	CID	D008012	D006323

A block is a document: title and abstract on a line each; offsets count the line break. Layer
``entities`` has the mentions, contiguous spans; the concept of a mention is a normalization, and
further cells are a note. A relation stands between concepts; here it links the first mentions of
both, and it is written between their concepts. Relations of concepts that no mention has are kept
in the document's meta. (Wei et al., 2013; BioCreative V CDR, BioRED)
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from spanloom.config.options import Options
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._text import Line, blocks, errors_at

LAYER = "entities"
REFERENCE, CONCEPTS = "Reference", "PubTator"  # label and resource of a normalization
CELLS = "cells"  # label of a note with further cells, between tabs
RELATION = "relation"  # in meta: a line between concepts that no mention has

_TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_OFFSET = re.compile(r"0|[1-9][0-9]{0,8}")
_NOT_IN_ID = re.compile(r"[|\t\r\n]")
_NOT_IN_CELL = re.compile(r"[\t\r\n]")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document per block; raises ``FormatError`` with the line."""
    names = Names()
    for block in blocks(text.removeprefix("\ufeff")):
        yield _parse_block(block, path, names)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a block per document, each followed by a blank line."""
    return "".join("".join(_block_lines(document)) + "\n" for document in documents)


def _parse_block(block: Sequence[Line], path: str, names: Names) -> Document:
    """Return the document of a block."""
    document_id, title = _parse_text(block[0], "t", path)
    texts, num_texts = [title], 1
    if len(block) > 1 and _TEXT.fullmatch(block[1].text):
        abstract_id, abstract = _parse_text(block[1], "a", path)
        _check_id(abstract_id, document_id, block[1], path)
        texts, num_texts = [title, abstract], 2
    builder = names.making(document_id)
    builder.add_text("\n".join(texts))
    builder.layer(LAYER)
    text, mention_of = "\n".join(texts), dict[str, str]()
    for line in block[num_texts:]:
        with errors_at(path, line.number):
            cells = line.text.split("\t")
            _check_id(cells[0], document_id, line, path)
            if len(cells) >= 5 and _OFFSET.fullmatch(cells[1]):
                _add_mention(builder, text, cells, mention_of)
            else:
                _add_relation(builder, cells, mention_of)
    return builder.build()


def _parse_text(line: Line, kind: str, path: str) -> tuple[str, str]:
    """Return the id and the text of a title or abstract."""
    match = _TEXT.fullmatch(line.text)
    if match is None or match[2] != kind:
        problem = f"expected ID|{kind}|TEXT, got {line.text!r:.60}"
        raise FormatError(path, line.number, problem)
    return match[1], match[3]


def _check_id(actual: str, expected: str, line: Line, path: str) -> None:
    if actual != expected:
        problem = f"expected a line of document {expected!r:.40}, got {actual!r:.40}"
        raise FormatError(path, line.number, problem)


def _add_mention(
    builder: DocumentBuilder, text: str, cells: Sequence[str], mention_of: dict[str, str]
) -> None:
    """Add a mention and its concept; raises ``ValueError``."""
    _, start, end, covered, label = cells[:5]
    if not _OFFSET.fullmatch(end) or not int(start) <= int(end) <= len(text):
        raise ValueError(f"expected bounds in 0..{len(text)}, got {start!r:.20} and {end!r:.20}")
    bounds = int(start), int(end)
    if text[slice(*bounds)].replace("\n", " ") != covered:
        actual = text[slice(*bounds)]
        raise ValueError(f"expected the text {actual!r:.60} of {start}..{end}, got {covered!r:.60}")
    span = builder.span(LAYER, label, bounds)
    if len(cells) > 5 and cells[5]:
        builder.add_normalization(LAYER, REFERENCE, span, CONCEPTS, cells[5])
        for concept in {cells[5], *re.split("[|,;]", cells[5])}:
            mention_of.setdefault(concept, span)
    if len(cells) > 6 or cells[5:] == [""]:
        builder.note(LAYER, CELLS, span, "\t".join(cells[6:]))


def _add_relation(
    builder: DocumentBuilder, cells: Sequence[str], mention_of: dict[str, str]
) -> None:
    """Add a relation between the first mentions of two concepts; raises ``ValueError``."""
    if len(cells) < 4 or not cells[1].strip():
        expected = "ID, START, END, TEXT, LABEL, CONCEPT or ID, LABEL, CONCEPT, CONCEPT"
        raise ValueError(f"expected {expected} between tabs, got {len(cells)} cells")
    _, label, head, tail, *more = cells
    if head not in mention_of or tail not in mention_of:
        builder.meta.append((RELATION, "\t".join(cells[1:])))
        return
    relation = builder.relation(LAYER, label, mention_of[head], mention_of[tail])
    builder.note(LAYER, CELLS, relation, "\t".join([head, tail, *more]))


def _block_lines(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    document_id = _NOT_IN_ID.sub("_", id_in_file(document)) or "_"
    title, line_break, abstract = document.text.partition("\n")
    yield f"{document_id}|t|{_cell(title)}\n"
    if line_break:
        yield f"{document_id}|a|{_cell(abstract)}\n"
    if document.has_layer(LAYER):
        for cells in _annotation_cells(document, document[LAYER]):
            yield "\t".join([document_id, *cells]) + "\n"
    for key, value in document.meta:
        if key == RELATION and value.count("\t") >= 2 and not re.search("[\r\n]", value):
            yield f"{document_id}\t{value}\n"


def _annotation_cells(document: Document, layer: Layer) -> Iterator[list[str]]:
    """Yield the cells of mentions and of relations between concepts, without the id."""
    notes = {note.target: note.text for note in layer.notes if note.label == CELLS}
    concepts = {
        normalization.target: normalization.key
        for normalization in reversed(layer.normalizations)
        if normalization.resource == CONCEPTS
    }
    mentions: dict[str, Span] = {}
    for span in layer.spans:
        if len(span.fragments) == 1:
            mentions[span.id] = span
            bounds = [str(span.start), str(span.end)]
            cells = [*bounds, _cell(document.text_of(span)), _cell(span.label)]
            if span.id in concepts or span.id in notes:
                cells.append(_cell(concepts.get(span.id, "")))
            yield cells + ([notes[span.id]] if notes.get(span.id) else [])
    for relation in layer.relations:
        ends = [concepts.get(end) for end in (relation.head, relation.tail)]
        written = notes.get(relation.id) or "\t".join(_cell(end) for end in ends if end)
        if all(ends) and {relation.head, relation.tail} <= mentions.keys():
            yield [_cell(relation.label), written]


def _cell(text: str) -> str:
    return _NOT_IN_CELL.sub(" ", text)


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by its first line, a title."""
    first = head.removeprefix("\ufeff").lstrip().partition("\n")[0]
    match = _TEXT.fullmatch(first.removesuffix("\r"))
    return match is not None and match[2] == "t"


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".pubtator",),
    "354896|t|Lidocaine-induced cardiac asystole.\n"
    "354896|a|A single dose in a patient, and | twice more.\n"
    "354896\t0\t9\tLidocaine\tChemical\tD008012\n"
    "354896\t18\t34\tcardiac asystole\tDisease\tD006323|D001145\theart | asystole\n"
    "354896\t55\t62\tpatient\tSpecies\n"
    "354896\tCID\tD008012\tD006323\tNovel\n"
    "354896\tCID\tD008012\tD000001\n"
    "\n"
    "7|t|No abstract\n"
    "\n",
    layers=(LAYER,),
)
