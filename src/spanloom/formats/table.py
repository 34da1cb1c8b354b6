"""Tables of texts, or of pairs of texts: a row a document, its label or number in a column.

::

    text                     label
    a moving film            positive
    it never moves           negative

By default a first row names the columns ``text``, ``label`` and, if there is one, ``id``; tabs part
cells. Options name other columns (``text: sentence1``, ``second: sentence2``) or number them
(``text: 2``), or a ``preset`` does, for the layouts of GLUE, SICK and SNLI. What is said of a text
is one span, what is said of two one relation (``forms.parts``); cells of all other columns, and a
label or number that is none, stand in the document's meta. A row of another number of cells is an
error.
"""

from collections.abc import Iterable, Iterator, Sequence

from spanloom.config.options import nearest
from spanloom.document import Document
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._delimited import (
    PRESETS,
    ROLES,
    Role,
    Row,
    Sheet,
    TableOptions,
    is_end,
    numbered,
    opening,
    rows,
    spelled,
    width,
)
from spanloom.formats._judged import CUT, Judged, Judging, Meta
from spanloom.formats._names import ID, Names
from spanloom.formats._names import numbered as by_number
from spanloom.formats._regained import missing

HEAD, END = "table head", "line end"  # in meta: what stands before the rows, behind the row

_OWN = (HEAD, END, CUT)


def loads(
    text: str, *, path: str = "<string>", options: TableOptions = TableOptions()
) -> Iterator[Document]:
    """Yield the document of every row that is asked for, named by its id or its place.

    Raises ``FormatError``: columns that are not there (with the nearest name), rows of another
    number of cells, numbers that are none.
    """
    whole = options.whole
    start = opening(text)
    found = rows(text, whole, path, len(start))
    first = next(found, None)
    if first is None:
        return
    named = whole.named(first.cells)
    sheet = Sheet(whole, _names(first, named, options, path))
    head = start + (first.raw + first.end) * named
    reading = _Reading(sheet, path, _judging(sheet), head if head != _usual(whole) else None)
    if not named:
        yield from reading.document(first)
    for row in found:
        yield from reading.document(row)


def dumps(documents: Iterable[Document], *, options: TableOptions = TableOptions()) -> str:
    """Return the table, its columns in the order in which the first document had them.

    Documents from elsewhere make columns of their meta. Without quoting, tabs and line breaks in a
    cell are written as blanks.
    """
    every = list(documents)
    sheet, head = _sheet(every, options)
    judging = _judging(sheet)
    written = [_row(each, judging.said(each), sheet) for each in every]
    ends = [_end(each, last=number == len(every)) for number, each in enumerate(every, 1)]
    return head + "".join(row + end for row, end in zip(written, ends, strict=True))


def lost(document: Document, options: TableOptions = TableOptions()) -> Losses:
    """Count what is neither text nor label nor cell."""
    every = options.model_copy(update={"where": {}})
    return missing(document, loads(dumps([document], options=every), options=every))


def looks(head: str, name: str) -> bool:
    """Whether the first row names the columns of the defaults or of a preset, and a second fits."""
    if "\n" not in head.strip():
        return False
    first, second = head.removeprefix("\ufeff").lstrip("\r\n").split("\n", 2)[:2]
    cells = first.removesuffix("\r").split("\t")
    if len(set(cells)) < max(2, len(cells)) or second.count("\t") + 1 != len(cells):
        return False
    return any(_fits(each, cells) for each in (TableOptions(), *PRESETS.values()))


def _suits(head: str) -> dict[str, str]:
    """Return the preset whose columns the first row names, if the usual ones are not there."""
    cells = head.removeprefix("\ufeff").lstrip("\r\n").partition("\n")[0].rstrip("\r").split("\t")
    if _fits(TableOptions(), cells):
        return {}
    fit = [name for name, each in PRESETS.items() if _fits(each, cells)]
    exact = [name for name in fit if set(PRESETS[name].columns) == set(cells)]
    found = exact or fit
    return {"preset": found[0]} if len(found) == 1 else {}


