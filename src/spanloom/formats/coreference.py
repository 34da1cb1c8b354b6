"""Coreference in columns: CoNLL-2012's last one (LitBank, the scorers' files), and OntoGUM's.

::

    #begin document (emma); part 0          # begin document emma
    emma  0  0  Emma    (0)                 0   Emma    (1)
    emma  0  1  closed  _                   1   closed  _
    emma  0  2  her     (1|(0)              2   her     (2(1)
    emma  0  3  eyes    1)                  3   eyes    2)
                                            # end document
    #end document

Blank lines end sentences, a tab or blanks part the cells. Mentions and their clusters are the layer
``coreference`` (``_clusters``; CoNLL's clusters count from 0, OntoGUM's from 1). What a column says
that does not follow (another number of the word; in CoNLL's, anything but ``_`` between word and
clusters) is the word's attribute ``column5`` (if it is the fifth). A blank word is ``_``, what it
was is its attribute ``form``. In meta stand ``part`` (none in OntoGUM's files), ``columns``, how
many there are if not five, and ``none``, what a word without a mark has, if not ``-`` (OntoGUM:
``_``). How many blanks or blank lines there are is not kept.
(Pradhan et al., 2012)
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats import _clusters
from spanloom.formats._base import Format, Losses
from spanloom.formats._conll_documents import (
    BLANK,
    BLANK_NAME,
    FIRST,
    NONE,
    PART,
    SEPARATOR,
    TAB,
    Section,
    cut,
    document_cell,
    fits,
    header,
    opening,
    part,
    sections,
    separator_of,
    spelt,
)
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing
from spanloom.forms.coreference_column import NONE as NOBODY

FORM = "form"  # an attribute of a word that is blank in its file
DIALECT, COLUMNS, NOTHING = "dialect", "columns", "none"  # in meta
ONTOGUM = "ontogum"

_NOTHING = ("-", "_", "")  # what a word without a mark has
_LEAST = 5  # columns: document, part, number, word, coreference
_MOST = 999
_WORD, _PARSE = 3, 5
_GUM = 3  # columns of OntoGUM: number, word, coreference


class CoreferenceOptions(Options):
    """How documents are written that no such file was."""

    dialect: Literal["conll", "ontogum"] = Field(
        default="conll", description="the columns of documents that do not say which they had"
    )


@dataclass(frozen=True)
class _Spelling:
    """How a document's rows look."""

    parted: bool  # whether it is CoNLL's
    columns: int
    nothing: str
    separator: str

    @property
    def word(self) -> int:
        """The column of words."""
        return _WORD if self.parted else 1

    def usual(self, document: str, part: str, number: int) -> list[str]:
        """Return the cells of a word of which nothing is said; ``number`` is its place."""
        if not self.parted:
            return [str(number), "", self.nothing]
        told = [document_cell(document, self.separator), str(int(part)), str(number), ""]
        return [*told, *[NONE] * (self.columns - _LEAST), self.nothing]

    @property
    def style(self) -> _clusters.Style:
        """How clusters are spelt."""
        if self.parted:
            return _clusters.Style(0, lambda cell: fits(cell, self.separator))
        return _clusters.Style(1, _unambiguous, _clusters.closed_first)

    def marks(self, cell: str) -> str:
        """Return what the last column says, with bars, or "-"."""
        if cell in _NOTHING:
            return NOBODY
        return cell if self.parted else _clusters.joined(cell)

    def cell(self, marks: str) -> str:
        """Return the last cell that says these marks."""
        if marks == NOBODY:
            return self.nothing
        return marks if self.parted else marks.replace("|", "")

    def meta(self) -> Iterator[tuple[str, str]]:
        """Yield what is not as usual."""
        if not self.parted:
            yield DIALECT, ONTOGUM
        if self.parted and self.columns != _LEAST:
            yield COLUMNS, str(self.columns)
        if self.nothing != _nothing(self.parted):
            yield NOTHING, self.nothing
        if self.separator == BLANK:
            yield SEPARATOR, BLANK_NAME


