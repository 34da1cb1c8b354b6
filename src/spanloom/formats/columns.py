r"""A word a line, with columns of tags; blank lines part sentences.

::

    -DOCSTART- O

    Ada     B-person
    met     O
    Bob     B-person

``columns`` says what each column is: ``word``; the name of a layer; or ``_`` for what is only kept,
as the word's attribute ``column2`` (if it is the second), whose own ``_`` says that there is none.
A layer is spelt in one of the tag schemes (``schemes``), else as a label a word; ``preset`` says
both for known files. Cells are parted by a tab, or by blanks.

A tag that its scheme would not make of the spans (``I-person`` after ``O`` in IOB2) is the word's
attribute of the layer's name. A row without a word (half of them are blanks that tweets have) is
the sentence's attribute ``row``, behind the number of words before it. What follows a sentence, if
it is not one empty line, is its attribute ``after``. With ``-DOCSTART-`` a document is all up to
the next one, and the line itself is ``start`` in its meta; without any, each sentence is one.
Documents are called by number. Carriage returns at line ends and how many blanks part cells are
not kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from spanloom.config.options import Options
from spanloom.document import GIVEN, SENTENCES, WORDS, Document
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.formats._names import numbered
from spanloom.formats._regained import missing
from spanloom.formats._table import BLANK, DOCUMENT, KEPT, TAB, WORD, Block, Table
from spanloom.formats._tagged import annotate, apart, respelt
from spanloom.forms.tag_schemes import OUTSIDE

START, AFTER, ROW, SEPARATOR = "start", "after", "row", "separator"
_NAMED = {"tab": TAB, "blank": BLANK}
_NAMES = {value: name for name, value in _NAMED.items()}
_TAG = re.compile(r"O|[BIESLU]-\S+")
_LABEL = re.compile(r"[A-Z][A-Za-z+]*")
_PART = "\n\n"  # what is behind a sentence if nothing else is said

SchemeName = Literal["IOB1", "IOB2", "BIO", "IOBES", "BIOES", "BILOU", "none"]
Preset = Literal["wnut17", "btc", "wikigold", "conll2000", "conll2003", "semcor-traits"]

_TWEETS = Table((WORD, "entities"), {"entities": "IOB2"}, TAB)
_PRESETS: dict[str, Table] = {
    "wnut17": _TWEETS,
    "btc": _TWEETS,
    "wikigold": Table((WORD, "entities"), {"entities": "IOB1"}, BLANK),
    "conll2000": Table((WORD, "xpos", "chunks"), {"chunks": "IOB2"}, BLANK),
    "conll2003": Table(
        (WORD, "xpos", "chunks", "entities"), {"chunks": "IOB1", "entities": "IOB1"}, BLANK
    ),
    "semcor-traits": Table((WORD, "traits"), {}, TAB),
}


class ColumnOptions(Options):
    """``{preset: conll2003}`` or ``{columns: [_, word, chunks], schemes: {chunks: IOBES}}``."""

    preset: Preset = Field(
        default="wnut17", description="a known file: its columns, schemes, separator"
    )
    columns: tuple[str, ...] | None = Field(
        default=None,
        description="what each column is, instead: word, a layer, or _ for what is only kept",
    )
    schemes: dict[str, SchemeName] | None = Field(
        default=None,
        description="how each layer's tags spell spans, instead; without one: a label a word",
    )
    separator: Literal["tab", "blank"] | None = Field(
        default=None, description="what parts cells; if not said, a tab where the first row has one"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse columns that name no word, or anything twice, and schemes of none of them."""
        names = [name for name in self.table("").columns if name != KEPT]
        if names.count(WORD) != 1 or len(set(names)) < len(names) or {*names} & {*GIVEN, ""}:
            raise ValueError(f"expected columns with one {WORD!r} and layers that differ")
        for layer in self.schemes or {}:
            if layer not in names or layer == WORD:
                raise ValueError(f"expected schemes of {', '.join(names)}, got {layer!r:.60}")
        return self

    def table(self, found: str) -> Table:
        """Return all that was said, the rest from the preset; ``found`` parts cells if none was."""
        usual = _PRESETS[self.preset]
        columns = usual.columns if self.columns is None else self.columns
        said = usual.schemes if self.schemes is None else self.schemes
        schemes = {layer: said[layer] for layer in columns if layer in said}
        separator = _NAMED.get(self.separator or "", found or usual.separator)
        return Table(columns, schemes, separator)


