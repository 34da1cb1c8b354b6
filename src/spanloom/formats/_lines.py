"""Split text into numbered lines, blocks separated by blank lines, and cells."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spanloom.errors import FormatError


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
