"""Read and write tables of texts, or of pairs of texts, with a label or a number per row.

::

    text                     label
    a moving film            positive
    it never moves           negative

By default a first row names the columns ``text``, ``label`` and, if there is one, ``id``; tabs
separate cells. Options name other columns (``text: sentence1``, ``text_pair: sentence2``) or number
them (``text: 2``), or a ``preset`` does, for the layouts of GLUE, SICK and SNLI. The layout of a
``.csv`` or ``.tsv`` without such names is found out from its first rows. A row is a document. The
label of a text is one span, that of a pair one relation (``annotation.text_pairs``); cells of all
other columns, and cells without a valid label or number, are kept in the document's meta. A row
with another number of cells is an error.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spanloom.config.options import did_you_mean
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses, lost_in_roundtrip
from spanloom.formats._delimited import (
    PRESETS,
    ROLES,
    VALID_END,
    Role,
    Row,
    Sheet,
    TableOptions,
    default_columns,
    format_row,
    opening,
    rows,
    width,
)
from spanloom.formats._document_builder import ID, Names
from spanloom.formats._document_builder import default_name as by_number
from spanloom.formats._table_sniffer import sniff_layout
from spanloom.formats._text import errors_at
from spanloom.formats._text_labels import CUT, END, LabelledText, Meta, TextLabelReader, join_rows

HEAD = "table head"  # in meta: text before the rows

_RESERVED = (HEAD, END, CUT)
_LAYOUTS = {name: TableOptions.model_validate({"preset": name}).whole for name in PRESETS}


def loads(
    text: str, *, path: str = "<string>", options: TableOptions = TableOptions()
) -> Iterator[Document]:
    """Yield the document of every selected row, named by its id or its number.

    Raises ``FormatError``: missing columns (with the nearest name), rows with another number of
    cells, invalid numbers.
    """
    resolved = options.whole
    start = opening(text)
    data_rows = rows(text, resolved, path, len(start))
    first = next(data_rows, None)
    if first is None:
        return
    has_header = resolved.is_header(first.cells)
    sheet = Sheet(resolved, _column_names(first, has_header, options, path))
    head = start + (first.raw + first.end) * has_header
    reader = _RowReader(
        sheet, path, _label_reader(sheet), head if head != _default_head(resolved) else None
    )
    if not has_header:
        yield from reader.document(first)
    for row in data_rows:
        yield from reader.document(row)


def dumps(documents: Iterable[Document], *, options: TableOptions = TableOptions()) -> str:
    """Return the table, its columns in the order of the first document.

    Documents from other formats get columns for their meta. Without quoting, tabs and line breaks
    in a cell are written as blanks.
    """
    document_list = list(documents)
    sheet, head = _infer_sheet(document_list, options)
    reader = _label_reader(sheet)
    table_rows = (
        (document, _format_row(document, reader.read_gold(document, sheet.options), sheet))
        for document in document_list
    )
    return head + join_rows(table_rows, VALID_END)


def count_lost(document: Document, options: TableOptions = TableOptions()) -> Losses:
    """Count the annotations that are neither text nor label nor cell."""
    unfiltered = options.model_copy(update={"filter": {}})
    return lost_in_roundtrip(
        document, loads(dumps([document], options=unfiltered), options=unfiltered)
    )


def sniff(head: str, name: str) -> bool:
    """Tell whether the first row has the columns of a usual layout, and the second fits.

    A file that is called a table may have other columns (``_table_sniffer``).
    """
    if name.lower().endswith((".csv", ".tsv")) and sniff_layout(head) is not None:
        return True
    if "\n" not in head.strip():
        return False
    first, second = head.removeprefix("\ufeff").lstrip("\r\n").split("\n", 2)[:2]
    cells = first.removesuffix("\r").split("\t")
    if len(set(cells)) < max(2, len(cells)) or second.count("\t") + 1 != len(cells):
        return False
    return any(
        _has_text_and_label(defaults, cells) for defaults in (TableOptions(), *_LAYOUTS.values())
    )


def _sniff_options(head: str) -> dict[str, Any]:
    """Return the one preset whose columns the first row has, unless the defaults fit.

    Of other tables separator, quotes, header and columns are found out.
    """
    cells = head.removeprefix("\ufeff").lstrip("\r\n").partition("\n")[0].rstrip("\r").split("\t")
    if _has_text_and_label(TableOptions(), cells):
        return {}
    matching = [name for name, layout in _LAYOUTS.items() if _has_text_and_label(layout, cells)]
    exact_matches = [name for name in matching if set(_LAYOUTS[name].columns) == set(cells)]
    candidates = exact_matches or matching
    if len(candidates) == 1:
        return {"preset": candidates[0]}
    return {} if candidates else sniff_layout(head) or {}


def _has_text_and_label(options: TableOptions, cells: Sequence[str]) -> bool:
    """Tell whether these are columns of a text and of its label or number."""
    sheet = Sheet(options, tuple(cells))
    texts = [column for column in (options.text, options.text_pair) if column is not None]
    return sheet.absent(texts) is None and bool({"label", "number"} & {*sheet.index_of_role})


def _column_names(
    first: Row, has_header: bool, options: TableOptions, path: str
) -> tuple[str, ...]:
    """Return the names of the columns.

    Raises ``FormatError`` if one is missing or its name is reserved in meta.
    """
    resolved = options.whole
    names = (
        tuple(first.cells) if has_header else resolved.columns or default_columns(len(first.cells))
    )
    missing = Sheet(resolved, names).absent(options.required_columns)
    if missing is not None:
        hint = did_you_mean(str(missing), {*names})
        raise FormatError(path, first.line, f"no column {missing!r:.60}{hint:.300}")
    for reserved in _RESERVED:
        if reserved in names:
            raise FormatError(
                path, first.line, f"expected no column of the name {reserved!r}, got one"
            )
    return names


def _default_head(options: TableOptions) -> str | None:
    """Return the text before the rows if documents keep none; None if it is the column names."""
    if not options.is_header(options.columns):
        return ""
    return format_row(options.columns, options) + "\n" if options.columns else None


def _label_reader(sheet: Sheet) -> TextLabelReader:
    """Return the reader of labels and numbers for these columns."""
    options, roles = sheet.options, sheet.index_of_role
    label, number = options.layers
    name = options.number if isinstance(options.number, str) else "value"
    return TextLabelReader(
        label if "label" in roles else None, number if "number" in roles else None, name
    )


class _RowReader:
    """Builds documents from rows."""

    def __init__(
        self, sheet: Sheet, path: str, label_reader: TextLabelReader, head: str | None
    ) -> None:
        """Begin; ``head`` is the text before the rows if the documents must keep it."""
        self.sheet, self.path, self.label_reader = sheet, path, label_reader
        self.head_meta = [] if head is None else [(HEAD, head)]
        self.names = Names()
        self.count = 0
        self.required_cells = [
            (sheet.index_of(column), value) for column, value in sheet.options.filter.items()
        ]

    def document(self, row: Row) -> Iterator[Document]:
        """Yield the document of a row if it is selected."""
        self.count += 1
        names = self.sheet.names
        if len(row.cells) != len(names):
            problem = f"expected {len(names)} cells ({', '.join(names):.200}), got {len(row.cells)}"
            raise FormatError(self.path, row.line, problem)
        if all(
            column is not None and row.cells[column] == value
            for column, value in self.required_cells
        ):
            with errors_at(self.path, row.line):
                yield self._build(row)

    def _build(self, row: Row) -> Document:
        """Return the document of a row."""
        sheet = self.sheet
        cells = {role: row.cells[column] for role, column in sheet.index_of_role.items()}
        label, number = cells.get("label", ""), cells.get("number", "")
        is_gold = sheet.options.is_gold(label)
        raw_id = cells.get("id", by_number(self.count))
        name = self.names.of(raw_id)
        meta: Meta = [] if name == raw_id else [(_id_key(sheet), raw_id)]
        unlabeled = {sheet.index_of_role.get("label")} if not is_gold else set()
        unlabeled |= {sheet.index_of_role.get("number")} if not number else set()
        for column, cell in enumerate(row.cells):
            if column in sheet.other or column in unlabeled:
                meta.append((sheet.names[column], cell))
        meta += [(END, row.end)] * (row.end != "\n")
        labeled_text = LabelledText(
            cells["text"], cells.get("text_pair"), label if is_gold else None, number or None
        )
        return self.label_reader.document(labeled_text, name, self.head_meta + meta)


def _id_key(sheet: Sheet) -> str:
    """Return the meta key of an id that is not the document's name."""
    taken = ID in {sheet.names[column] for column in sheet.other}
    return sheet.names[sheet.index_of_role["id"]] if taken and "id" in sheet.index_of_role else ID