def loads(
    text: str, *, path: str = "<string>", options: ColumnOptions = ColumnOptions()
) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` for rows of other columns and foreign tags."""
    text = text.replace("\r\n", "\n")
    table = options.table(_guess(text))
    usual = options.table("").separator
    for number, section in enumerate(table.sections(text), 1):
        making = Making(numbered(number))
        if section.marked or section.start:
            unended = section.start[-1:] not in ("", "\n")  # a mark is all that is left
            making.meta.append((START, section.start + "\n" * unended))
        if table.separator != usual:
            making.meta.append((SEPARATOR, _NAMES[table.separator]))
        for layer in (WORDS, SENTENCES, *table.layers):
            making.layer(layer)
        for block in section.blocks:
            _read(making, block, table, path)
        yield making.done()


def dumps(documents: Iterable[Document], *, options: ColumnOptions = ColumnOptions()) -> str:
    """Return the rows; documents are marked where one of them was, or is no single sentence.

    What would be cut into two cells (a blank in a word) is written ``_``.
    """
    every = list(documents)
    meta = [dict(document.meta) for document in every]
    table = options.table(_NAMED.get(meta[0].get(SEPARATOR, ""), "") if every else "")
    made = [_sentences(Laid(document), table) for document in every]
    marked = any(DOCUMENT in said.get(START, "") for said in meta)
    marked = marked or any(len(sentences) != 1 for sentences in made)
    pieces: list[tuple[str, str | None]] = []
    for at, (said, sentences) in enumerate(zip(meta, made, strict=True)):
        start = said.get(START)
        if start is None or not table.begins(start, at == 0, marked):
            start = _mark(table) if marked else ""
        pieces += [(start, None), *sentences]
    return "".join(_joined(pieces, table))


def _guess(text: str) -> str:
    """Return what parts the cells of the first row."""
    rows = (line for line in text.split("\n") if line.strip() and not line.startswith(DOCUMENT))
    first = next(rows, "")
    return TAB if TAB in first else BLANK if BLANK in first else ""


def _read(making: Making, block: Block, table: Table, path: str) -> None:
    """Add a sentence."""
    rows: list[list[str]] = []
    silent: list[str] = []
    for line, row in enumerate(block.rows, block.line):
        cells = table.checked(row, path, line)
        if cells[table.word].strip():
            rows.append(cells)
        else:
            silent.append(f"{len(rows)} {row}")
    words = making.sentence([cells[table.word] for cells in rows])
    for value in silent:
        making.attribute(SENTENCES, ROW, making.sentences[-1], value)
    if block.after != _PART:
        making.attribute(SENTENCES, AFTER, making.sentences[-1], block.after)
    for layer, at in table.layers.items():
        annotate(making, layer, table.scheme(layer), words.start, [cells[at] for cells in rows])
    for word, cells in zip(words, rows, strict=True):
        for label, at in table.kept.items():
            if cells[at] != KEPT:
                making.attribute(WORDS, label, making.words[word], cells[at])


def _sentences(laid: Laid, table: Table) -> list[tuple[str, str | None]]:
    """Return the rows of each sentence and what stood behind them."""
    held = {layer: apart(laid, layer, partial(table.spells, layer)) for layer in table.layers}
    words, sentences = laid.values(WORDS), laid.values(SENTENCES)
    found: list[tuple[str, str | None]] = []
    for number, (first, end) in enumerate(laid.words.sentences):
        said = [{a.label: a.value or "" for a in words.get(word, ())} for word in range(first, end)]
        tags = {
            layer: respelt(table.scheme(layer), spans[number], [each.get(layer) for each in said])
            for layer, spans in held.items()
        }
        rows = [
            _row(table, form, said[at], {layer: each[at] for layer, each in tags.items()})
            for at, form in enumerate(laid.forms[first:end])
        ]
        about = sentences.get(number, [])
        _put_back(rows, table, [each.value or "" for each in about if each.label == ROW])
        after = [each.value or "" for each in about if each.label == AFTER]
        found.append(("\n".join(rows), after[0] if after else _PART))
    return found


def _row(table: Table, form: str, said: dict[str, str], tags: dict[str, str]) -> str:
    """Return the line of a word."""
    cells = [KEPT] * len(table.columns)
    for layer, at in table.layers.items():
        cells[at] = tags[layer]
    for label, at in table.kept.items():
        value = said.get(label, KEPT)
        cells[at] = value if table.fits(value, at) else KEPT
    cells[table.word] = table.spelt(form)
    return table.separator.join(cells)


def _put_back(rows: list[str], table: Table, values: list[str]) -> None:
    """Insert the rows without words; each value is how many words are before it, and the row."""
    for value in reversed(values):
        place, _, row = value.partition(" ")
        if place.isdecimal() and "\n" not in row and row.strip() and table.silent(row):
            rows.insert(min(int(place[:9]), len(rows)), row)


def _mark(table: Table) -> str:
    """Return the line that begins a document, as CoNLL-2003 has it, and an empty line."""
    cells = (DOCUMENT, *["-X-"] * (len(table.columns) - 2), OUTSIDE)
    return table.separator.join(cells) + "\n\n"


def _joined(pieces: list[tuple[str, str | None]], table: Table) -> Iterator[str]:
    """Yield the texts, and behind those that are sentences what parts them from what follows."""
    filled = [each for each in pieces if each[0]]
    followers = chain((text for text, _ in filled[1:]), [""])
    for (text, after), following in zip(filled, followers, strict=False):
        yield text
        if after is not None:
            yield after if table.parts(after, following) else _PART


def _lost(document: Document, options: ColumnOptions) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document], options=options), options=options))


def _looks(head: str, name: str) -> bool:
    """Tell by rows of as many cells, the last one a tag; or of two, many of whose second are O."""
    separator, cells = _cells(head)
    widths = {len(each) for each in cells}
    if len(widths) != 1 or not widths <= {2, 3, 4, 5}:
        return False
    last = [each[-1] for each in cells]
    if all(map(_TAG.fullmatch, last)):
        return True
    plain = separator == TAB and widths == {2} and all(map(_LABEL.fullmatch, last))
    return plain and 4 * last.count(OUTSIDE) >= len(last)


def _cells(head: str) -> tuple[str, list[list[str]]]:
    """Return what parts cells, and those of each whole row."""
    lines = head.replace("\r", "").split("\n")
    rows = [each for each in lines[:-1] or lines if each.strip() and not each.startswith(DOCUMENT)]
    separator = TAB if rows and TAB in rows[0] else BLANK
    return separator, [row.split(separator) for row in rows]


def _suits(head: str) -> dict[str, Preset]:
    """Return the preset with so many columns; of two, the one whose scheme the tags follow."""
    _, cells = _cells(head)
    widths = {len(each) for each in cells}
    if widths == {3}:
        return {"preset": "conll2000"}
    if widths == {4}:
        return {"preset": "conll2003"}
    tags = [row[-1] for row in cells]
    if widths == {2} and not all(map(_TAG.fullmatch, tags)):
        return {"preset": "semcor-traits"}
    inside = any(two[:2] == "I-" and one == OUTSIDE for one, two in pairwise(tags))
    return {"preset": "wikigold"} if inside else {}


def _holding(documents: Sequence[Document]) -> dict[str, Any]:
    """Return a column for each layer of spans, unless a preset has the only one that there is.

    A layer that labels nearly every word is a label a word, others are spelt as IOB2.
    """
    spans: dict[str, int] = {}
    for document in documents:
        for layer in document.layers:
            if layer.spans and layer.name not in (*GIVEN, WORD, KEPT, ""):
                spans[layer.name] = spans.get(layer.name, 0) + len(layer.spans)
    if spans.keys() <= {*_TWEETS.layers}:
        return {}
    words = sum(len(each[WORDS].spans) for each in documents if each.has(WORDS))
    schemes = {layer: "IOB2" for layer, count in spans.items() if 10 * count < 9 * words}
    return {"columns": (WORD, *spans), "schemes": schemes, "separator": "tab"}


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".conll", ".iob", ".bio"),
    "-DOCSTART-\tO\n\nAda\tB-person\nmet\tO\nNew\tI-place\nYork\tI-place\n \tO\n.\tO\n\t\n"
    "Bob\tB-person\nran\tO\n\n-DOCSTART-\tO\n\nYes\tO\n",
    ColumnOptions,
    suits=_suits,
    holding=_holding,
)
