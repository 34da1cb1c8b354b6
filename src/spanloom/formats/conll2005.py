r"""Propositions in columns: CoNLL-2005's, and those that PropBank was laid over EWT with.

::

    He        PRP  *  -     -         (ARG0*)  *
    wanted    VBD  *  want  want.01   (V*)     *
    to        TO   *  -     -         (ARG1*   *
    leave     VB   *  leave leave.02  *)       (V*)

Blank lines part sentences, a tab or blanks the cells; a sentence is a document. Behind the columns
that ``columns`` names there is one for each predicate (``forms.props``); the last one named, of
rolesets or lemmas, says which words are predicates. They and their arguments are the layer ``srl``
(``_propositions``), part-of-speech tags the layer ``xpos``, lemmas attributes of words, and what a
column ``_`` says, if it is not ``*``, is the attribute ``column3`` (if it is the third).

The shared task has one column, of lemmas, and the words in another file, which ``loads`` takes as
``words``: a sentence a line, or a word a line and blank lines between sentences. Without them, each
word is ``_``. Blanks that align columns are not kept. (Carreras and Màrquez, 2005)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from spanloom.config.options import Options
from spanloom.document import WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, blocks
from spanloom.formats._making import Making
from spanloom.formats._names import numbered
from spanloom.formats._propositions import VERB, annotate, propositions
from spanloom.formats._regained import missing
from spanloom.formats._word_labels import NONE, XPOS, label, labels
from spanloom.forms.props import NONE as NOBODY
from spanloom.forms.props import Proposition, PropsError, columns
from spanloom.forms.props import propositions as of_columns

COLUMNS, SEPARATOR = "columns", "separator"  # in meta, where it is not the usual
WORD, LEMMA, ROLESET, KEPT = "word", "lemma", "roleset", "_"
PLAIN = "*"  # in a column that is only kept: nothing

_EWT = (WORD, XPOS, KEPT, LEMMA, ROLESET)
_BARE = (LEMMA,)
_TAB, _BLANK = "\t", " "
_BLANK_NAME = "blank"
_BLANKS = re.compile(r"[ \t]+")
_BROKEN = {_TAB: re.compile(r"[\t\n\r]"), _BLANK: re.compile(r"[ \t\n\r]")}
_ARGUMENT = re.compile(r"(?:\([^\s()*]+)*\*\)*")
_FULL_ROW = re.compile(rf"[^\t]+\t[^\t]+\t\S*\*\S*\t\S+\t\S+(?:\t{_ARGUMENT.pattern})*")
_BARE_ROW = re.compile(rf"[^\s*]+(?:[ \t]+{_ARGUMENT.pattern})*[ \t]*")


class PropsOptions(Options):
    """``{columns: [word, xpos, _, _, _, lemma]}`` for the shared task's files side by side."""

    columns: tuple[Literal["word", "xpos", "lemma", "roleset", "_"], ...] | None = Field(
        default=None,
        description="what stands before the arguments; if not said, lemmas alone where the first"
        " row has nothing else, else word, xpos, _, lemma, roleset",
    )
    predicate: Literal["sense", "V"] = Field(
        default="sense",
        description="what predicates are labelled: their roleset (or lemma), or V, which makes"
        " that an attribute",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse columns twice, and none that says which words are predicates."""
        names = [name for name in _columns(self, _EWT) if name != KEPT]
        if len(set(names)) < len(names) or not {LEMMA, ROLESET} & {*names}:
            raise ValueError(f"expected different columns with {LEMMA} or {ROLESET} among them")
        return self


def _columns(options: PropsOptions, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that options name, else the usual ones."""
    return usual if options.columns is None else options.columns


@dataclass(frozen=True)
class _Table:
    """What the columns before the arguments are, and what parts cells."""

    columns: tuple[str, ...]
    separator: str

    @cached_property
    def at(self) -> dict[str, int]:
        """Where each column is that is not only kept."""
        return {name: at for at, name in enumerate(self.columns) if name != KEPT}

    @cached_property
    def sense(self) -> int:
        """The column that says which words are predicates."""
        return self.at.get(ROLESET, self.at.get(LEMMA, 0))

    @cached_property
    def kept(self) -> dict[str, tuple[int, str]]:
        """The column of each attribute of words, and what stands in it if there is none."""
        every = enumerate(self.columns)
        found = {f"column{at + 1}": (at, PLAIN) for at, name in every if name == KEPT}
        if {LEMMA, ROLESET} <= {*self.columns}:
            found[LEMMA] = self.at[LEMMA], NOBODY
        return found

    def cells(self, line: Line) -> list[str]:
        """Cut a row."""
        if self.separator == _TAB:
            return line.text.split(_TAB)
        return _BLANKS.split(line.text.strip(" \t"))

    def spelt(self, text: str) -> str:
        """Return a text as a cell, which is never empty; what would part or end it is ``_``."""
        made = _BROKEN[self.separator].sub(KEPT, text)
        return made if made.strip() else KEPT * max(1, len(made))

    def spells(self, text: str) -> bool:
        """Whether a text is read again as it is written."""
        return self.spelt(text) == text


def loads(
    text: str,
    *,
    path: str = "<string>",
    options: PropsOptions = PropsOptions(),
    words: str | None = None,
) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    table: _Table | None = None
    sentences = None if words is None else _forms(words)
    for number, block in enumerate(blocks(text), 1):
        table = table or _guess(block[0], _TAB if _TAB in text else _BLANK, options)
        rows = _rows(block, table, path)
        forms = [row[table.at[WORD]] if WORD in table.at else NONE for row in rows]
        if sentences is not None:
            forms = next(sentences, [])
        if len(forms) != len(rows):
            problem = f"expected {len(forms)} rows, as there are words, got {len(rows)}"
            raise FormatError(path, block[0].number, problem)
        making = Making(numbered(number), _meta(table, options))
        first = _read(making, forms, rows, table).start
        annotate(making, first, _props(block, rows, table, path), options.predicate == VERB)
        yield making.done()


def dumps(documents: Iterable[Document], *, options: PropsOptions = PropsOptions()) -> str:
    """Return the rows, an empty line behind each sentence; the columns are the first document's.

    What would be cut into two cells (a blank in a word) is written ``_``.
    """
    table: _Table | None = None
    pieces: list[str] = []
    for document in documents:
        table = table or _of_meta(dict(document.meta), options)
        pieces += _sentences(Laid(document), table)
    return "".join(pieces)


def _guess(first: Line, separator: str, options: PropsOptions) -> _Table:
    """Return what the columns are, by the first row if nothing was said."""
    cells = _Table(_BARE, separator).cells(first)
    bare = all(map(_ARGUMENT.fullmatch, cells[1:]))
    return _Table(_columns(options, _BARE if bare else _EWT), separator)


def _of_meta(meta: dict[str, str], options: PropsOptions) -> _Table:
    """Return what the columns were, as the document says."""
    found = _BARE if meta.get(COLUMNS) == LEMMA else _EWT
    separator = _BLANK if meta.get(SEPARATOR) == _BLANK_NAME else _TAB
    return _Table(_columns(options, found), separator)


def _meta(table: _Table, options: PropsOptions) -> list[tuple[str, str]]:
    """Return what is not as usual."""
    found = []
    if options.columns is None and table.columns == _BARE:
        found.append((COLUMNS, LEMMA))
    if table.separator == _BLANK:
        found.append((SEPARATOR, _BLANK_NAME))
    return found


def _forms(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence of a file that has them alone."""
    for block in blocks(text):
        rows = [line.text.split() for line in block]
        if len(rows) > 1 and all(len(row) == 1 for row in rows):
            yield [row[0] for row in rows]
        else:
            yield from rows


def _rows(block: Sequence[Line], table: _Table, path: str) -> list[list[str]]:
    """Return the cells of a sentence, as many in each row."""
    rows: list[list[str]] = []
    least = len(table.columns)
    for line in block:
        if "\r" in line.text:
            raise FormatError(path, line.number, "expected no carriage return within a line")
        cells = table.cells(line)
        width = len(rows[0]) if rows else len(cells)
        if len(cells) != width or width < least:
            few = f"{least} columns ({', '.join(table.columns)}) and one a predicate"
            expected = few if width < least else f"{width} columns as in the first row"
            raise FormatError(path, line.number, f"expected {expected}, got {len(cells)}")
        for name, cell in zip(table.columns, cells, strict=False):
            if not cell.strip():
                raise FormatError(
                    path, line.number, f"expected a value as {name}, got {cell!r:.60}"
                )
        rows.append(cells)
    return rows


def _read(
    making: Making, forms: Sequence[str], rows: Sequence[Sequence[str]], table: _Table
) -> range:
    """Add a sentence and what its rows say of its words; return which words they are."""
    words = making.sentence(forms)
    if XPOS in table.at:
        label(making, XPOS, words.start, [row[table.at[XPOS]] for row in rows])
    for word, row in zip(words, rows, strict=True):
        for name, (at, nothing) in table.kept.items():
            if row[at] != nothing:
                making.attribute(WORDS, name, making.words[word], row[at])
    return words


def _props(
    block: Sequence[Line], rows: Sequence[Sequence[str]], table: _Table, path: str
) -> Sequence[Proposition]:
    """Return what the columns of a sentence say of predicates."""
    senses = [row[table.sense] for row in rows]
    for line, sense in zip(block, senses, strict=True):
        if sense.split() != [sense]:
            name = table.columns[table.sense]
            problem = f"expected {NOBODY} or a {name} without blanks, got {sense!r:.60}"
            raise FormatError(path, line.number, problem)
    try:
        return of_columns(senses, list(zip(*rows, strict=True))[len(table.columns) :])
    except PropsError as error:
        raise FormatError(path, block[error.word].number, error.problem) from error


def _sentences(laid: Laid, table: _Table) -> Iterator[str]:
    """Yield the rows of each sentence and an empty line."""
    tags, said = labels(laid, XPOS, table.spells), laid.values(WORDS)
    for (first, end), tagged, props in zip(
        laid.words.sentences, tags, propositions(laid), strict=True
    ):
        senses, arguments = columns(props, end - first)
        for place, word in enumerate(range(first, end)):
            own = {WORD: table.spelt(laid.forms[word]), XPOS: tagged[place]}
            values = {each.label: each.value or "" for each in reversed(said.get(word, ()))}
            cells = [own.get(name, "") for name in table.columns]
            for name, (at, nothing) in table.kept.items():
                value = values.get(name, nothing)
                cells[at] = value if table.spells(value) else nothing
            cells[table.sense] = senses[place]
            yield table.separator.join([*cells, *(each[place] for each in arguments)]) + "\n"
        yield "\n"


def _lost(document: Document, options: PropsOptions) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document], options=options), options=options))


def _looks(head: str, name: str) -> bool:
    """Tell by all rows: arguments alone behind five columns, the third ``*``, or behind one."""
    whole, cut, last = head.rpartition("\n")
    rows = [line.rstrip("\r") for line in (whole if cut else last).split("\n") if line.strip()]
    if not rows:
        return False
    if all(map(_FULL_ROW.fullmatch, rows)):
        return True
    return all(map(_BARE_ROW.fullmatch, rows)) and "(V*" in head


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".props",),
    "He\tPRP\t*\t-\t-\t(ARG0*)\t(ARG0*)\nwanted\tVBD\t*\twant\twant.01\t(V*)\t*\n"
    "to\tTO\t*\t-\t-\t(ARG1*\t*\nlook\tVB\t*\tlook\tlook.05\t*)\t(V*)\n"
    "up\tRP\t(X*)\t-\t-\t(ARGM-DIR(C-ARG1*))\t(C-V*)\n.\t.\t*\t-\t-\t*\t*\n\n"
    "Yes\tUH\t*\t-\t-\n\n",
    PropsOptions,
)
