"""Tables of delimited cells: rows with their lines and ends, and which column says what."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from spanloom.config.options import nearest
from spanloom.errors import FormatError
from spanloom.formats._judged import JudgedOptions

_MOST = 1000  # columns
Column = Annotated[int, Field(ge=1, le=_MOST)] | str
Role = Literal["text", "second", "label", "number", "id"]
Preset = Literal["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sick", "snli-tsv", "sst2", "stsb"]

ROLES: tuple[Role, ...] = ("id", "text", "second", "label", "number")
_OPENING = re.compile(r"\ufeff?(?:\r?\n)*")
_END = re.compile(r"(?:\r?\n)+|\r?\Z")
_NUMBERED = "column {}"
_COUNTED = re.compile(r"column ([1-9][0-9]{0,3})")
_SEPARATORS = {"tab": "\t", "comma": ","}


class TableOptions(JudgedOptions):
    """Options of tables; columns are named, or numbered from 1."""

    preset: Preset | None = Field(
        default=None, description="a public layout; what is said beside it wins"
    )
    text: Column = Field(
        default="text", description="the column of the text, or of the first of two"
    )
    second: Column | None = Field(default=None, description="the column of the second text")
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
    separator: Literal["tab", "comma"] = Field(default="tab", description="what parts cells")
    quoting: bool = Field(
        default=False, description='whether cells may stand in quotes (""": one quote)'
    )
    where: dict[str, str] = Field(
        default={}, description="rows that are read: column name to value"
    )

    @property
    def whole(self) -> "TableOptions":
        """These options over those of the preset."""
        return self.over(PRESETS[self.preset] if self.preset else None)

    @property
    def parting(self) -> str:
        """The character that parts cells."""
        return _SEPARATORS[self.separator]

    @property
    def asked(self) -> list[Column]:
        """The columns of texts, and those that the user asked for."""
        whole, said = self.whole, self.model_fields_set
        rest = [getattr(self, role) for role in ("label", "number", "id") if role in said]
        return [each for each in (whole.text, whole.second, *rest) if each is not None]

    @property
    def wanted(self) -> list[Column]:
        """The columns that must be there: these, and those that choose rows."""
        return [*self.asked, *self.where]

    def named(self, row: Sequence[str]) -> bool:
        """Whether the first row names the columns."""
        if self.header is not None:
            return self.header
        if not self.columns:
            return any(isinstance(each, str) for each in self.asked)
        names = [each for each in (self.text, self.second) if isinstance(each, str)]
        return bool(names) and all(each in row for each in names)

    @model_validator(mode="after")
    def _found(self) -> Self:
        whole = self.whole
        for column in self.wanted if not whole.named(whole.columns) else ():
            known = whole.columns or numbered(_MOST)
            if isinstance(column, str) and column not in known:
                problem = f"expected numbers of columns where no header names them, got {column!r}"
                raise ValueError(problem + (nearest(column, known) if whole.columns else ""))
        return self


class Row(NamedTuple):
    """A row as it stands, its line, cells, and end: of the line, and blank lines behind it."""

    line: int
    raw: str
    cells: list[str]
    end: str


def opening(text: str) -> str:
    """Return what stands before the first row: a byte order mark, blank lines."""
    match = _OPENING.match(text)
    return match.group() if match else ""


def is_end(text: str) -> bool:
    """Whether a text may stand behind a row."""
    return _END.fullmatch(text) is not None


def rows(text: str, options: TableOptions, path: str, start: int = 0) -> Iterator[Row]:
    """Yield the rows from a place on, where one begins.

    Raises ``FormatError`` for quotes that are not closed, or not before a separator.
    """
    line, place = 1 + text.count("\n", 0, start), start
    while place < len(text):
        cells, stop = _cells(text, place, options, path, line)
        end = _match_end(text, stop)
        yield Row(line, text[place:stop], cells, end)
        line += text.count("\n", place, stop + len(end))
        place = stop + len(end)


def spelled(cells: Sequence[str], options: TableOptions) -> str:
    """Return a row; without quoting, what would part cells becomes a blank."""
    if options.quoting:
        quoted = (_quoted(cell, options.parting) for cell in cells)
        return options.parting.join(quoted) or '""'
    wrong = re.compile(f"[{options.parting}\n]")
    return re.sub(r"\r\Z", " ", options.parting.join(wrong.sub(" ", cell) for cell in cells)) or " "


