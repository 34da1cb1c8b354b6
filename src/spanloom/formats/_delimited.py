"""Read and write delimited tables: rows, cells, column roles and presets of public data sets."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from spanloom.config.options import did_you_mean
from spanloom.errors import FormatError
from spanloom.formats._text_labels import NLI, TextLabelOptions

_MAX_COLUMNS = 1000  # of a table
Column = Annotated[int, Field(ge=1, le=_MAX_COLUMNS)] | str
Role = Literal["text", "text_pair", "label", "number", "id"]
Preset = Literal["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sick", "snli-tsv", "sst2", "stsb"]

ROLES: tuple[Role, ...] = ("id", "text", "text_pair", "label", "number")
_OPENING = re.compile(r"\ufeff?(?:\r?\n)*")
VALID_END = re.compile(r"(?:\r?\n)+|\r?\Z")
_NUMBERED_NAME = "column {}"
_NUMBERED_PATTERN = re.compile(r"column ([1-9][0-9]{0,3})")
SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


_PAIR = ("sentence1", "sentence2")
_PAIR_ROLES = {"text": "sentence1", "text_pair": "sentence2"}
_PARSES = (*(f"{name}_binary_parse" for name in _PAIR), *(f"{name}_parse" for name in _PAIR))

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "cola": {"columns": ("source", "label", "mark", "sentence"), "text": "sentence", "id": None},
    "mnli": NLI
    | {
        "columns": (
            "index",
            "promptID",
            "pairID",
            "genre",
            *_PARSES,
            *_PAIR,
            "label1",
            "gold_label",
        )
    },
    "mrpc": {
        "columns": ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
        **{"text": "#1 String", "text_pair": "#2 String", "label": "Quality", "id": None},
    },
    "qnli": {
        "columns": ("index", "question", "sentence", "label"),
        **{"text": "question", "text_pair": "sentence", "id": "index"},
    },
    "qqp": {
        "columns": ("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
        **{"text": "question1", "text_pair": "question2", "label": "is_duplicate"},
    },
    "rte": _PAIR_ROLES | {"columns": ("index", *_PAIR, "label"), "id": "index"},
    "sick": {
        "columns": (
            *("pair_ID", "sentence_A", "sentence_B", "entailment_label", "relatedness_score"),
            *("entailment_AB", "entailment_BA", "sentence_A_original", "sentence_B_original"),
            *("sentence_A_dataset", "sentence_B_dataset", "SemEval_set"),
        ),
        **{"text": "sentence_A", "text_pair": "sentence_B", "id": "pair_ID"},
        **{"label": "entailment_label", "number": "relatedness_score"},
        **{"layer": "entailment", "number_layer": "relatedness"},
    },
    "snli-tsv": NLI
    | {
        "columns": (
            *("gold_label", *_PARSES, *_PAIR, "captionID", "pairID"),
            *("label1", "label2", "label3", "label4", "label5"),
        )
    },
    "sst2": {"columns": ("sentence", "label"), "text": "sentence", "id": None},
    "stsb": _PAIR_ROLES
    | {
        "columns": (
            *("index", "genre", "filename", "year", "old_index", "source1", "source2"),
            *(*_PAIR, "score"),
        ),
        **{"label": None, "number": "score", "id": "index"},
    },
}


class TableOptions(TextLabelOptions):
    """Options of tables; columns are given by name, or by number from 1."""

    preset: Preset | None = Field(
        default=None, description="a public layout; other options override it"
    )
    presets = PRESETS
    text: Column = Field(
        default="text", description="the column of the text, or of the first of two"
    )
    text_pair: Column | None = Field(default=None, description="the column of the second text")
    label: Column | None = Field(default="label", description="the column of the label")
    number: Column | None = Field(default=None, description="the column of the number")
    id: Column | None = Field(default="id", description="the column that names the documents")
    columns: tuple[str, ...] = Field(
        default=(), description="the names of all columns, if no header does"
    )
    header: bool | None = Field(
        default=None,
        description="whether the first row names the columns; null: if these names are there",
    )
    separator: Literal["tab", "comma", "semicolon", "bar"] = Field(
        default="tab", description="what separates cells"
    )
    quoting: bool = Field(
        default=False, description='whether cells may stand in quotes (""": one quote)'
    )
    filter: dict[str, str] = Field(
        default={}, description="rows that are read: column name to value"
    )

    @property
    def parting(self) -> str:
        """The character that separates cells."""
        return SEPARATORS[self.separator]

    @property
    def required_columns(self) -> list[Column]:
        """The columns that must exist: those in use, and those that filter rows."""
        return [*self.requested_columns, *self.filter]

    def is_header(self, row: Sequence[str]) -> bool:
        """Whether the first row names the columns."""
        if self.header is not None:
            return self.header
        if not self.columns:
            return any(isinstance(column, str) for column in self.requested_columns)
        names = [column for column in (self.text, self.text_pair) if isinstance(column, str)]
        return bool(names) and all(name in row for name in names)

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        resolved = self.whole
        for column in self.required_columns if not resolved.is_header(resolved.columns) else ():
            valid_names = resolved.columns or default_columns(_MAX_COLUMNS)
            if isinstance(column, str) and column not in valid_names:
                problem = f"expected numbers of columns where no header names them, got {column!r}"
                raise ValueError(
                    problem + (did_you_mean(column, valid_names) if resolved.columns else "")
                )
        return self


