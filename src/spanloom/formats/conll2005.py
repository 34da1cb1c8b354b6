r"""Read and write propositions in columns: CoNLL-2005's, and those of PropBank on EWT.

::

    He        PRP  *  -     -         (ARG0*)  *
    wanted    VBD  *  want  want.01   (V*)     *
    to        TO   *  -     -         (ARG1*   *
    leave     VB   *  leave leave.02  *)       (V*)

Blank lines separate sentences, a tab or blanks the cells; a sentence is a document. After the
columns that ``columns`` names there is one per predicate (``annotation.props``); the last one named
of rolesets or lemmas tells which words are predicates. They and their arguments are the layer
``srl``, a relation per role. Part-of-speech tags are the layer ``xpos``, lemmas attributes of
words, and a cell of a column ``_``, if it is not ``*``, is the attribute ``column3`` (for the
third).

The shared task has one column, of lemmas, and the words in another file, which ``loads`` takes as
``words``: one sentence per line, or one word per line and blank lines between sentences. Without
them, each word is ``_``. Blanks that align columns are not kept. (Carreras and Màrquez, 2005)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from spanloom.annotation.props import NONE as NOBODY
from spanloom.annotation.props import Proposition, PropsError, columns
from spanloom.annotation.props import propositions as of_columns
from spanloom.config.options import Options
from spanloom.document import WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._propositions import VERB, annotate, propositions
from spanloom.formats._text import (
    Line,
    blocks,
    escape_cell,
    separator_in_meta,
    separator_meta,
    separator_of,
    split_row,
)
from spanloom.formats._word_view import NONE, XPOS, WordView, label, labels

COLUMNS = "columns"  # in meta, where they are not the usual ones
WORD, LEMMA, ROLESET, KEPT = "word", "lemma", "roleset", "_"
PLAIN = "*"  # in a column that is only kept: nothing

_DEFAULT_COLUMNS = (WORD, XPOS, KEPT, LEMMA, ROLESET)
_LEMMAS_ONLY = (LEMMA,)
_ARGUMENT = re.compile(r"(?:\([^\s()*]+)*\*\)*")
_FULL_ROW = re.compile(rf"[^\t]+\t[^\t]+\t\S*\*\S*\t\S+\t\S+(?:\t{_ARGUMENT.pattern})*")
_BARE_ROW = re.compile(rf"[^\s*]+(?:[ \t]+{_ARGUMENT.pattern})*[ \t]*")


class PropsOptions(Options):
    """``{columns: [word, xpos, _, _, _, lemma]}`` for the shared task's files side by side."""

    columns: tuple[Literal["word", "xpos", "lemma", "roleset", "_"], ...] | None = Field(
        default=None,
        description="columns before the arguments; default: lemmas alone if the first"
        " row has nothing else, else word, xpos, _, lemma, roleset",
    )
    predicate: Literal["sense", "V"] = Field(
        default="sense",
        description="what predicates are labelled: their roleset (or lemma), or V, which makes"
        " that an attribute",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse repeated columns, and columns without lemmas or rolesets."""
        names = [name for name in _columns_or(self, _DEFAULT_COLUMNS) if name != KEPT]
        if len(set(names)) < len(names) or not {LEMMA, ROLESET} & {*names}:
            raise ValueError(f"expected different columns with {LEMMA} or {ROLESET} among them")
        return self


def _columns_or(options: PropsOptions, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of the options, else the usual ones."""
    return usual if options.columns is None else options.columns


@dataclass(frozen=True)
class _Table:
    """The columns before the arguments, and the separator of cells."""

    columns: tuple[str, ...]
    separator: str

    @cached_property
    def column_index(self) -> dict[str, int]:
        """The index of each column, except those that are only kept."""
        return {name: index for index, name in enumerate(self.columns) if name != KEPT}

    @cached_property
    def sense(self) -> int:
        """The column that tells which words are predicates."""
        return self.column_index.get(ROLESET, self.column_index.get(LEMMA, 0))

    @cached_property
    def attribute_columns(self) -> dict[str, tuple[int, str]]:
        """The column index of each attribute of words, and the cell that means no value."""
        indexed = enumerate(self.columns)
        kept_columns = {
            f"column{index + 1}": (index, PLAIN) for index, name in indexed if name == KEPT
        }
        if {LEMMA, ROLESET} <= {*self.columns}:
            kept_columns[LEMMA] = self.column_index[LEMMA], NOBODY
        return kept_columns

    def cells(self, line: Line) -> list[str]:
        """Split a row into its cells."""
        return split_row(line, self.separator)

    def escape(self, text: str) -> str:
        """Return a text as a cell, which is never empty; separators and line ends become ``_``."""
        return escape_cell(text, self.separator)

    def is_writable(self, text: str) -> bool:
        """Tell whether a text is read again as it is written."""
        return self.escape(text) == text


def loads(
    text: str,
    *,
    path: str = "<string>",
    options: PropsOptions = PropsOptions(),
    words: str | None = None,
) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    table: _Table | None = None
    sentences = None if words is None else _parse_words(words)
    for number, block in enumerate(blocks(text), 1):
        table = table or _guess_table(block[0], separator_of(text), options)
        rows = _parse_rows(block, table, path)
        forms = [
            row[table.column_index[WORD]] if WORD in table.column_index else NONE for row in rows
        ]
        if sentences is not None:
            forms = next(sentences, [])
        if len(forms) != len(rows):
            problem = f"expected {len(forms)} rows, as there are words, got {len(rows)}"
            raise FormatError(path, block[0].number, problem)
        builder = DocumentBuilder(default_name(number), _unusual_meta(table, options))
        first = _add_words(builder, forms, rows, table).start
        annotate(
            builder, first, _parse_propositions(block, rows, table, path), options.predicate == VERB
        )
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: PropsOptions = PropsOptions()) -> str:
    """Return the rows, an empty line after each sentence; the columns are the first document's.

    Lemmas alone are columns only if all documents have them so.
    Characters that would split a cell (a blank in a word) are written ``_``.
    """
    documents = [*documents]
    metas = [dict(document.meta) for document in documents]
    full = (meta for meta in metas if meta.get(COLUMNS) != LEMMA)
    table = _table_of_meta(next(full, metas[0] if metas else {}), options)
    return "".join(
        part for document in documents for part in _format_sentences(WordView(document), table)
    )