def _fits(options: TableOptions, cells: Sequence[str]) -> bool:
    """Whether these are columns of a text and of what is said of it."""
    sheet = Sheet(options, tuple(cells))
    texts = [each for each in (options.text, options.second) if each is not None]
    return sheet.absent(texts) is None and bool({"label", "number"} & {*sheet.places})


def _names(first: Row, named: bool, options: TableOptions, path: str) -> tuple[str, ...]:
    """Return the names of the columns.

    Raises ``FormatError`` where one is missing, or has a name that means something else in meta.
    """
    whole = options.whole
    names = tuple(first.cells) if named else whole.columns or numbered(len(first.cells))
    absent = Sheet(whole, names).absent(options.wanted)
    if absent is not None:
        known = nearest(str(absent), {*names})
        raise FormatError(path, first.line, f"no column {absent!r:.60}{known:.300}")
    for own in _OWN:
        if own in names:
            raise FormatError(path, first.line, f"expected no column of the name {own!r}, got one")
    return names


def _usual(whole: TableOptions) -> str | None:
    """Return what stands before the rows if documents say nothing of it; None: names of columns."""
    if not whole.named(whole.columns):
        return ""
    return spelled(whole.columns, whole) + "\n" if whole.columns else None


def _judging(sheet: Sheet) -> Judging:
    """Return how rows of those columns say labels and numbers."""
    options, roles = sheet.options, sheet.places
    label, number = options.layers
    name = options.number if isinstance(options.number, str) else "value"
    return Judging(label if "label" in roles else None, number if "number" in roles else None, name)


class _Reading:
    """Rows being read."""

    def __init__(self, sheet: Sheet, path: str, judging: Judging, head: str | None) -> None:
        """Begin; ``head`` is what the documents must know of what stands before the rows."""
        self.sheet, self.path, self.judging = sheet, path, judging
        self.before = [] if head is None else [(HEAD, head)]
        self.names = Names()
        self.count = 0
        self.where = [(sheet.place(each), value) for each, value in sheet.options.where.items()]

    def document(self, row: Row) -> Iterator[Document]:
        """Yield the document of a row, if it is asked for."""
        self.count += 1
        names = self.sheet.names
        if len(row.cells) != len(names):
            problem = f"expected {len(names)} cells ({', '.join(names):.200}), got {len(row.cells)}"
            raise FormatError(self.path, row.line, problem)
        if all(place is not None and row.cells[place] == value for place, value in self.where):
            try:
                yield self._made(row)
            except (ValueError, DocumentError) as error:
                raise FormatError(self.path, row.line, str(error)) from error

    def _made(self, row: Row) -> Document:
        """Return the document of a row."""
        sheet = self.sheet
        cells = {role: row.cells[place] for role, place in sheet.places.items()}
        label, number = cells.get("label", ""), cells.get("number", "")
        gold = sheet.options.is_gold(label)
        wanted = cells.get("id", by_number(self.count))
        name = self.names.of(wanted)
        meta: Meta = [] if name == wanted else [(_id_key(sheet), wanted)]
        silent = {sheet.places.get("label")} if not gold else set()
        silent |= {sheet.places.get("number")} if not number else set()
        for place, cell in enumerate(row.cells):
            if place in sheet.other or place in silent:
                meta.append((sheet.names[place], cell))
        meta += [(END, row.end)] * (row.end != "\n")
        said = Judged(cells["text"], cells.get("second"), label if gold else None, number or None)
        return self.judging.document(said, name, self.before + meta)


def _id_key(sheet: Sheet) -> str:
    """Return where meta keeps an id that is no name."""
    taken = ID in {sheet.names[place] for place in sheet.other}
    return sheet.names[sheet.places["id"]] if taken and "id" in sheet.places else ID


def _sheet(documents: Sequence[Document], options: TableOptions) -> tuple[Sheet, str]:
    """Return the columns of a table and what stands before its rows."""
    whole = options.whole
    told = dict(documents[0].meta).get(HEAD) if documents else None
    for head in (told, _usual(whole)):
        names = None if head is None else _told(head, documents, whole)
        if head is not None and names and Sheet(whole, names).absent(options.wanted) is None:
            more = _unnamed(documents, Sheet(whole, names)) if opening(head) != head else []
            sheet = Sheet(whole, (*names, *more))
            return sheet, spelled(sheet.names, whole) + "\n" if more else head
    sheet = Sheet(whole, _listed(documents, options))
    return sheet, spelled(sheet.names, whole) + "\n"


