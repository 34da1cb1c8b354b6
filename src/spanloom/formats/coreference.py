"""Read and write coreference in columns: CoNLL-2012's last one (LitBank, scorers), and OntoGUM's.

::

    #begin document (emma); part 0          # begin document emma
    emma  0  0  Emma    (0)                 0   Emma    (1)
    emma  0  1  closed  _                   1   closed  _
    emma  0  2  her     (1|(0)              2   her     (2(1)
    emma  0  3  eyes    1)                  3   eyes    2)
                                            # end document
    #end document

Blank lines end sentences, a tab or blanks separate the cells. Mentions and their clusters are the
layer ``coreference`` (CoNLL's clusters count from 0, OntoGUM's from 1). A cell that
cannot be inferred (another number of the word; in CoNLL's, anything but ``_`` between word and
clusters) is the word's attribute ``column5`` (for the fifth). A blank word is ``_``, its original
form is its attribute ``form``. Meta holds ``part`` (none in OntoGUM's files), ``columns``, their
number if not five, and ``none``, the cell of a word without a mark, if not ``-`` (OntoGUM: ``_``).
The numbers of blanks and blank lines are not kept.
(Pradhan et al., 2012)
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from spanloom.annotation.coreference_column import NONE as NOBODY
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats import _clusters
from spanloom.formats._base import Format
from spanloom.formats._conll_documents import (
    FIRST,
    NONE,
    PART,
    Section,
    document_cell,
    header,
    opening,
    part,
    sections,
)
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._text import (
    TAB,
    Line,
    escape_cell,
    fits_cell,
    separator_meta,
    separator_of,
    shared_separator,
    split_row,
)
from spanloom.formats._word_view import WordView

FORM = "form"  # an attribute of a word that is blank in its file
DIALECT, COLUMNS, NOTHING = "dialect", "columns", "none"  # in meta
ONTOGUM = "ontogum"

_UNMARKED = ("-", "_", "")  # cells of a word without a mark
_MIN_COLUMNS = 5  # columns: document, part, number, word, coreference
_MAX_COLUMNS = 999
_WORD, _PARSE = 3, 5
_GUM_COLUMNS = 3  # columns of OntoGUM: number, word, coreference


class CoreferenceOptions(Options):
    """How documents from other formats are written."""

    dialect: Literal["conll", "ontogum"] = Field(
        default="conll", description="the columns of documents that do not say which they had"
    )


@dataclass(frozen=True)
class _RowStyle:
    """How a document's rows look."""

    is_conll: bool  # else OntoGUM's
    columns: int
    unmarked: str
    separator: str

    @property
    def word(self) -> int:
        """The index of the column of words."""
        return _WORD if self.is_conll else 1

    def default_row(self, document: str, part: str, word_number: int) -> list[str]:
        """Return the cells of a word without annotations, its own cell empty."""
        if not self.is_conll:
            return [str(word_number), "", self.unmarked]
        position = [document_cell(document, self.separator), str(int(part)), str(word_number), ""]
        return [*position, *[NONE] * (self.columns - _MIN_COLUMNS), self.unmarked]

    @property
    def cluster_style(self) -> _clusters.Style:
        """How clusters are written."""
        if self.is_conll:
            return _clusters.Style(0, lambda cell: fits_cell(cell, self.separator))
        return _clusters.Style(1, _is_unambiguous, _clusters.closed_first)

    def marks(self, cell: str) -> str:
        """Return the marks of the last column, separated by bars, or "-"."""
        if cell in _UNMARKED:
            return NOBODY
        return cell if self.is_conll else _clusters.separate_marks(cell)

    def cell(self, marks: str) -> str:
        """Return the last cell for these marks."""
        if marks == NOBODY:
            return self.unmarked
        return marks if self.is_conll else marks.replace("|", "")

    def meta(self) -> Iterator[tuple[str, str]]:
        """Yield the meta entries that differ from the default."""
        if not self.is_conll:
            yield DIALECT, ONTOGUM
        if self.is_conll and self.columns != _MIN_COLUMNS:
            yield COLUMNS, str(self.columns)
        if self.unmarked != _default_unmarked(self.is_conll):
            yield NOTHING, self.unmarked
        yield from separator_meta(self.separator)