def _guess_table(first: Line, separator: str, options: PropsOptions) -> _Table:
    """Return the options' table; unset columns are inferred from the first row."""
    cells = _Table(_LEMMAS_ONLY, separator).cells(first)
    is_bare = all(map(_ARGUMENT.fullmatch, cells[1:]))
    return _Table(_columns_or(options, _LEMMAS_ONLY if is_bare else _DEFAULT_COLUMNS), separator)


def _table_of_meta(meta: dict[str, str], options: PropsOptions) -> _Table:
    """Return the table of a document's meta and the options."""
    usual = _LEMMAS_ONLY if meta.get(COLUMNS) == LEMMA else _DEFAULT_COLUMNS
    return _Table(_columns_or(options, usual), separator_in_meta(meta))


def _unusual_meta(table: _Table, options: PropsOptions) -> list[tuple[str, str]]:
    """Return meta for a table that differs from the default."""
    meta = []
    if options.columns is None and table.columns == _LEMMAS_ONLY:
        meta.append((COLUMNS, LEMMA))
    return meta + separator_meta(table.separator)


def _parse_words(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence of a file of words."""
    for block in blocks(text):
        rows = [line.text.split() for line in block]
        if len(rows) > 1 and all(len(row) == 1 for row in rows):
            yield [row[0] for row in rows]
        else:
            yield from rows


def _parse_rows(block: Sequence[Line], table: _Table, path: str) -> list[list[str]]:
    """Return the cells of a sentence, equally many in each row; raises ``FormatError``."""
    rows: list[list[str]] = []
    min_width = len(table.columns)
    for line in block:
        if "\r" in line.text:
            raise FormatError(path, line.number, "expected no carriage return within a line")
        cells = table.cells(line)
        width = len(rows[0]) if rows else len(cells)
        if len(cells) != width or width < min_width:
            described = f"{min_width} columns ({', '.join(table.columns)}) and one a predicate"
            expected = described if width < min_width else f"{width} columns as in the first row"
            raise FormatError(path, line.number, f"expected {expected}, got {len(cells)}")
        for name, cell in zip(table.columns, cells, strict=False):
            if not cell.strip():
                raise FormatError(
                    path, line.number, f"expected a value as {name}, got {cell!r:.60}"
                )
        rows.append(cells)
    return rows


def _add_words(
    builder: DocumentBuilder, forms: Sequence[str], rows: Sequence[Sequence[str]], table: _Table
) -> range:
    """Add a sentence with the tags and attributes of its words; return the range of its words."""
    words = builder.sentence(forms)
    if XPOS in table.column_index:
        label(builder, XPOS, words.start, [row[table.column_index[XPOS]] for row in rows])
    for word, row in zip(words, rows, strict=True):
        for name, (index, no_value) in table.attribute_columns.items():
            if row[index] != no_value:
                builder.attribute(WORDS, name, builder.words[word], row[index])
    return words


def _parse_propositions(
    block: Sequence[Line], rows: Sequence[Sequence[str]], table: _Table, path: str
) -> Sequence[Proposition]:
    """Return the propositions of a sentence; raises ``FormatError``."""
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


def _format_sentences(view: WordView, table: _Table) -> Iterator[str]:
    """Yield the rows of each sentence and an empty line."""
    tags, attributes = labels(view, XPOS, table.is_writable), view.values(WORDS)
    for (first, end), sentence_tags, props in zip(
        view.words.sentences, tags, propositions(view), strict=True
    ):
        senses, arguments = columns(props, end - first)
        for position, word in enumerate(range(first, end)):
            known_cells = {WORD: table.escape(view.tokens[word]), XPOS: sentence_tags[position]}
            kept_values = {
                attribute.label: attribute.value or ""
                for attribute in reversed(attributes.get(word, ()))
            }
            cells = [known_cells.get(name, "") for name in table.columns]
            for name, (index, no_value) in table.attribute_columns.items():
                value = kept_values.get(name, no_value)
                cells[index] = value if table.is_writable(value) else no_value
            cells[table.sense] = senses[position]
            yield table.separator.join([*cells, *(column[position] for column in arguments)]) + "\n"
        yield "\n"


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by all rows: arguments after five columns, the third ``*``, or one."""
    complete, line_end, last = head.rpartition("\n")
    rows = [
        line.rstrip("\r") for line in (complete if line_end else last).split("\n") if line.strip()
    ]
    if not rows:
        return False
    if all(map(_FULL_ROW.fullmatch, rows)):
        return True
    return all(map(_BARE_ROW.fullmatch, rows)) and "(V*" in head


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".props",),
    "He\tPRP\t*\t-\t-\t(ARG0*)\t(ARG0*)\nwanted\tVBD\t*\twant\twant.01\t(V*)\t*\n"
    "to\tTO\t*\t-\t-\t(ARG1*\t*\nlook\tVB\t*\tlook\tlook.05\t*)\t(V*)\n"
    "up\tRP\t(X*)\t-\t-\t(ARGM-DIR(C-ARG1*))\t(C-V*)\n.\t.\t*\t-\t-\t*\t*\n\n"
    "Yes\tUH\t*\t-\t-\n\n",
    PropsOptions,
)
