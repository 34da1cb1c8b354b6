"""Split files with one word per line into documents, sentences and cells, and check the cells."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import dropwhile
from typing import NamedTuple

from spanloom.annotation.tag_schemes import OUTSIDE, SCHEMES, Scheme, Tagged
from spanloom.errors import FormatError
from spanloom.formats._word_view import format_cell, is_tag, tag_prefixes

WORD, KEPT = "word", "_"  # columns that are not layers
TAB, SPACE = "\t", " "
DOCUMENT = "-DOCSTART-"
_ROW = rf"(?!{DOCUMENT}(?:\s|$))[^\n]*\S[^\n]*"
_ROWS = re.compile(rf"^{_ROW}(?:\n{_ROW})*", re.MULTILINE)
_STARTS = re.compile(rf"^(?={DOCUMENT}(?:\s|$))", re.MULTILINE)

_SEPARATORS = {TAB: re.compile(r"[\t\n]"), SPACE: re.compile(r"[ \t\n]")}  # end a cell or row


class Block(NamedTuple):
    """The rows of a sentence, its first line number, and the text up to the next sentence."""

    line: int
    rows: list[str]
    after: str


class Section(NamedTuple):
    """The sentences of a document, the text before the first, and whether -DOCSTART- begins it."""

    start: str
    marked: bool
    blocks: list[Block]


@dataclass(frozen=True)
class Table:
    """The columns' names, each layer's tag scheme (none: one label per word), the separator."""

    columns: tuple[str, ...]
    schemes: Mapping[str, str]
    separator: str

    @cached_property
    def word(self) -> int:
        """The index of the column of words."""
        return self.columns.index(WORD)

    @cached_property
    def layers(self) -> dict[str, int]:
        """The column of each layer."""
        return {
            name: column for column, name in enumerate(self.columns) if name not in (WORD, KEPT)
        }

    @cached_property
    def attribute_columns(self) -> dict[str, int]:
        """The column of each attribute of words."""
        return {
            f"column{column + 1}": column
            for column, name in enumerate(self.columns)
            if name == KEPT
        }

    def scheme(self, layer: str) -> Scheme:
        """Return the tag scheme of a layer."""
        return SCHEMES[self.schemes.get(layer, "none")]

    @cached_property
    def openings(self) -> dict[str, tuple[str, ...]]:
        """The prefixes that each layer's tags may have before the label."""
        return {layer: tag_prefixes(self.scheme(layer)) for layer in self.layers}

    def cells(self, row: str) -> list[str]:
        """Split a row at each tab or at runs of blanks."""
        if self.separator == TAB:
            return row.split(TAB)
        return [cell for cell in row.replace(TAB, SPACE).split(SPACE) if cell]

    def parse_row(self, row: str, path: str, line: int) -> list[str]:
        """Return the cells of a row; raises ``FormatError`` for a wrong number or a bad tag."""
        cells = self.cells(row)
        if len(cells) != len(self.columns):
            expected = f"expected {len(self.columns)} columns ({', '.join(self.columns)})"
            raise FormatError(path, line, f"{expected}, got {len(cells)}: {row!r:.60}")
        if cells[0] == DOCUMENT:
            raise FormatError(
                path, line, f"expected {DOCUMENT} where a line begins, got {row!r:.60}"
            )
        for layer, column in self.layers.items():
            if not is_tag(cells[column], self.openings[layer]):
                tags = ", ".join(f"{prefix}LABEL" for prefix in self.openings[layer])
                problem = f"expected {OUTSIDE} or {tags} in column {column + 1} ({layer})"
                raise FormatError(path, line, f"{problem}, got {cells[column]!r:.60}")
        return cells

    def silent(self, line: str) -> bool:
        """Whether a line is blank, or a row whose word is blank."""
        if not line.strip():
            return True
        cells = self.cells(line)
        return len(cells) == len(self.columns) and not cells[self.word].strip()

    def fits(self, cell: str, column: int) -> bool:
        """Whether a cell of a column can be written unchanged."""
        if column + 1 == len(self.columns) and cell.endswith("\r"):
            return False
        return _SEPARATORS[self.separator].search(cell) is None and bool(
            cell or self.separator == TAB
        )

    def spells(self, layer: str, span: Tagged) -> bool:
        """Whether a layer's tags can encode the span."""
        start, end, label = span
        if not label or not self.fits(label, self.layers[layer]):
            return False
        plain = self.openings[layer] == ("",)
        return not plain or (end - start == 1 and label != OUTSIDE)

    def parts(self, separating_text: str, next_text: str) -> bool:
        """Whether a text separates a sentence from ``next_text`` ("": the end of the file)."""
        rest_of_line, *next_lines = separating_text.split("\n")
        if rest_of_line or not all(map(self.silent, next_lines)):
            return False
        if next_text and (not next_lines or next_lines[-1]):
            return False
        has_blank = any(not line.strip() for line in next_lines[:-1])
        return has_blank or not next_text or next_text.startswith(DOCUMENT)

    def begins(self, start: str, is_first: bool, is_marked: bool) -> bool:
        """Whether a text may stand before a document: the first, or one of a file with marks.

        Such a text is a mark and lines without words; before the first document such lines suffice.
        """
        *lines, last_line = start.split("\n")
        rest = list(dropwhile(self.silent, lines)) if is_first else lines
        has_mark = bool(rest) and _STARTS.match(rest[0]) is not None
        if last_line or not all(map(self.silent, rest[has_mark:])):
            return False
        return is_marked if has_mark else is_first or start == ""

    def format_word(self, form: str) -> str:
        """Return a word as a cell; characters that would end the cell or row become ``_``."""
        cell = format_cell(form, _SEPARATORS[self.separator])
        if not self.fits(cell, self.word):  # its last character would be read as the row's end
            cell = cell[:-1] + "_"
        return "_" * len(cell) if self.word == 0 and cell == DOCUMENT else cell

    def sections(self, text: str) -> Iterator[Section]:
        """Split a text into documents at each line -DOCSTART-, else into one per sentence."""
        pieces = _STARTS.split(text)
        if len(pieces) == 1:
            _, leading_text, blocks = self._split_blocks(text, 1)
            yield from (
                Section("" if index else leading_text, False, [block])
                for index, block in enumerate(blocks)
            )
            return
        if not _ROWS.search(pieces[0]):
            pieces[:2] = ["".join(pieces[:2])]
        line = 1
        for piece in pieces:
            line, leading_text, blocks = self._split_blocks(piece, line)
            yield Section(leading_text, True, blocks)

    def _split_blocks(self, text: str, line: int) -> tuple[int, str, list[Block]]:
        """Return the line number after a text that begins at ``line``, its head and its blocks.

        Rows without words belong to the text between blocks if a run has no other rows.
        """
        row_runs = (match.span() for match in _ROWS.finditer(text))
        runs = [
            (start, end)
            for start, end in row_runs
            if not all(map(self.silent, text[start:end].split("\n")))
        ]
        next_starts = [*(start for start, _ in runs), len(text)]
        leading_text, blocks = text[: next_starts[0]], []
        line += leading_text.count("\n")
        for (start, end), next_start in zip(runs, next_starts[1:], strict=True):
            blocks.append(Block(line, text[start:end].split("\n"), text[end:next_start]))
            line += text.count("\n", start, next_start)
        return line, leading_text, blocks