def _told(head: str, documents: Sequence[Document], whole: TableOptions) -> tuple[str, ...] | None:
    """Return the names of columns by what stands before the rows, None where that cannot be."""
    start = opening(head)
    try:
        found = list(rows(head, whole, "", len(start)))
    except FormatError:
        return None
    cells = found[0].cells if found else []
    if len(found) > 1 or whole.named(cells) != bool(found) or set(cells) & {*_OWN}:
        return None
    if found:
        return tuple(cells) if head.endswith("\n") else None
    return whole.columns or _counted(documents, whole)


def _counted(documents: Sequence[Document], whole: TableOptions) -> tuple[str, ...]:
    """Return the names of columns that have only numbers."""
    said = [getattr(whole, role) for role in ROLES]
    keys = {key for document in documents for key, _ in document.meta}
    return numbered(max(width({*keys, *whole.where}), *(n for n in said if isinstance(n, int))))


def _listed(documents: Sequence[Document], options: TableOptions) -> tuple[str, ...]:
    """Return the columns of documents from elsewhere: those of the options, then those of meta."""
    whole = options.whole
    said = [each for role in ROLES if (each := getattr(whole, role)) is not None]
    keys = (key for document in documents for key, _ in document.meta)
    plain = (key for key in keys if spelled([key], whole) not in _OWN)
    rest = [*dict.fromkeys(each for each in (*said, *whole.where, *plain) if isinstance(each, str))]
    fixed = {each: each for each in said if isinstance(each, int)}
    names: list[str] = []
    for place in range(1, max((len(rest) + len(fixed), *fixed)) + 1):
        free = place not in fixed and rest
        names.append(rest.pop(0) if free else numbered(place)[-1])
    return tuple(names)


def _unnamed(documents: Sequence[Document], sheet: Sheet) -> list[str]:
    """Return columns that a table lacks for what its documents say."""
    options = sheet.options
    label, number = options.layers
    judging = Judging(label if options.label else None, number if options.number else None)
    wanted: dict[Role, bool] = {
        "label": any(each.has(label) for each in documents),
        "number": any(judging.said(each).number is not None for each in documents),
    }
    columns = [getattr(options, role) for role, there in wanted.items() if there]
    return [each for each in columns if isinstance(each, str) and sheet.place(each) is None]


def _row(document: Document, said: Judged, sheet: Sheet) -> str:
    """Return the row of a document."""
    told: dict[str, list[str]] = {}
    for key, value in reversed(document.meta):
        told.setdefault(key, []).append(value)
    options = sheet.options
    gold = said.label is not None and options.is_gold(said.label)
    alone = options.layers[0] != options.layers[1] or "label" not in sheet.places
    values: dict[Role, str | None] = {
        "id": dict(document.meta).get(_id_key(sheet), document.name),
        "text": said.text,
        "second": said.second or "",
        "label": said.label if gold else None,
        "number": said.number if gold or alone else None,
    }
    cells = [told[name].pop() if told.get(name) else "" for name in sheet.names]
    for role, place in sheet.places.items():
        new = values[role]
        cells[place] = _silent(role, cells[place], options) if new is None else new
    return spelled(cells, options)


def _silent(role: Role, kept: str, options: TableOptions) -> str:
    """Return the cell of a label or number that there is not; ``kept`` is what stood there."""
    if role == "number":
        return ""
    return kept if kept and not options.is_gold(kept) else options.none or ""


def _end(document: Document, last: bool) -> str:
    """Return what stands behind a row."""
    told = dict(document.meta).get(END, "\n")
    return told if is_end(told) and (last or told.endswith("\n")) else "\n"


KIND = Format(
    loads,
    dumps,
    lost,
    looks,
    (".tsv", ".csv", ".txt"),
    "id\ttext\tlabel\tby\n"
    "a/1\ta film that moves , and moves again\tpositive\tAda\n"
    "a/2\tit never moves\tnegative\tBob\n"
    "b\tit is a film\t\t\n",
    TableOptions,
    suits=_suits,
)
