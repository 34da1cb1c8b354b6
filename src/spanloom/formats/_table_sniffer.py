"""Tell how a table of texts is laid out: separator, quotes, header, and what its columns hold.

The first rows decide. A column is known by its name (``review``, ``premise``, ``stars``), or, where
no header names it, by its cells: the longest are texts, few different values are labels.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spanloom.errors import FormatError
from spanloom.formats._delimited import SEPARATORS, TableOptions, opening, rows

_MAX_ROWS = 200  # that are looked at
_MAX_WIDTH = 40  # columns
_MAX_VALUES = 0.5  # distinct values of labels, as a share of the rows
_MIN_WORDS = 3  # mean words of texts, where no header names them
_MIN_NUMBERS = 10  # different whole numbers from which on they are no classes

_TEXT_NAMES = (
    *("text", "sentence", "review", "review_text", "content", "tweet", "comment", "message"),
    *("body", "utterance", "document", "post", "question", "query", "title", "abstract"),
)
_PAIR_NAMES = (
    *(("sentence1", "sentence2"), ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b")),
    *(("text1", "text2"), ("text_a", "text_b"), ("premise", "hypothesis")),
    *(("question1", "question2"), ("question", "sentence"), ("s1", "s2")),
)
_LABEL_NAMES = (
    *("label", "labels", "class", "category", "sentiment", "intent", "polarity", "topic"),
    *("tag", "target", "rating", "stars", "emotion", "gold_label", "y"),
)
_NUMBER_NAMES = ("score", "similarity", "value", "relatedness", "number", "rating", "stars")
_ID_NAMES = ("id", "doc_id", "document_id", "index", "name", "guid", "uid")


@dataclass(frozen=True, slots=True)
class _Table:
    """The first rows of a table under one separator."""

    separator: str
    quoting: bool
    rows: tuple[tuple[str, ...], ...]

    def column(self, number: int) -> list[str]:
        """Return the cells of a column, numbered from 1, below the first row."""
        return [row[number - 1] for row in self.rows[1:]]


def sniff_layout(head: str) -> dict[str, Any] | None:
    """Return the options that read a table which begins with ``head``, None if it is no table."""
    if _is_column_of_texts(head):
        return {"separator": "comma", "quoting": True, "header": True, "label": None, "id": None}
    for table in _tables(head):
        layout = _by_names(table) or _by_cells(table)
        if layout is not None:
            return {"separator": table.separator, "quoting": table.quoting, **layout}
    return None


def _is_column_of_texts(head: str) -> bool:
    """Return whether there is one column, ``text``, with quotes around its cells."""
    first, _, below = head[len(opening(head)) :].lstrip("\r\n").partition("\n")
    return first.strip().strip('"') == _TEXT_NAMES[0] and below.startswith('"')


def _tables(head: str) -> Iterator[_Table]:
    """Yield the ways to part the first rows into two or more cells each."""
    for separator in SEPARATORS:
        quoted = _parse(head, separator, quoting=True)
        plain = _parse(head, separator, quoting=False)
        is_plain = separator == "tab" and plain and quoted and plain.rows == quoted.rows
        table = plain if is_plain else quoted or plain
        if table is not None:
            yield table


def _parse(head: str, separator: str, *, quoting: bool) -> _Table | None:
    """Return the first rows; None if they differ in length or have one cell each."""
    options = TableOptions.model_validate({"separator": separator, "quoting": quoting})
    start = opening(head)
    parsed: list[tuple[str, ...]] = []
    try:
        for row in rows(head, options, "", len(start)):
            if not row.end or len(parsed) == _MAX_ROWS:
                break  # the last row may be cut off
            parsed.append(tuple(row.cells))
    except FormatError:
        pass  # a quote that is none, or one that the end of the head leaves open
    widths = {len(row) for row in parsed}
    if len(parsed) < 2 or len(widths) > 1 or not 2 <= widths.pop() <= _MAX_WIDTH:
        return None
    return _Table(separator, quoting, tuple(parsed))


def _by_names(table: _Table) -> dict[str, Any] | None:
    """Return the roles of columns by the names in the first row."""
    names = {name.strip().lower(): name for name in table.rows[0]}
    if len(names) < len(table.rows[0]):
        return None
    first, second = _text_names(names)
    if first is None:
        return None
    numbers = {name.lower(): row + 1 for row, name in enumerate(table.rows[0])}
    taken = {first, second}
    label = _first_of(_LABEL_NAMES, names, taken)
    number = _first_of(_NUMBER_NAMES, names, taken)
    if label is not None and label == number:  # stars: classes unless there are many
        cells = table.column(numbers[label])
        label, number = (None, number) if _are_numbers(cells) else (label, None)
    if label is None and number is None and first != _TEXT_NAMES[0]:
        return None  # any table may have a title; one with a column "text" is of texts
    ids = _first_of(_ID_NAMES, names, {*taken, label, number})
    roles = {"text": first, "text_pair": second, "label": label, "number": number, "id": ids}
    return {"header": True} | {
        role: None if name is None else names[name] for role, name in roles.items()
    }


def _text_names(names: dict[str, str]) -> tuple[str | None, str | None]:
    """Return the names of the columns of the text and of the second text."""
    for first, second in _PAIR_NAMES:
        if first in names and second in names:
            return first, second
    return _first_of(_TEXT_NAMES, names, set()), None


def _first_of(choices: Sequence[str], names: dict[str, str], taken: set[str | None]) -> str | None:
    return next((name for name in choices if name in names and name not in taken), None)


def _by_cells(table: _Table) -> dict[str, Any] | None:
    """Return the roles of two or three columns without names: one of texts, one of labels."""
    width = len(table.rows[0])
    if width > 3:
        return None
    columns = [[row[column] for row in table.rows] for column in range(width)]
    lengths = [sum(map(len, cells)) for cells in columns]
    text = lengths.index(max(lengths))
    words = sum(len(cell.split()) for cell in columns[text])
    others = [column for column in range(width) if column != text]
    fewest = min(others, key=lambda column: len(set(columns[column])))
    values = set(columns[fewest])
    is_labelled = 1 < len(values) <= _MAX_VALUES * len(table.rows)
    if words < _MIN_WORDS * len(table.rows) or not is_labelled:
        return None
    role = "number" if _are_numbers(columns[fewest]) else "label"
    other = "label" if role == "number" else "number"
    return {"header": False, "text": text + 1, role: fewest + 1, other: None, "id": None}


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether cells are finite numbers to estimate: fractions, or many different ones."""
    try:
        values = {float(cell) for cell in cells if cell}
    except ValueError:
        return False
    if not all(map(math.isfinite, values)):  # nan may be a word, and has no whole part
        return False
    return len(values) >= _MIN_NUMBERS or any(value != int(value) for value in values)
