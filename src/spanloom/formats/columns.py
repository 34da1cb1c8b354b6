r"""Read and write one word per line with columns of tags; blank lines separate sentences.

::

    -DOCSTART- O

    Ada     B-person
    met     O
    Bob     B-person

``columns`` gives the meaning of each column: ``word``, the name of a layer, or ``_`` for a column
that is only kept, as the word's attribute ``column2`` (for the second column); a cell ``_`` there
means no value. ``schemes`` gives the tag scheme of each layer; a layer without one has one label
per word. ``preset`` sets both for known files. Cells are separated by a tab or by blanks.

A tag that its scheme would not produce from the spans (``I-person`` after ``O`` in IOB2) is kept as
the word's attribute with the layer's name. A row without a word (as for blanks in tweets)
is kept as the sentence's attribute ``row``, after the number of words before it. The text after a
sentence, if it is not one empty line, is its attribute ``after``. A document begins at each
``-DOCSTART-`` line, which is ``start`` in its meta; without such lines, each sentence is a
document. Documents are named by number. Carriage returns at line ends and the number of blanks
between cells are not kept.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from spanloom.annotation.tag_schemes import OUTSIDE
from spanloom.config.options import Options
from spanloom.document import GIVEN_WORDS, SENTENCES, WORDS, Document
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._table import DOCUMENT, KEPT, SPACE, TAB, WORD, Block, Table
from spanloom.formats._word_view import WordView, annotate, encodable_spans, format_tags

START, AFTER, ROW, SEPARATOR = "start", "after", "row", "separator"
_SEPARATORS = {"tab": TAB, "space": SPACE}
_SEPARATOR_NAMES = {value: name for name, value in _SEPARATORS.items()}
_TAG = re.compile(r"O|[BIESLU]-\S+")
_LABEL = re.compile(r"[A-Z][A-Za-z+]*")
_EMPTY_LINE = "\n\n"  # the usual text after a sentence

SchemeName = Literal["IOB1", "IOB2", "BIO", "IOBES", "BIOES", "BILOU", "none"]
Preset = Literal["wnut17", "btc", "wikigold", "conll2000", "conll2003", "semcor-traits"]

_TWEETS = Table((WORD, "entities"), {"entities": "IOB2"}, TAB)
_PRESETS: dict[str, Table] = {
    "wnut17": _TWEETS,
    "btc": _TWEETS,
    "wikigold": Table((WORD, "entities"), {"entities": "IOB1"}, SPACE),
    "conll2000": Table((WORD, "xpos", "chunks"), {"chunks": "IOB2"}, SPACE),
    "conll2003": Table(
        (WORD, "xpos", "chunks", "entities"), {"chunks": "IOB1", "entities": "IOB1"}, SPACE
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
        description="instead, the columns: word, a layer, or _ for one that is only kept",
    )
    schemes: dict[str, SchemeName] | None = Field(
        default=None,
        description="instead, the tag scheme of each layer; without one: a label per word",
    )
    separator: Literal["tab", "space"] | None = Field(
        default=None, description="what separates cells; default: a tab if the first row has one"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse columns without a word, repeated names, and schemes of unknown layers."""
        names = [name for name in self.table("").columns if name != KEPT]
        if names.count(WORD) != 1 or len(set(names)) < len(names) or {*names} & {*GIVEN_WORDS, ""}:
            raise ValueError(f"expected columns with one {WORD!r} and layers that differ")
        for layer in self.schemes or {}:
            if layer not in names or layer == WORD:
                raise ValueError(f"expected schemes of {', '.join(names)}, got {layer!r:.60}")
        return self

    def table(self, separator: str) -> Table:
        """Return the table of these options over their preset; ``separator`` is a fallback."""
        preset = _PRESETS[self.preset]
        columns = preset.columns if self.columns is None else self.columns
        layer_schemes = preset.schemes if self.schemes is None else self.schemes
        schemes = {layer: layer_schemes[layer] for layer in columns if layer in layer_schemes}
        column_separator = _SEPARATORS.get(self.separator or "", separator or preset.separator)
        return Table(columns, schemes, column_separator)


