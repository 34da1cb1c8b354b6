"""Files whose documents stand between ``#begin document`` and ``#end document``.

A document is called by its name, behind which ``_part001`` stands if it is a later part of it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats._lines import Line, lines
from spanloom.formats._making import Making
from spanloom.formats._names import ID, Names, is_counted, numbered, own

PART = "part"  # in meta: the number of a part as it stands; none in OntoGUM's files
FIRST = "0"
NONE = "_"

TAB, BLANK = "\t", " "
SEPARATOR, BLANK_NAME = "separator", "blank"  # in meta, where a tab is not what parts cells

_PARTED = re.compile(r"#begin document \((?P<name>.*)\); part (?P<part>[0-9]{1,9})\s*")
_PLAIN = re.compile(r"# begin document(?P<name>.*)")
_END = re.compile(r"# ?end document\s*")
_BLANKS = re.compile(r"[ \t]+")
_BROKEN = {TAB: re.compile(r"[\t\n\r]"), BLANK: re.compile(r"[ \t\n\r]")}


class Section(NamedTuple):
    """A document: its first line, its name, its part if it has one, and the rows of sentences."""

    line: int
    name: str
    part: str | None
    sentences: list[list[Line]]

    def making(self, names: Names, number: int) -> Making:
        """Begin the document; ``number`` is its place in the file, from 1."""
        if self.part is None:
            made = names.making(self.name or numbered(number))
            if is_counted(self.name):  # it is no place in the file
                made.meta.append((ID, self.name))
            return made
        later = int(self.part) > 0
        made = names.making(f"{self.name}_part{self.part}" if later else self.name)
        made.meta = [(ID, self.name)] if made.name != self.name else []
        made.meta.append((PART, self.part))
        return made


def sections(text: str, path: str) -> Iterator[Section]:
    """Yield the documents; raises ``FormatError``: lines outside of them, one in another."""
    section: Section | None = None
    block: list[Line] = []
    for line in lines(text):
        if "\r" in line.text:
            raise FormatError(path, line.number, "expected no carriage return within a line")
        if section is None:
            section, block = _begun(line, path), []
        elif _END.fullmatch(line.text):
            yield section
            section = None
        elif _PARTED.fullmatch(line.text) or _PLAIN.fullmatch(line.text):
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


def header(document: Document, parted: bool) -> str:
    """Return the line that begins a document."""
    meta = dict(document.meta)
    name = " ".join(own(document).split("\n")).replace("\r", " ")
    if not parted:
        unnamed = is_counted(document.name) and ID not in meta
        return f"# begin document {'' if unnamed else name}"
    return f"#begin document ({name}); part {part(document)}"


def part(document: Document) -> str:
    """Return the number of a document's part as it stands in its file, the first if none is."""
    said = dict(document.meta).get(PART, "")
    return said if re.fullmatch("[0-9]{1,9}", said) else FIRST


def separator_of(text: str) -> str:
    """Return what parts cells."""
    return TAB if TAB in text else BLANK


def cut(line: Line, separator: str) -> list[str]:
    """Return the cells of a row; blanks part them however many they are, tabs one by one."""
    return line.text.split(TAB) if separator == TAB else _BLANKS.split(line.text.strip(" \t"))


def spelt(text: str, separator: str) -> str:
    """Return a text as a cell, which is never empty; what would part or end it is ``_``."""
    made = _BROKEN[separator].sub(NONE, text)
    return made if made.strip() else NONE * max(1, len(made))


def fits(text: str, separator: str) -> bool:
    """Whether a cell is read again as it is written."""
    return _BROKEN[separator].search(text) is None and bool(text or separator == TAB)


def document_cell(name: str, separator: str) -> str:
    """Return a document's name as the first cell of its rows."""
    made = spelt(name, separator)
    return NONE + made[1:] if made.startswith("#") else made


def opening(head: str) -> list[str] | None:
    """Return the cells of the first row of a file of documents, [] if it has none; else None."""
    found = (line for line in lines(head) if line.text.strip())
    first, row = next(found, None), next(found, None)
    if first is None or not (_PARTED.fullmatch(first.text) or _PLAIN.fullmatch(first.text)):
        return None
    return [] if row is None or row.text.startswith("#") else cut(row, separator_of(row.text))


def _begun(line: Line, path: str) -> Section | None:
    """Return the document that begins here, None at a blank line."""
    if not line.text.strip():
        return None
    parted, plain = _PARTED.fullmatch(line.text), _PLAIN.fullmatch(line.text)
    if parted:
        return Section(line.number, parted["name"], parted["part"], [])
    if plain:
        return Section(line.number, plain["name"].strip(), None, [])
    expected = "#begin document (NAME); part 0, or # begin document NAME"
    raise FormatError(path, line.number, f"expected {expected}, got {line.text!r:.60}")
