"""Read text files, report the line of invalid bytes; split text into lines, blocks and cells."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import FormatError


def text_of(path: Path) -> str:
    """Return the text of a UTF-8 file, line ends as they are; raises ``FormatError``."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
    return decoded(data, path)


def decoded(data: bytes, path: Path, encoding: str = "utf-8") -> str:
    """Decode bytes; raises ``FormatError`` with the line of the first wrong byte."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not utf-8"
        raise FormatError(str(path), line, problem) from error


class Line(NamedTuple):
    """A line without its end, and its number from 1."""

    number: int
    text: str


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; only LF or CRLF ends a line."""
    for number, line in enumerate(text.split("\n"), 1):
        yield Line(number, line.removesuffix("\r"))


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