def loads(
    text: str, *, path: str = "<string>", options: CoreferenceOptions = CoreferenceOptions()
) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError``: path, line, what was expected."""
    names, separator = Names(), separator_of(text)
    for number, section in enumerate(sections(text, path), 1):
        rows = [list(_rows(block, section, separator, path)) for block in section.sentences]
        spelling = _found([row for block in rows for row in block], section, separator, path)
        making = section.making(names, number)
        making.meta += spelling.meta()
        for layer in (WORDS, SENTENCES):
            making.layer(layer)
        for block in rows:
            _read(making, block, section, spelling)
        cells = [spelling.marks(row[-1]) for block in rows for row in block]
        lines = [line.number for block in section.sentences for line in block]
        _clusters.annotate(making, cells, lines, spelling.style, path)
        yield making.done()


def dumps(
    documents: Iterable[Document], *, options: CoreferenceOptions = CoreferenceOptions()
) -> str:
    """Return the rows; what would be cut into two cells (a blank in a word) is written ``_``."""
    return "".join(line + "\n" for each in documents for line in _lines(each, options))


def _nothing(parted: bool) -> str:
    """Return what a word without a mark usually has."""
    return NOBODY if parted else NONE


def _unambiguous(cell: str) -> bool:
    """Whether a cell is read again where its bars are left out."""
    return fits(cell, TAB) and _clusters.joined(cell.replace("|", "")) == cell


def _rows(
    block: Sequence[Line], section: Section, separator: str, path: str
) -> Iterator[list[str]]:
    """Yield the cells of a sentence."""
    for line in block:
        row = cut(line, separator)
        if section.part is None and len(row) != _GUM:
            problem = f"expected 3 columns (number, word, coreference), got {len(row)}"
            raise FormatError(path, line.number, problem)
        if section.part is not None and not _LEAST <= len(row) <= _MOST:
            names = "document, part, number, word, …, coreference"
            problem = f"expected at least 5 columns ({names}), got {len(row)}"
            raise FormatError(path, line.number, problem)
        yield row


def _found(rows: Sequence[Sequence[str]], section: Section, separator: str, path: str) -> _Spelling:
    """Return how the rows of a document look; raises ``FormatError`` for rows of other widths."""
    parted = section.part is not None
    width = len(rows[0]) if rows else _LEAST if parted else _GUM
    lines = (line for block in section.sentences for line in block)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            problem = f"expected {width} columns as in the first row, got {len(row)}"
            raise FormatError(path, line.number, problem)
    silent = Counter(row[-1] for row in rows if row[-1] in _NOTHING)
    nothing = silent.most_common(1)[0][0] if silent else _nothing(parted)
    return _Spelling(parted, width, nothing, separator)


def _read(
    making: Making, rows: Sequence[Sequence[str]], section: Section, spelling: _Spelling
) -> None:
    """Add a sentence and what its rows say beside words and clusters."""
    forms = [row[spelling.word] for row in rows]
    words = making.sentence([form if form.strip() else NONE for form in forms])
    first = words.start if spelling.parted else 0
    for word, row in zip(words, rows, strict=True):
        if not row[spelling.word].strip():
            making.attribute(WORDS, FORM, making.words[word], row[spelling.word])
        usual = spelling.usual(section.name, section.part or FIRST, word - first)
        for at, (cell, told) in enumerate(zip(row, usual, strict=True)):
            if cell != told and at != spelling.word and at + 1 < len(row):
                making.attribute(WORDS, f"column{at + 1}", making.words[word], cell)


def _of_meta(document: Document, options: CoreferenceOptions) -> _Spelling:
    """Return how the rows of a document looked, or are to look."""
    meta = dict(document.meta)
    dialect = meta.get(DIALECT, "conll" if PART in meta else options.dialect)
    parted = dialect != ONTOGUM
    separator = BLANK if meta.get(SEPARATOR) == BLANK_NAME else TAB
    said = meta.get(COLUMNS, "")
    columns = int(said) if re.fullmatch("[0-9]{1,3}", said) else _LEAST
    nothing = meta.get(NOTHING, _nothing(parted))
    fine = nothing in _NOTHING and fits(nothing, separator)
    return _Spelling(
        parted,
        max(columns, _LEAST) if parted else _GUM,
        nothing if fine else _nothing(parted),
        separator,
    )


def _lines(document: Document, options: CoreferenceOptions) -> Iterator[str]:
    """Yield the lines of a document."""
    laid, spelling = Laid(document), _of_meta(document, options)
    marks, said = _clusters.cells(laid, spelling.style), laid.values(WORDS)
    yield header(document, spelling.parted)
    for first, end in laid.words.sentences:
        if first and not spelling.parted:
            yield ""
        for word in range(first, end):
            place = word - first if spelling.parted else word
            row = spelling.usual(own(document), part(document), place)
            row[spelling.word] = spelt(laid.forms[word], spelling.separator)
            row[-1] = spelling.cell(marks[word])
            values = {each.label: each.value or "" for each in reversed(said.get(word, ()))}
            _say(row, values, spelling)
            yield spelling.separator.join(row)
        if spelling.parted:
            yield ""
    yield "#end document" if spelling.parted else "# end document"


def _say(row: list[str], values: Mapping[str, str], spelling: _Spelling) -> None:
    """Put into a row what attributes say of its word, where that can be read again."""
    for at in range(len(row) - 1):
        value = values.get(f"column{at + 1}")
        if at != spelling.word and value is not None and fits(value, spelling.separator):
            row[at] = row[at] if at == 0 and value.startswith("#") else value
    form = values.get(FORM, NONE)
    silent = not form.strip() and row[spelling.word] == NONE and "".join(row[: spelling.word])
    if silent and silent.strip() and fits(form, spelling.separator):
        row[spelling.word] = form


def _lost(document: Document, options: CoreferenceOptions) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document], options=options), options=options))


def _looks(head: str, name: str) -> bool:
    """Tell by the line that begins a document and a first row without a parse."""
    begun = opening(head)
    return begun is not None and not (len(begun) > _PARSE and "*" in begun[_PARSE])


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
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