class Row(NamedTuple):
    """A row: its line number, raw text, cells, and end (line end and following blank lines)."""

    line: int
    raw: str
    cells: list[str]
    end: str


def opening(text: str) -> str:
    """Return what stands before the first row: a byte order mark and blank lines."""
    match = _OPENING.match(text)
    return match.group() if match else ""


def rows(text: str, options: TableOptions, path: str, start: int = 0) -> Iterator[Row]:
    """Yield the rows from offset ``start`` on, where a row begins.

    Raises ``FormatError`` for quotes that are not closed, or not closed before a separator.
    """
    line, offset = 1 + text.count("\n", 0, start), start
    while offset < len(text):
        cells, cells_end = _parse_cells(text, offset, options, path, line)
        end = _match_end(text, cells_end)
        yield Row(line, text[offset:cells_end], cells, end)
        line += text.count("\n", offset, cells_end + len(end))
        offset = cells_end + len(end)


def format_row(cells: Sequence[str], options: TableOptions) -> str:
    """Return cells as a row; without quoting, separators in cells become blanks."""
    if options.quoting:
        quoted = (_quote(cell, options.parting) for cell in cells)
        return options.parting.join(quoted) or '""'
    not_in_cell = re.compile(f"[{options.parting}\n]")
    return (
        re.sub(r"\r\Z", " ", options.parting.join(not_in_cell.sub(" ", cell) for cell in cells))
        or " "
    )


@dataclass(frozen=True)
class Sheet:
    """Named columns, and which of them have the roles that the options set."""

    options: TableOptions
    names: tuple[str, ...]

    @cached_property
    def index_of_role(self) -> dict[Role, int]:
        """The index of each role's column."""
        column_of_role = {role: getattr(self.options, role) for role in ROLES}
        indices = {
            role: self.index_of(column)
            for role, column in column_of_role.items()
            if column is not None
        }
        return {role: index for role, index in indices.items() if index is not None}

    @cached_property
    def other(self) -> frozenset[int]:
        """The indices of all columns without a role."""
        return frozenset(range(len(self.names))) - {*self.index_of_role.values()}

    def index_of(self, column: Column) -> int | None:
        """Return the index of a column, None if it does not exist."""
        if isinstance(column, int):
            return column - 1 if column <= len(self.names) else None
        return self.names.index(column) if column in self.names else None

    def absent(self, columns: Sequence[Column]) -> Column | None:
        """Return the first column that does not exist, None if all do."""
        return next((column for column in columns if self.index_of(column) is None), None)


def width(names: Iterable[str]) -> int:
    """Return the number of columns implied by default names such as ``column 3``."""
    matches = (_NUMBERED_PATTERN.fullmatch(name) for name in names)
    return max(
        (int(match[1]) for match in matches if match and int(match[1]) <= _MAX_COLUMNS), default=0
    )


def default_columns(count: int) -> tuple[str, ...]:
    """Return default names for ``count`` columns."""
    return tuple(_NUMBERED_NAME.format(number) for number in range(1, count + 1))


def _parse_cells(
    text: str, offset: int, options: TableOptions, path: str, line: int
) -> tuple[list[str], int]:
    """Return the cells of the row at ``offset``, and where it ends, without its line end."""
    if not options.quoting:
        end = text.find("\n", offset)
        end = len(text) if end < 0 else end
        end -= text[offset:end].endswith("\r")
        return text[offset:end].split(options.parting), end
    cells: list[str] = []
    field = _FIELDS[options.parting]
    while True:
        match = field.match(text, offset)
        if match is None:
            raise FormatError(
                path, line, f"expected a cell, got {text[offset : offset + 40]!r:.60}"
            )
        quoted_text, unquoted_text = match.groups()
        cells.append(unquoted_text if quoted_text is None else quoted_text.replace('""', '"'))
        offset = match.end()
        if text[offset : offset + 1] != options.parting:
            break
        offset += 1
    if _match_end(text, offset) == "" and offset < len(text):
        actual = f"{text[offset : offset + 40]!r:.60}"
        raise FormatError(path, line, f"expected the end of a cell or of the line, got {actual}")
    return cells, offset


def _match_end(text: str, offset: int) -> str:
    match = VALID_END.match(text, offset)
    return match.group() if match else ""


def _quote(cell: str, separator: str) -> str:
    special_characters = {separator, '"', "\n", "\r"} & set(cell)
    return '"' + cell.replace('"', '""') + '"' if special_characters else cell


_FIELDS = {
    parting: re.compile(rf'"([^"]*(?:""[^"]*)*)"|(?!")([^{parting}\r\n]*)')
    for parting in SEPARATORS.values()
}
