"""Read and write CoNLL04: sentences with entities, and relations between them (Roth and Yih, 2004).

::

    #doc 7
    0   Ada     B-Peop  ['N']                  [0]
    1   Byron   I-Peop  ['Live_In', 'Kill']    [4, 7]
    2   saw     O       ['N']                  [2]

Tabs separate the columns: number, word, entity in IOB2, and at the last word of an entity the
labels of its relations, with the last word of each relation's other entity; ``['N']`` and the word
itself where there are none. (The format of Bekoulis et al., 2018.)

A document is the text after ``#doc``, as one sentence; layer ``entities`` has spans and relations.
A tag that is not valid in IOB2 (``I-`` without ``B-``) is kept as the word's attribute
``entities``. Blank lines are not kept.
"""

import re
from collections.abc import Iterable, Iterator

from spanloom.annotation.tag_schemes import SCHEMES, Tagged
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, default_name, id_in_file
from spanloom.formats._text import Line, cells, lines
from spanloom.formats._word_view import (
    Placed,
    WordView,
    annotate,
    encodable_spans,
    format_cell,
    format_tags,
    is_tag,
    tag_prefixes,
)

LAYER = "entities"
NONE = "N"  # the relation of a word that has none
_DOC = "#doc "
_COLUMNS = ("number", "word", "entity", "relations", "heads")
_SCHEME = SCHEMES["IOB2"]
_LABEL = r"'[^'\t\n]+'"
_LABELS = re.compile(rf"\[{_LABEL}(?:, {_LABEL})*\]")
_HEADS = re.compile(r"\[[0-9]{1,9}(?:, [0-9]{1,9})*\]")
_PARTING = re.compile(r"[\t\n]")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError``: columns, numbers, tags, relations."""
    names = Names()
    for block in _split_documents(text, path):
        builder = names.making(block[0].text.removeprefix(_DOC))
        for layer in (WORDS, SENTENCES, LAYER):
            builder.layer(layer)
        if block[1:]:
            _add_sentence(builder, block[1:], path)
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the rows; a document of several sentences is written as one."""
    return "".join(
        line + "\n"
        for number, document in enumerate(documents, 1)
        for line in _format_document(document, default_name(number))
    )


def _split_documents(text: str, path: str) -> Iterator[list[Line]]:
    """Yield the lines of each document, the first one with its name."""
    block: list[Line] = []
    for line in lines(text):
        if line.text.startswith(_DOC) and line.text != _DOC:
            if block:
                yield block
            block = [line]
        elif line.text.strip() and not block:
            problem = f"expected {_DOC!r} and a name, got {line.text!r:.60}"
            raise FormatError(path, line.number, problem)
        elif line.text.strip():
            block.append(line)
    if block:
        yield block


def _add_sentence(builder: DocumentBuilder, document_lines: list[Line], path: str) -> None:
    """Add words, entities and relations."""
    parsed_rows = [_parse_row(line, word, path) for word, line in enumerate(document_lines)]
    builder.sentence([row_cells[1] for row_cells in parsed_rows])
    tags = [row_cells[2] for row_cells in parsed_rows]
    ids = annotate(builder, LAYER, _SCHEME, 0, tags)
    ends = {end - 1: key for (_, end, _), key in zip(_SCHEME.decode(tags), ids, strict=True)}
    for word, (line, row_cells) in enumerate(zip(document_lines, parsed_rows, strict=True)):
        for label, tail in _parse_relations(row_cells[3], row_cells[4], word, line, path):
            if word not in ends or tail not in ends:
                problem = (
                    f"expected a relation between last words of entities, got {word} to {tail}"
                )
                raise FormatError(path, line.number, problem)
            builder.relation(LAYER, label, ends[word], ends[tail])


def _parse_row(row: Line, number: int, path: str) -> list[str]:
    """Return the cells of a row; raises ``FormatError``."""
    row_cells = cells(row, path, _COLUMNS)
    if row_cells[0] != str(number):
        raise FormatError(
            path, row.number, f"expected the number {number}, got {row_cells[0]!r:.60}"
        )
    if not row_cells[1].strip():
        raise FormatError(path, row.number, f"expected a word, got {row_cells[1]!r:.60}")
    if not is_tag(row_cells[2], tag_prefixes(_SCHEME)):
        raise FormatError(path, row.number, f"expected O, B-… or I-…, got {row_cells[2]!r:.60}")
    return row_cells