def loads(
    text: str, *, path: str = "<string>", options: CoreferenceOptions = CoreferenceOptions()
) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError``: path, line, what was expected."""
    names, separator = Names(), separator_of(text)
    for number, section in enumerate(sections(text, path), 1):
        rows = [list(_parse_rows(block, section, separator, path)) for block in section.sentences]
        style = _infer_style([row for block in rows for row in block], section, separator, path)
        builder = section.making(names, number)
        builder.meta += style.meta()
        for layer in (WORDS, SENTENCES):
            builder.layer(layer)
        for block in rows:
            _add_sentence(builder, block, section, style)
        cells = [style.marks(row[-1]) for block in rows for row in block]
        lines = [line.number for block in section.sentences for line in block]
        _clusters.annotate(builder, cells, lines, style.cluster_style, path)
        yield builder.build()


def dumps(
    documents: Iterable[Document], *, options: CoreferenceOptions = CoreferenceOptions()
) -> str:
    """Return the rows; characters that would split a cell (a blank in a word) are written ``_``."""
    documents = list(documents)
    separator = shared_separator(dict(document.meta) for document in documents)
    return "".join(
        line + "\n"
        for document in documents
        for line in _format_lines(document, options, separator)
    )


def _default_unmarked(is_conll: bool) -> str:
    """Return the usual cell of a word without a mark."""
    return NOBODY if is_conll else NONE


def _is_unambiguous(cell: str) -> bool:
    """Tell whether a cell is read again as written if its bars are left out."""
    return fits_cell(cell, TAB) and _clusters.separate_marks(cell.replace("|", "")) == cell


def _parse_rows(
    block: Sequence[Line], section: Section, separator: str, path: str
) -> Iterator[list[str]]:
    """Yield the cells of a sentence; raises ``FormatError``."""
    for line in block:
        row = split_row(line, separator)
        if section.part is None and len(row) != _GUM_COLUMNS:
            problem = f"expected 3 columns (number, word, coreference), got {len(row)}"
            raise FormatError(path, line.number, problem)
        if section.part is not None and not _MIN_COLUMNS <= len(row) <= _MAX_COLUMNS:
            names = "document, part, number, word, …, coreference"
            problem = f"expected at least 5 columns ({names}), got {len(row)}"
            raise FormatError(path, line.number, problem)
        yield row


def _infer_style(
    rows: Sequence[Sequence[str]], section: Section, separator: str, path: str
) -> _RowStyle:
    """Return the style of a document's rows; raises ``FormatError`` for different widths."""
    is_conll = section.part is not None
    width = len(rows[0]) if rows else _MIN_COLUMNS if is_conll else _GUM_COLUMNS
    lines = (line for block in section.sentences for line in block)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            problem = f"expected {width} columns as in the first row, got {len(row)}"
            raise FormatError(path, line.number, problem)
    unmarked_cells = Counter(row[-1] for row in rows if row[-1] in _UNMARKED)
    unmarked = (
        unmarked_cells.most_common(1)[0][0] if unmarked_cells else _default_unmarked(is_conll)
    )
    return _RowStyle(is_conll, width, unmarked, separator)


