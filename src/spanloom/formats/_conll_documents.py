"""Split files into documents at lines ``#begin document`` and ``#end document``.

A document's name gets the suffix ``_part001`` etc. if it is a later part.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats._document_builder import (
    ID,
    DocumentBuilder,
    Names,
    default_name,
    id_in_file,
    is_counted,
)
from spanloom.formats._text import Line, escape_cell, lines, separator_of, split_row

PART = "part"  # in meta: the part number as written; absent in OntoGUM's files
FIRST = "0"
NONE = "_"

_BEGIN_WITH_PART = re.compile(r"#begin document \((?P<name>.*)\); part (?P<part>[0-9]{1,9})\s*")
_BEGIN = re.compile(r"# begin document(?P<name>.*)")
_END = re.compile(r"# ?end document\s*")


class Section(NamedTuple):
    """A document's first line number, its name, its part if any, and the rows of its sentences."""

    line: int
    name: str
    part: str | None
    sentences: list[list[Line]]

    def making(self, names: Names, number: int) -> DocumentBuilder:
        """Begin the document; ``number`` is its position in the file, from 1."""
        if self.part is None:
            builder = names.making(self.name or default_name(number))
            if is_counted(self.name):  # here it is a given name, not the position in the file
                builder.meta.append((ID, self.name))
            return builder
        is_later_part = int(self.part) > 0
        builder = names.making(f"{self.name}_part{self.part}" if is_later_part else self.name)
        builder.meta = [(ID, self.name)] if builder.name != self.name else []
        builder.meta.append((PART, self.part))
        return builder


def sections(text: str, path: str) -> Iterator[Section]:
    """Yield the documents; raises ``FormatError`` for lines outside documents and nested ones."""
    section: Section | None = None
    block: list[Line] = []
    for line in lines(text):
        if "\r" in line.text:
            raise FormatError(path, line.number, "expected no carriage return within a line")
        if section is None:
            section, block = _begin_section(line, path), []
        elif _END.fullmatch(line.text):
            yield section
            section = None
        elif _BEGIN_WITH_PART.fullmatch(line.text) or _BEGIN.fullmatch(line.text):
            raise FormatError(path, line.number, f"expected #end document, got {line.text!r:.60}")
        elif line.text.startswith("#"):
            raise FormatError(path, line.number, f"expected a row, got {line.text!r:.60}")
        elif not line.text.strip():
            block = []
        else:
            if not block:
                section.sentences.append(block)
            block.append(line)
    if section is not None:
        problem = f"expected #end document for the one of line {section.line}, got the end"
        raise FormatError(path, 1 + text.count("\n"), problem)


def header(document: Document, with_part: bool) -> str:
    """Return the line that begins a document."""
    meta = dict(document.meta)
    name = " ".join(id_in_file(document).split("\n")).replace("\r", " ")
    if not with_part:
        is_unnamed = is_counted(document.name) and ID not in meta
        return f"# begin document {'' if is_unnamed else name}"
    return f"#begin document ({name}); part {part(document)}"


def part(document: Document) -> str:
    """Return the part number as written in the document's file, the first if there is none."""
    stated = dict(document.meta).get(PART, "")
    return stated if re.fullmatch("[0-9]{1,9}", stated) else FIRST


def document_cell(name: str, separator: str) -> str:
    """Return a document's name as the first cell of its rows."""
    cell = escape_cell(name, separator)
    return NONE + cell[1:] if cell.startswith("#") else cell


def opening(head: str) -> list[str] | None:
    """Return the cells of a document file's first row, [] if it has none; None for other files."""
    nonblank_lines = (line for line in lines(head) if line.text.strip())
    first, row = next(nonblank_lines, None), next(nonblank_lines, None)
    if first is None or not (
        _BEGIN_WITH_PART.fullmatch(first.text) or _BEGIN.fullmatch(first.text)
    ):
        return None
    return [] if row is None or row.text.startswith("#") else split_row(row, separator_of(row.text))


def _begin_section(line: Line, path: str) -> Section | None:
    """Return the document that begins at this line, None for a blank line."""
    if not line.text.strip():
        return None
    with_part, without_part = _BEGIN_WITH_PART.fullmatch(line.text), _BEGIN.fullmatch(line.text)
    if with_part:
        return Section(line.number, with_part["name"], with_part["part"], [])
    if without_part:
        return Section(line.number, without_part["name"].strip(), None, [])
    expected = "#begin document (NAME); part 0, or # begin document NAME"
    raise FormatError(path, line.number, f"expected {expected}, got {line.text!r:.60}")
