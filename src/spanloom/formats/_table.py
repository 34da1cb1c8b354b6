"""Files of a word a line with columns: how they are cut into sentences and lines into cells."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import dropwhile
from typing import NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._tagged import is_tag, openings, written
from spanloom.forms.tag_schemes import OUTSIDE, SCHEMES, Scheme, Tagged

WORD, KEPT = "word", "_"  # columns that are no layer
TAB, BLANK = "\t", " "
DOCUMENT = "-DOCSTART-"
_ROW = rf"(?!{DOCUMENT}(?:\s|$))[^\n]*\S[^\n]*"
_ROWS = re.compile(rf"^{_ROW}(?:\n{_ROW})*", re.MULTILINE)
_STARTS = re.compile(rf"^(?={DOCUMENT}(?:\s|$))", re.MULTILINE)

_PARTING = {TAB: re.compile(r"[\t\n]"), BLANK: re.compile(r"[ \t\n]")}  # ends a cell or a row


class Block(NamedTuple):
    """The rows of a sentence, the number of the first, and the text from their end to the next."""

    line: int
    rows: list[str]
    after: str


class Section(NamedTuple):
    """The sentences of a document, the text before the first, and whether a mark begins it."""

    start: str
    marked: bool
    blocks: list[Block]


@dataclass(frozen=True)
class Table:
    """What each column is, the scheme of each layer (none: a label a word), what parts cells."""

    columns: tuple[str, ...]
    schemes: Mapping[str, str]
    separator: str

    @cached_property
    def word(self) -> int:
        """The column of words."""
        return self.columns.index(WORD)

    @cached_property
    def layers(self) -> dict[str, int]:
        """The column of each layer."""
        return {name: at for at, name in enumerate(self.columns) if name not in (WORD, KEPT)}

    @cached_property
    def kept(self) -> dict[str, int]:
        """The column of each attribute of words."""
        return {f"column{at + 1}": at for at, name in enumerate(self.columns) if name == KEPT}

    def scheme(self, layer: str) -> Scheme:
        """Return how a layer's tags spell spans."""
        return SCHEMES[self.schemes.get(layer, "none")]

    @cached_property
    def openings(self) -> dict[str, tuple[str, ...]]:
        """What a tag of each layer begins with, before its label."""
        return {layer: openings(self.scheme(layer)) for layer in self.layers}

    def cells(self, row: str) -> list[str]:
        """Cut a row; blanks part cells however many they are, tabs one by one."""
        if self.separator == TAB:
            return row.split(TAB)
        return [cell for cell in row.replace(TAB, BLANK).split(BLANK) if cell]

    def checked(self, row: str, path: str, line: int) -> list[str]:
        """Return the cells of a row; raises ``FormatError``: how many there are, bad tags."""
        cells = self.cells(row)
        if len(cells) != len(self.columns):
            said = f"expected {len(self.columns)} columns ({', '.join(self.columns)})"
            raise FormatError(path, line, f"{said}, got {len(cells)}: {row!r:.60}")
        if cells[0] == DOCUMENT:
            raise FormatError(
                path, line, f"expected {DOCUMENT} where a line begins, got {row!r:.60}"
            )
        for layer, at in self.layers.items():
            if not is_tag(cells[at], self.openings[layer]):
                tags = ", ".join(f"{each}LABEL" for each in self.openings[layer])
                problem = f"expected {OUTSIDE} or {tags} in column {at + 1} ({layer})"
                raise FormatError(path, line, f"{problem}, got {cells[at]!r:.60}")
        return cells

    def silent(self, line: str) -> bool:
        """Whether a line is blank, or a row whose word is."""
        if not line.strip():
            return True
        cells = self.cells(line)
        return len(cells) == len(self.columns) and not cells[self.word].strip()

    def fits(self, cell: str, at: int) -> bool:
        """Whether the cell of a column is read again as it is written."""
        if at + 1 == len(self.columns) and cell.endswith("\r"):
            return False
        return _PARTING[self.separator].search(cell) is None and bool(cell or self.separator == TAB)

    def spells(self, layer: str, span: Tagged) -> bool:
        """Whether a layer's tags can say that span."""
        start, end, label = span
        if not label or not self.fits(label, self.layers[layer]):
            return False
        plain = self.openings[layer] == ("",)
        return not plain or (end - start == 1 and label != OUTSIDE)

    def parts(self, after: str, following: str) -> bool:
        """Whether a text behind a sentence parts it from what follows ("": the file ends)."""
        first, *others = after.split("\n")
        if first or not all(map(self.silent, others)):
            return False
        if following and (not others or others[-1]):
            return False
        blank = any(not line.strip() for line in others[:-1])
        return blank or not following or following.startswith(DOCUMENT)

    def begins(self, start: str, first: bool, marked: bool) -> bool:
        """Whether a text may stand before a document, the ``first`` one, or one of a marked file.

        That is a mark and lines without words; before the first such lines are enough.
        """
        *lines, last = start.split("\n")
        rest = list(dropwhile(self.silent, lines)) if first else lines
        mark = bool(rest) and _STARTS.match(rest[0]) is not None
        if last or not all(map(self.silent, rest[mark:])):
            return False
        return marked if mark else first or start == ""

    def spelt(self, form: str) -> str:
        """Return a word as a row can hold it: what would part or end it is written ``_``."""
        made = written(form, _PARTING[self.separator])
        if not self.fits(made, self.word):  # its end would be taken for the row's
            made = made[:-1] + "_"
        return "_" * len(made) if self.word == 0 and made == DOCUMENT else made

    def sections(self, text: str) -> Iterator[Section]:
        """Cut a text into documents: at each line -DOCSTART-, or a sentence each if it has none."""
        pieces = _STARTS.split(text)
        if len(pieces) == 1:
            _, before, blocks = self._blocks(text, 1)
            yield from (Section("" if at else before, False, [b]) for at, b in enumerate(blocks))
            return
        if not _ROWS.search(pieces[0]):
            pieces[:2] = ["".join(pieces[:2])]
        line = 1
        for piece in pieces:
            line, before, blocks = self._blocks(piece, line)
            yield Section(before, True, blocks)

    def _blocks(self, text: str, line: int) -> tuple[int, str, list[Block]]:
        """Return the line after a text that begins at one, what is before the rows, and those.

        Rows without words, where a block has no others, belong to what is between the blocks.
        """
        every = (match.span() for match in _ROWS.finditer(text))
        runs = [(a, b) for a, b in every if not all(map(self.silent, text[a:b].split("\n")))]
        stops = [*(start for start, _ in runs), len(text)]
        before, blocks = text[: stops[0]], []
        line += before.count("\n")
        for (start, end), stop in zip(runs, stops[1:], strict=True):
            blocks.append(Block(line, text[start:end].split("\n"), text[end:stop]))
            line += text.count("\n", start, stop)
        return line, before, blocks
