r"""Read and write the names of Universal NER: a number, a word and a tag per line.

::

    # newdoc id = sample
    # sent_id = sample-1
    # text = Ada met Bob.
    1→Ada→B-PER→-→me
    2→met→O→-→-
    3→Bob→B-PER→-→you
    4→.→O→-→-

→ is a tab. Documents, comments and the text are those of ``conllu``, except that the words say
nothing of blanks: the text is the words and a blank between any two. Tags are IOB2, the layer
``entities``; a tag that IOB2 would not produce is the word's attribute ``entities``. The further
cells are the word's attributes ``column4`` and ``column5``, ``-`` is no value. Rows outside of
names may lack them (``short_rows`` in meta); a row of another length than its document's has the
attribute ``cells``. (Mayhew et al., 2024)
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from spanloom.annotation.tag_schemes import OUTSIDE, SCHEMES
from spanloom.config.options import Options
from spanloom.document import WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats import _conllu
from spanloom.formats._base import Format
from spanloom.formats._conllu import Part, lay, parts
from spanloom.formats._conllu_rows import blocks, format_comment, mark
from spanloom.formats._text import Line
from spanloom.formats._text import blocks as line_blocks
from spanloom.formats._word_view import (
    WordView,
    annotate,
    encodable_spans,
    format_tags,
    is_tag,
    tag_prefixes,
)

LAYER = "entities"
SHORT_ROWS, CELLS = "short_rows", "cells"

_SCHEME = SCHEMES["IOB2"]
_NO_VALUE = "-"
_FURTHER = ("column4", "column5")
_SHORT, _LONG = 3, 5
_TAG_COLUMN = 2
_CELL = re.compile(r"[^\t\n\r]+")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents of a file; raises ``FormatError`` with the line."""
    rows: dict[int, list[str]] = {}
    universal_lines = [""] * (text.count("\n") + 1)
    for block in line_blocks(text):
        is_comment = True
        for line in block:
            is_comment = is_comment and line.text.startswith("#")
            universal_lines[line.number - 1] = line.text
            if not is_comment:
                rows[line.number] = cells = _parse_row(line, path)
                universal_cells = [*cells[:_TAG_COLUMN], *[_conllu.NONE] * 8]
                universal_lines[line.number - 1] = "\t".join(universal_cells)
    for part in parts("\n".join(universal_lines), path, _conllu.COLUMNS):
        yield _document(part, rows)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the file; of overlapping spans the one that starts first is written."""
    views = [WordView(document) for document in documents]
    sentence_blocks = [blocks(view) for view in views]
    documents_and_blocks = zip((view.document for view in views), sentence_blocks, strict=True)
    mark(list(documents_and_blocks), add_missing=False)
    pieces: list[str] = []
    for view, view_blocks in zip(views, sentence_blocks, strict=True):
        for block, rows in zip(view_blocks, _rows(view), strict=True):
            pieces += (f"{format_comment(*comment)}\n" for comment in block.comments)
            for word, row in zip(block.words, rows, strict=True):
                pieces.append("\t".join([*word[:_TAG_COLUMN], *row]) + "\n")
            pieces.append("\n")
    return "".join(pieces)


def _parse_row(line: Line, path: str) -> list[str]:
    """Return the cells of a row; raises ``FormatError``."""
    cells = line.text.split("\t")
    if len(cells) not in (_SHORT, _LONG) or not all(map(_CELL.fullmatch, cells)):
        expected = "expected a number, a word, a tag, and two or no cells more"
        raise FormatError(path, line.number, f"{expected}, got {line.text!r:.60}")
    if not is_tag(cells[_TAG_COLUMN], tag_prefixes(_SCHEME)):
        problem = f"expected {OUTSIDE}, B-LABEL or I-LABEL, got {cells[_TAG_COLUMN]!r:.60}"
        raise FormatError(path, line.number, problem)
    if "-" in cells[0] or "." in cells[0]:
        raise FormatError(path, line.number, f"expected a word's number, got {cells[0]!r:.60}")
    return cells


def _document(part: Part, rows: dict[int, list[str]]) -> Document:
    """Return one document; ``rows`` are the cells by line."""
    builder = part.builder
    all_cells = [rows[row.line] for sentence in part.sentences for row in sentence.words]
    has_short_rows = any(
        len(cells) == _SHORT and cells[_TAG_COLUMN] == OUTSIDE for cells in all_cells
    )
    if has_short_rows:
        builder.meta.append((SHORT_ROWS, "true"))
    builder.layer(LAYER)
    for sentence in part.sentences:
        words = lay(builder, sentence)
        cells_of_words = [rows[row.line] for row in sentence.words]
        tags = [cells[_TAG_COLUMN] for cells in cells_of_words]
        annotate(builder, LAYER, _SCHEME, words.start, tags)
        for word, cells in zip(words, cells_of_words, strict=True):
            for name, cell in zip(_FURTHER, cells[_SHORT:], strict=False):
                if cell != _NO_VALUE:
                    builder.attribute(WORDS, name, builder.words[word], cell)
            if len(cells) != _usual_length(cells[_TAG_COLUMN], has_short_rows):
                builder.attribute(WORDS, CELLS, builder.words[word], str(len(cells)))
    return builder.build()


def _usual_length(tag: str, has_short_rows: bool) -> int:
    """Return the number of cells of a row with this tag."""
    return _SHORT if has_short_rows and tag == OUTSIDE else _LONG


def _rows(view: WordView) -> Iterator[list[list[str]]]:
    """Yield each sentence's rows, from the tag on."""
    has_short_rows = SHORT_ROWS in dict(view.document.meta)
    attributes_of = view.values(WORDS)
    spans_by_sentence = encodable_spans(
        view, LAYER, lambda span: _CELL.fullmatch(span[2]) is not None
    )
    for (first, end), spans in zip(view.words.sentences, spans_by_sentence, strict=True):
        values = [_values(attributes_of.get(word, ())) for word in range(first, end)]
        stated_tags = [word_values.get(LAYER) for word_values in values]
        if not all(tag is None or _CELL.fullmatch(tag) for tag in stated_tags):
            stated_tags = [None] * len(stated_tags)
        tags = format_tags(_SCHEME, spans, stated_tags)
        yield [
            _format_row(tag, word_values, has_short_rows)
            for tag, word_values in zip(tags, values, strict=True)
        ]


