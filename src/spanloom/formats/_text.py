"""Read text files, report the line of invalid bytes; split text into lines, blocks and cells."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import DocumentError, FormatError

UTF8 = "utf-8"


def text_of(path: Path) -> str:
    """Return the text of a UTF-8 file, line ends as they are; raises ``FormatError``."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
    return decode_text(data, path)


def decode_text(data: bytes, path: Path | str, encoding: str = UTF8) -> str:
    """Decode bytes; raises ``FormatError`` with line and offset of the first wrong byte."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not {encoding}"
        raise FormatError(str(path), line, f"{problem}; {_encoding_hint(data)}") from error
    except LookupError as error:
        raise FormatError(str(path), None, f"unknown encoding {encoding!r}") from error
    except UnicodeError as error:  # of codecs that do not say which byte is wrong
        raise FormatError(str(path), None, f"is not {encoding}: {error}") from error


def _encoding_hint(data: bytes) -> str:
    """Say how bytes that are no UTF-8 may be read, or that they are no text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it begins as UTF-16 does, which --encoding utf-16 reads"
    if b"\0" in data:
        return "it has null bytes, so it is no text, as files of Word and PDF are none"
    return "--encoding NAME reads others, as --encoding latin-1"


TAB, SPACE = "\t", " "
_SPACES = ("separator", "space")  # in meta, if cells are not separated by tabs
ESCAPED = "_"  # for a character that would end a cell, and for an empty cell
_BLANKS = re.compile(r"[ \t]+")
_NOT_IN_CELL = {TAB: re.compile(r"[\t\n\r]"), SPACE: re.compile(r"[ \t\n\r]")}


class Line(NamedTuple):
    """A line without its end, and its number from 1."""

    number: int
    text: str


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; only LF or CRLF ends a line."""
    for number, line in enumerate(text.split("\n"), 1):
        yield Line(number, line.removesuffix("\r"))


@contextmanager
def errors_at(path: str, line: int | None, place: str = "") -> Iterator[None]:
    """Raise ``ValueError``, ``DocumentError`` and ``RecursionError`` as errors of this line.

    ``place`` precedes what is wrong.
    """
    try:
        yield
    except (ValueError, DocumentError) as error:
        raise FormatError(path, line, f"{place}{error}") from error
    except RecursionError as error:
        raise FormatError(path, line, f"{place}nested too deeply") from error


def blocks(text: str) -> Iterator[list[Line]]:
    """Yield runs of consecutive lines that are not blank."""
    block: list[Line] = []
    for line in lines(text):
        if line.text.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def cells(line: Line, path: str, columns: Sequence[str], separator: str | None = "\t") -> list[str]:
    """Return the cells of a line; raises ``FormatError`` unless there is one per column."""
    values = line.text.split(separator)
    if len(values) != len(columns):
        problem = f"expected {len(columns)} columns ({', '.join(columns)}), got {len(values)}"
        raise FormatError(path, line.number, problem)
    return values


def separator_of(text: str) -> str:
    """Return the character that separates cells."""
    return TAB if TAB in text else SPACE


def separator_in_meta(meta: Mapping[str, str]) -> str:
    """Return the separator that a document's meta names, a tab unless it does."""
    key, value = _SPACES
    return SPACE if meta.get(key) == value else TAB


def shared_separator(metas: Iterable[Mapping[str, str]]) -> str:
    """Return the separator of a file of documents: a blank if the meta of each names it."""
    return SPACE if all(separator_in_meta(meta) == SPACE for meta in metas) else TAB


def separator_meta(separator: str) -> list[tuple[str, str]]:
    """Return the meta that names a separator, none for a tab."""
    return [_SPACES] if separator == SPACE else []


def split_row(line: Line, separator: str) -> list[str]:
    """Return the cells of a row, split at each tab or at runs of blanks."""
    return line.text.split(TAB) if separator == TAB else _BLANKS.split(line.text.strip(" \t"))


def escape_cell(text: str, separator: str) -> str:
    """Return a text as a nonempty cell; characters that would end it become ``_``."""
    cell = _NOT_IN_CELL[separator].sub(ESCAPED, text)
    return cell if cell.strip() else ESCAPED * max(1, len(cell))


def fits_cell(text: str, separator: str) -> bool:
    """Whether a text can be written as a cell unchanged."""
    return _NOT_IN_CELL[separator].search(text) is None and bool(text or separator == TAB)