@dataclass(frozen=True)
class Sheet:
    """Columns that have names, and which of them say what the options ask for."""

    options: TableOptions
    names: tuple[str, ...]

    @cached_property
    def places(self) -> dict[Role, int]:
        """Where the columns stand that say what the options ask for."""
        wanted = {role: getattr(self.options, role) for role in ROLES}
        found = {role: self.place(column) for role, column in wanted.items() if column is not None}
        return {role: place for role, place in found.items() if place is not None}

    @cached_property
    def other(self) -> frozenset[int]:
        """Where all other columns stand."""
        return frozenset(range(len(self.names))) - {*self.places.values()}

    def place(self, column: Column) -> int | None:
        """Return where a column stands, None where there is none."""
        if isinstance(column, int):
            return column - 1 if column <= len(self.names) else None
        return self.names.index(column) if column in self.names else None

    def absent(self, wanted: Sequence[Column]) -> Column | None:
        """Return the first column that is not there."""
        return next((column for column in wanted if self.place(column) is None), None)


def width(names: Iterable[str]) -> int:
    """Return how many columns there are that have only numbers, by the names of some."""
    found = (_COUNTED.fullmatch(name) for name in names)
    return max((int(each[1]) for each in found if each and int(each[1]) <= _MOST), default=0)


def numbered(count: int) -> tuple[str, ...]:
    """Return the names of columns that have only numbers."""
    return tuple(_NUMBERED.format(number) for number in range(1, count + 1))


def _cells(
    text: str, place: int, options: TableOptions, path: str, line: int
) -> tuple[list[str], int]:
    """Return the cells of the row that begins here, and where it stops, its end apart."""
    if not options.quoting:
        stop = text.find("\n", place)
        stop = len(text) if stop < 0 else stop
        stop -= text[place:stop].endswith("\r")
        return text[place:stop].split(options.parting), stop
    found: list[str] = []
    field = _FIELDS[options.parting]
    while True:
        match = field.match(text, place)
        if match is None:
            raise FormatError(path, line, f"expected a cell, got {text[place : place + 40]!r:.60}")
        quoted, plain = match.groups()
        found.append(plain if quoted is None else quoted.replace('""', '"'))
        place = match.end()
        if text[place : place + 1] != options.parting:
            break
        place += 1
    if _match_end(text, place) == "" and place < len(text):
        got = f"{text[place : place + 40]!r:.60}"
        raise FormatError(path, line, f"expected the end of a cell or of the line, got {got}")
    return found, place


def _match_end(text: str, place: int) -> str:
    match = _END.match(text, place)
    return match.group() if match else ""


def _quoted(cell: str, parting: str) -> str:
    wrong = {parting, '"', "\n", "\r"} & set(cell)
    return '"' + cell.replace('"', '""') + '"' if wrong else cell


_FIELDS = {
    parting: re.compile(rf'"([^"]*(?:""[^"]*)*)"|(?!")([^{parting}\r\n]*)')
    for parting in _SEPARATORS.values()
}

_PAIR = ("sentence1", "sentence2")
_PARSES = (*(f"{each}_binary_parse" for each in _PAIR), *(f"{each}_parse" for each in _PAIR))

PRESETS: Mapping[str, TableOptions] = {
    "cola": TableOptions(columns=("source", "label", "mark", "sentence"), text="sentence", id=None),
    "mnli": TableOptions(
        columns=("index", "promptID", "pairID", "genre", *_PARSES, *_PAIR, "label1", "gold_label"),
        text="sentence1",
        second="sentence2",
        label="gold_label",
        id="pairID",
        none="-",
    ),
    "mrpc": TableOptions(
        columns=("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
        text="#1 String",
        second="#2 String",
        label="Quality",
        id=None,
    ),
    "qnli": TableOptions(
        columns=("index", "question", "sentence", "label"),
        text="question",
        second="sentence",
        id="index",
    ),
    "qqp": TableOptions(
        columns=("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
        text="question1",
        second="question2",
        label="is_duplicate",
    ),
    "rte": TableOptions(
        columns=("index", *_PAIR, "label"), text="sentence1", second="sentence2", id="index"
    ),
    "sick": TableOptions(
        columns=(
            *("pair_ID", "sentence_A", "sentence_B", "entailment_label", "relatedness_score"),
            *("entailment_AB", "entailment_BA", "sentence_A_original", "sentence_B_original"),
            *("sentence_A_dataset", "sentence_B_dataset", "SemEval_set"),
        ),
        text="sentence_A",
        second="sentence_B",
        label="entailment_label",
        number="relatedness_score",
        id="pair_ID",
        layer="entailment",
        number_layer="relatedness",
    ),
    "snli-tsv": TableOptions(
        columns=(
            *("gold_label", *_PARSES, *_PAIR, "captionID", "pairID"),
            *("label1", "label2", "label3", "label4", "label5"),
        ),
        text="sentence1",
        second="sentence2",
        label="gold_label",
        id="pairID",
        none="-",
    ),
    "sst2": TableOptions(columns=("sentence", "label"), text="sentence", id=None),
    "stsb": TableOptions(
        columns=(
            *("index", "genre", "filename", "year", "old_index", "source1", "source2"),
            *(*_PAIR, "score"),
        ),
        text="sentence1",
        second="sentence2",
        label=None,
        number="score",
        id="index",
    ),
}