def loads(
    text: str, *, path: str = "<string>", options: ColumnOptions = ColumnOptions()
) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` for rows of another width and invalid tags."""
    text = text.replace("\r\n", "\n")
    table = options.table(_guess_separator(text))
    usual_separator = options.table("").separator
    for number, section in enumerate(table.sections(text), 1):
        builder = DocumentBuilder(default_name(number))
        if section.marked or section.start:
            has_open_line = section.start[-1:] not in (
                "",
                "\n",
            )  # only the mark, without a line end
            builder.meta.append((START, section.start + "\n" * has_open_line))
        if table.separator != usual_separator:
            builder.meta.append((SEPARATOR, _SEPARATOR_NAMES[table.separator]))
        for layer in (WORDS, SENTENCES, *table.layers):
            builder.layer(layer)
        for block in section.blocks:
            _add_sentence(builder, block, table, path)
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: ColumnOptions = ColumnOptions()) -> str:
    """Return the rows; the cells are separated as in the first document.

    Characters that would split a cell (a blank in a word) are written ``_``.
    """
    document_list = list(documents)
    meta = [dict(document.meta) for document in document_list]
    table = options.table(_SEPARATORS.get(meta[0].get(SEPARATOR, ""), "") if document_list else "")
    sentences_of = [_sentences(WordView(document), table) for document in document_list]
    has_docstart = any(DOCUMENT in document_meta.get(START, "") for document_meta in meta)
    has_docstart = has_docstart or any(len(sentences) != 1 for sentences in sentences_of)
    parts: list[tuple[str, str | None]] = []
    for index, (document_meta, sentences) in enumerate(zip(meta, sentences_of, strict=True)):
        start = document_meta.get(START)
        if start is None or not table.begins(start, index == 0, has_docstart):
            start = _docstart_lines(table) if has_docstart else ""
        parts += [(start, None), *sentences]
    return "".join(_join_sentences(parts, table))


def _guess_separator(text: str) -> str:
    """Return the separator of the first row, "" if it has one cell."""
    rows = (line for line in text.split("\n") if line.strip() and not line.startswith(DOCUMENT))
    first = next(rows, "")
    return TAB if TAB in first else SPACE if SPACE in first else ""


def _add_sentence(builder: DocumentBuilder, block: Block, table: Table, path: str) -> None:
    """Add a sentence and its annotations."""
    rows: list[list[str]] = []
    wordless: list[str] = []
    for line, row in enumerate(block.rows, block.line):
        cells = table.parse_row(row, path, line)
        if cells[table.word].strip():
            rows.append(cells)
        else:
            wordless.append(f"{len(rows)} {row}")
    words = builder.sentence([cells[table.word] for cells in rows])
    for value in wordless:
        builder.attribute(SENTENCES, ROW, builder.sentences[-1], value)
    if block.after != _EMPTY_LINE:
        builder.attribute(SENTENCES, AFTER, builder.sentences[-1], block.after)
    for layer, column in table.layers.items():
        annotate(
            builder, layer, table.scheme(layer), words.start, [cells[column] for cells in rows]
        )
    for word, cells in zip(words, rows, strict=True):
        for label, column in table.attribute_columns.items():
            if cells[column] != KEPT:
                builder.attribute(WORDS, label, builder.words[word], cells[column])


def _sentences(view: WordView, table: Table) -> list[tuple[str, str | None]]:
    """Return the rows of each sentence and the text after them."""
    layer_spans = {
        layer: encodable_spans(view, layer, partial(table.spells, layer)) for layer in table.layers
    }
    words, sentences = view.values(WORDS), view.values(SENTENCES)
    formatted: list[tuple[str, str | None]] = []
    for number, (first, end) in enumerate(view.words.sentences):
        word_values = [
            {a.label: a.value or "" for a in words.get(word, ())} for word in range(first, end)
        ]
        tags = {
            layer: format_tags(
                table.scheme(layer), spans[number], [values.get(layer) for values in word_values]
            )
            for layer, spans in layer_spans.items()
        }
        rows = [
            _format_row(
                table,
                form,
                word_values[row],
                {layer: layer_tags[row] for layer, layer_tags in tags.items()},
            )
            for row, form in enumerate(view.tokens[first:end])
        ]
        attributes = sentences.get(number, [])
        _insert_wordless_rows(rows, table, [a.value or "" for a in attributes if a.label == ROW])
        after = [a.value or "" for a in attributes if a.label == AFTER]
        formatted.append(("\n".join(rows), after[0] if after else _EMPTY_LINE))
    return formatted


def _format_row(table: Table, form: str, values: dict[str, str], tags: dict[str, str]) -> str:
    """Return the line of a word."""
    cells = [KEPT] * len(table.columns)
    for layer, column in table.layers.items():
        cells[column] = tags[layer]
    for label, column in table.attribute_columns.items():
        value = values.get(label, KEPT)
        cells[column] = value if table.fits(value, column) else KEPT
    cells[table.word] = table.format_word(form)
    return table.separator.join(cells)


def _insert_wordless_rows(rows: list[str], table: Table, values: list[str]) -> None:
    """Insert the rows without words; a value is the number of words before the row, and the row."""
    for value in reversed(values):
        index, _, row = value.partition(" ")
        if index.isdecimal() and "\n" not in row and row.strip() and table.silent(row):
            rows.insert(min(int(index[:9]), len(rows)), row)


def _docstart_lines(table: Table) -> str:
    """Return the line that begins a document, as CoNLL-2003 has it, and an empty line."""
    cells = (DOCUMENT, *["-X-"] * (len(table.columns) - 2), OUTSIDE)
    return table.separator.join(cells) + "\n\n"


def _join_sentences(parts: list[tuple[str, str | None]], table: Table) -> Iterator[str]:
    """Yield the texts; after a sentence, also the text that separates it from the next."""
    nonempty = [part for part in parts if part[0]]
    next_texts = chain((text for text, _ in nonempty[1:]), [""])
    for (text, after), next_text in zip(nonempty, next_texts, strict=False):
        yield text
        if after is not None:
            yield after if table.parts(after, next_text) else _EMPTY_LINE


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by rows of equal width that end in tags; of width 2, many are O."""
    separator, cells = _split_rows(head)
    widths = {len(row) for row in cells}
    if len(widths) != 1 or not widths <= {2, 3, 4, 5}:
        return False
    last_cells = [row[-1] for row in cells]
    if all(map(_TAG.fullmatch, last_cells)):
        return True
    are_labels = separator == TAB and widths == {2} and all(map(_LABEL.fullmatch, last_cells))
    return are_labels and 4 * last_cells.count(OUTSIDE) >= len(last_cells)


def _split_rows(head: str) -> tuple[str, list[list[str]]]:
    """Return the separator and the cells of each complete row."""
    lines = head.replace("\r", "").split("\n")
    rows = [line for line in lines[:-1] or lines if line.strip() and not line.startswith(DOCUMENT)]
    separator = TAB if rows and TAB in rows[0] else SPACE
    return separator, [row.split(separator) for row in rows]


def _sniff_options(head: str) -> dict[str, Preset]:
    """Return the preset with this number of columns; of two, the one whose scheme fits the tags.

    Most rows decide, so that the reader tells which row is unlike them.
    """
    _, cells = _split_rows(head)
    width = Counter(map(len, cells)).most_common(1)[0][0] if cells else 0
    if width == 3:
        return {"preset": "conll2000"}
    if width == 4:
        return {"preset": "conll2003"}
    tags = [row[-1] for row in cells if len(row) == width]
    if width == 2 and _are_plain(tags):
        return {"preset": "semcor-traits"}
    opens_with_inside = any(
        tag[:2] == "I-" and previous == OUTSIDE for previous, tag in pairwise(tags)
    )
    return {"preset": "wikigold"} if opens_with_inside else {}


def _are_plain(tags: Sequence[str]) -> bool:
    """Whether most tags other than ``O`` are labels of single words, without a prefix."""
    labels = [tag for tag in tags if tag != OUTSIDE]
    num_prefixed = sum(_TAG.fullmatch(tag) is not None for tag in labels)
    return 2 * num_prefixed < len(labels)


def _options_for(documents: Sequence[Document]) -> dict[str, Any]:
    """Return options with a column per layer of spans, none if a preset has the only such layer.

    A layer that labels nearly every word gets one label per word, others are encoded as IOB2.
    """
    spans: dict[str, int] = {}
    for document in documents:
        for layer in document.layers:
            if layer.spans and layer.name not in (*GIVEN_WORDS, WORD, KEPT, ""):
                spans[layer.name] = spans.get(layer.name, 0) + len(layer.spans)
    if spans.keys() <= {*_TWEETS.layers}:
        return {}
    words = sum(len(document[WORDS].spans) for document in documents if document.has_layer(WORDS))
    schemes = {layer: "IOB2" for layer, count in spans.items() if 10 * count < 9 * words}
    return {"columns": (WORD, *spans), "schemes": schemes, "separator": "tab"}


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".conll", ".iob", ".bio"),
    "-DOCSTART-\tO\n\nAda\tB-person\nmet\tO\nNew\tI-place\nYork\tI-place\n \tO\n.\tO\n\t\n"
    "Bob\tB-person\nran\tO\n\n-DOCSTART-\tO\n\nYes\tO\n",
    ColumnOptions,
    sniff_options=_sniff_options,
    holding=_options_for,
)