def _add_sentence(
    builder: DocumentBuilder, rows: Sequence[Sequence[str]], section: Section, style: _RowStyle
) -> None:
    """Add a sentence and the attributes of its words, without clusters."""
    forms = [row[style.word] for row in rows]
    words = builder.sentence([form if form.strip() else NONE for form in forms])
    first = words.start if style.is_conll else 0
    for word, row in zip(words, rows, strict=True):
        if not row[style.word].strip():
            builder.attribute(WORDS, FORM, builder.words[word], row[style.word])
        default_row = style.default_row(section.name, section.part or FIRST, word - first)
        for index, (cell, expected) in enumerate(zip(row, default_row, strict=True)):
            if cell != expected and index != style.word and index + 1 < len(row):
                builder.attribute(WORDS, f"column{index + 1}", builder.words[word], cell)


def _style_of_meta(document: Document, options: CoreferenceOptions, separator: str) -> _RowStyle:
    """Return the style of a document's rows by its meta and the options."""
    meta = dict(document.meta)
    dialect = meta.get(DIALECT, "conll" if PART in meta else options.dialect)
    is_conll = dialect != ONTOGUM
    columns_text = meta.get(COLUMNS, "")
    columns = int(columns_text) if re.fullmatch("[0-9]{1,3}", columns_text) else _MIN_COLUMNS
    unmarked = meta.get(NOTHING, _default_unmarked(is_conll))
    is_valid = unmarked in _UNMARKED and fits_cell(unmarked, separator)
    return _RowStyle(
        is_conll,
        max(columns, _MIN_COLUMNS) if is_conll else _GUM_COLUMNS,
        unmarked if is_valid else _default_unmarked(is_conll),
        separator,
    )


def _format_lines(document: Document, options: CoreferenceOptions, separator: str) -> Iterator[str]:
    """Yield the lines of a document."""
    view, style = WordView(document), _style_of_meta(document, options, separator)
    marks, attributes = _clusters.cells(view, style.cluster_style), view.values(WORDS)
    yield header(document, style.is_conll)
    for first, end in view.words.sentences:
        if first and not style.is_conll:
            yield ""
        for word in range(first, end):
            number = word - first if style.is_conll else word
            row = style.default_row(id_in_file(document), part(document), number)
            row[style.word] = escape_cell(view.tokens[word], style.separator)
            row[-1] = style.cell(marks[word])
            values = {
                attribute.label: attribute.value or ""
                for attribute in reversed(attributes.get(word, ()))
            }
            _fill_attributes(row, values, style)
            yield style.separator.join(row)
        if style.is_conll:
            yield ""
    yield "#end document" if style.is_conll else "# end document"


def _fill_attributes(row: list[str], values: Mapping[str, str], style: _RowStyle) -> None:
    """Fill in the cells that attributes of the word hold, if they can be read again."""
    for index in range(len(row) - 1):
        value = values.get(f"column{index + 1}")
        if index != style.word and value is not None and fits_cell(value, style.separator):
            row[index] = row[index] if index == 0 and value.startswith("#") else value
    form = values.get(FORM, NONE)
    row_start = not form.strip() and row[style.word] == NONE and "".join(row[: style.word])
    if row_start and row_start.strip() and fits_cell(form, style.separator):
        row[style.word] = form


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the line that begins a document and a first row without a parse."""
    first_row = opening(head)
    return first_row is not None and not (len(first_row) > _PARSE and "*" in first_row[_PARSE])


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".conll",),
    "#begin document (emma/1); part 000\n"
    "emma/1\t0\t0\tEmma\t(0)\nemma/1\t0\t1\tclosed\t-\n"
    "emma/1\t0\t2\ther\t(1|(0)\nemma/1\t0\t3\teyes\t1)\n\n"
    "emma/1\t0\t0\tThey\t(1)\nemma/1\t0\t1\trested\t-\n\n#end document\n"
    "#begin document (emma/1); part 001\n"
    "emma/1\t1\t0\tNew\t(b|(a\nemma/1\t1\t1\tYork\tb)|a)\n\n#end document\n"
    "# begin document \n0\tUs\t(3(5)\n7\ttwo\t3)\n\n2\tsaw\t_\n3\tus\t(3)\n# end document\n",
    CoreferenceOptions,
)