def _parse_relations(
    labels: str, heads: str, word: int, row: Line, path: str
) -> list[tuple[str, int]]:
    """Return label and other word of each relation of a word; raises ``FormatError``."""
    if not _LABELS.fullmatch(labels) or not _HEADS.fullmatch(heads):
        problem = f"expected ['LABEL', …] and [NUMBER, …], got {labels!r:.60} and {heads!r:.60}"
        raise FormatError(path, row.number, problem)
    relation_labels = labels[2:-2].split("', '")
    tails = [int(tail) for tail in heads[1:-1].split(", ")]
    if relation_labels == [NONE] and tails == [word]:
        return []
    if len(relation_labels) != len(tails) or NONE in relation_labels:
        problem = f"expected a head each, or ['{NONE}'] and [{word}]"
        raise FormatError(path, row.number, f"{problem}, got {labels!r:.60} and {heads!r:.60}")
    return list(zip(relation_labels, tails, strict=True))


def _format_document(document: Document, number: str) -> Iterator[str]:
    """Yield the lines of a document."""
    view = WordView(document)
    name = id_in_file(document)
    yield _DOC + (name if name and not set(name) & {"\n", "\r"} else number)
    entities = _entity_spans(view)
    attributes = {
        word: {a.label: a.value for a in word_attributes}
        for word, word_attributes in view.values(WORDS).items()
    }
    own_tags = [attributes.get(word, {}).get(LAYER) for word in range(len(view.tokens))]
    tags = format_tags(_SCHEME, entities, own_tags)
    links = _relations_by_word(document, entities)
    for word, form in enumerate(view.tokens):
        relations = links.get(word, [(NONE, word)])
        labels = ", ".join(f"'{label}'" for label, _ in relations)
        heads = ", ".join(str(head) for _, head in relations)
        yield f"{word}\t{format_cell(form, _PARTING)}\t{tags[word]}\t[{labels}]\t[{heads}]"


def _entity_spans(view: WordView) -> list[Placed]:
    """Return the entities that can be written, in words of the document."""
    sentences = zip(view.words.sentences, encodable_spans(view, LAYER, _is_writable), strict=True)
    return [
        (start + first, end + first, span)
        for (first, _), entities in sentences
        for start, end, span in entities
    ]


def _relations_by_word(
    document: Document, entities: list[Placed]
) -> dict[int, list[tuple[str, int]]]:
    """Return the relations of each word, as label and other word."""
    last_words = {span.id: end - 1 for _, end, span in entities}
    relations: dict[int, list[tuple[str, int]]] = {}
    for relation in document.layer_or_empty(LAYER).relations:
        has_valid_label = _LABELS.fullmatch(f"['{relation.label}']") and relation.label != NONE
        if has_valid_label and relation.head in last_words and relation.tail in last_words:
            relations.setdefault(last_words[relation.head], []).append(
                (relation.label, last_words[relation.tail])
            )
    return relations


def _is_writable(span: Tagged) -> bool:
    """Tell whether a tag can hold the label of a span."""
    return bool(span[2]) and _PARTING.search(span[2]) is None


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the name of a document and the five columns of its first word."""
    row = rf"0\t[^\t\n]+\t(?:O|B-[^\t\n]+)\t{_LABELS.pattern}\t{_HEADS.pattern}"
    return re.match(rf"\s*{_DOC}[^\n]+\n{row}\s", head) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".conll04", ".txt"),
    "#doc 7\n"
    "0\tAda\tB-Peop\t['N']\t[0]\n"
    "1\tByron\tI-Peop\t['Live_In', 'Work_For']\t[3, 5]\n"
    "2\tof\tO\t['N']\t[2]\n"
    "3\tLondon\tB-Loc\t['N']\t[3]\n"
    "4\tsaw\tO\t['N']\t[4]\n"
    "5\tIBM\tI-Org\t['OrgBased_In']\t[3]\n"
    "#doc 8\n"
    "0\tYes\tO\t['N']\t[0]\n",
    layers=(LAYER,),
)