def _infer_sheet(documents: Sequence[Document], options: TableOptions) -> tuple[Sheet, str]:
    """Return the columns of a table and the text before its rows."""
    resolved = options.whole
    kept_head = dict(documents[0].meta).get(HEAD) if documents else None
    for head in (kept_head, _default_head(resolved)):
        names = None if head is None else _columns_of_head(head, documents, resolved)
        if (
            head is not None
            and names
            and Sheet(resolved, names).absent(options.required_columns) is None
        ):
            added_columns = (
                _missing_columns(documents, Sheet(resolved, names)) if opening(head) != head else []
            )
            sheet = Sheet(resolved, (*names, *added_columns))
            return sheet, format_row(sheet.names, resolved) + "\n" if added_columns else head
    sheet = Sheet(resolved, _columns_from_meta(documents, options))
    return sheet, format_row(sheet.names, resolved) + "\n"


def _columns_of_head(
    head: str, documents: Sequence[Document], options: TableOptions
) -> tuple[str, ...] | None:
    """Return the column names given by the text before the rows, None if invalid."""
    start = opening(head)
    try:
        head_rows = list(rows(head, options, "", len(start)))
    except FormatError:
        return None
    cells = head_rows[0].cells if head_rows else []
    if (
        len(head_rows) > 1
        or options.is_header(cells) != bool(head_rows)
        or set(cells) & {*_RESERVED}
    ):
        return None
    if head_rows:
        return tuple(cells) if head.endswith("\n") else None
    return options.columns or _numbered_columns(documents, options)