def _values(attributes: Sequence[Attribute]) -> dict[str, str]:
    """Return the values of a word's attributes, the first of each name."""
    return {attribute.label: attribute.value or "" for attribute in reversed(attributes)}


def _format_row(tag: str, values: dict[str, str], has_short_rows: bool) -> list[str]:
    """Return a row from the tag on."""
    cells = [values.get(name, _NO_VALUE) for name in _FURTHER]
    further = [cell if _CELL.fullmatch(cell) else _NO_VALUE for cell in cells]
    lengths = {str(_SHORT): _SHORT, str(_LONG): _LONG}
    length = lengths.get(values.get(CELLS, ""), _usual_length(tag, has_short_rows))
    is_short = length == _SHORT and further == [_NO_VALUE] * len(_FURTHER)
    return [tag] if is_short else [tag, *further]


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by comments and then a first row with a tag in the third cell."""
    lines = [line.rstrip("\r") for line in head.split("\n") if line.strip()]
    first_row = next((line for line in lines if not line.startswith("#")), "")
    cells = first_row.split("\t")
    return (
        lines[:1] != [first_row]
        and len(cells) in (_SHORT, _LONG)
        and cells[0] == "1"
        and is_tag(cells[_TAG_COLUMN], tag_prefixes(_SCHEME))
    )


_EXAMPLE = """\
# newdoc id = sample
# sent_id = sample-1
# text = Ada Lovelace met Bob.
1\tAda\tB-PER\t-\tme
2\tLovelace\tI-PER\t-\tme
3\tmet\tO\t-\t-
4\tBob\tI-PER\tsure\tyou
5\t.\tO\t-\t-

# sent_id = sample-2
# text = No .
1\tNo\tO\t-\t-
2\t.\tO\t-\t-

# newdoc id = draft
# sent_id = draft-1
1\tAda\tB-PER\t-\tme
2\tran\tO
3\tto\tO\t-\t-
4\tParis\tB-LOC

"""

KIND = Format(loads, dumps, _sniff, (".iob2",), _EXAMPLE, layers=(LAYER,))