def _numbered_columns(documents: Sequence[Document], options: TableOptions) -> tuple[str, ...]:
    """Return the names of columns that have only numbers."""
    columns = [getattr(options, role) for role in ROLES]
    keys = {key for document in documents for key, _ in document.meta}
    return default_columns(
        max(
            width({*keys, *options.filter}),
            *(column for column in columns if isinstance(column, int)),
        )
    )


def _columns_from_meta(documents: Sequence[Document], options: TableOptions) -> tuple[str, ...]:
    """Return columns for documents from other formats: those of the options, then those of meta."""
    resolved = options.whole
    columns = [column for role in ROLES if (column := getattr(resolved, role)) is not None]
    keys = (key for document in documents for key, _ in document.meta)
    usable_keys = (key for key in keys if format_row([key], resolved) not in _RESERVED)
    remaining = [
        *dict.fromkeys(
            name for name in (*columns, *resolved.filter, *usable_keys) if isinstance(name, str)
        )
    ]
    numbered_columns = {column: column for column in columns if isinstance(column, int)}
    names: list[str] = []
    for number in range(1, max((len(remaining) + len(numbered_columns), *numbered_columns)) + 1):
        is_free = number not in numbered_columns and remaining
        names.append(remaining.pop(0) if is_free else default_columns(number)[-1])
    return tuple(names)


def _missing_columns(documents: Sequence[Document], sheet: Sheet) -> list[str]:
    """Return the columns that a table lacks for labels, numbers and meta of its documents."""
    options = sheet.options
    label, number = options.layers
    label_reader = TextLabelReader(
        label if options.label else None, number if options.number else None
    )
    needed: dict[Role, bool] = {
        "label": any(document.has_layer(label) for document in documents),
        "number": any(label_reader.read(document).number is not None for document in documents),
    }
    columns = [getattr(options, role) for role, is_needed in needed.items() if is_needed]
    keys = dict.fromkeys(key for document in documents for key, _ in document.meta)
    has_own_column = {*_RESERVED, *([] if options.id is None else [_id_key(sheet)])}
    columns += [key for key in keys if format_row([key], options) not in has_own_column]
    return [
        column for column in columns if isinstance(column, str) and sheet.index_of(column) is None
    ]


def _format_row(document: Document, labeled_text: LabelledText, sheet: Sheet) -> str:
    """Return the row of a document."""
    values_of_key: dict[str, list[str]] = {}
    for key, value in reversed(document.meta):
        values_of_key.setdefault(key, []).append(value)
    cell_of_role: dict[Role, str | None] = {
        "id": dict(document.meta).get(_id_key(sheet), document.name),
        "text": labeled_text.text,
        "text_pair": labeled_text.text_pair or "",
        "label": labeled_text.label,
        "number": labeled_text.number,
    }
    cells = [values_of_key[name].pop() if values_of_key.get(name) else "" for name in sheet.names]
    for role, column in sheet.index_of_role.items():
        cell = cell_of_role[role]
        cells[column] = _empty_cell(role, cells[column], sheet.options) if cell is None else cell
    return format_row(cells, sheet.options)


def _empty_cell(role: Role, kept: str, options: TableOptions) -> str:
    """Return the cell for a missing label or number; ``kept`` is the original cell."""
    if role == "number":
        return ""
    return kept if kept and not options.is_gold(kept) else options.missing_label or ""


KIND = Format(
    loads,
    dumps,
    sniff,
    (".tsv", ".csv", ".txt"),
    "id\ttext\tlabel\tby\n"
    "a/1\ta film that moves , and moves again\tpositive\tAda\n"
    "a/2\tit never moves\tnegative\tBob\n"
    "b\tit is a film\t\t\n",
    TableOptions,
    sniff_options=_sniff_options,
    options_of_suffix={".csv": {"separator": "comma", "quoting": True}},
    lost_counter=count_lost,
)
