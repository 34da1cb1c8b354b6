"""Files of lines: with their numbers, in blocks that blank lines part."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spanloom.errors import FormatError


class Line(NamedTuple):
    """A line without its end, and its number from 1."""

    number: int
    text: str


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; only a line feed ends one, and a carriage return before it."""
    for number, line in enumerate(text.split("\n"), 1):
        yield Line(number, line.removesuffix("\r"))


def blocks(text: str) -> Iterator[list[Line]]:
    """Yield runs of lines that hold more than blanks."""
    block: list[Line] = []
    for line in lines(text):
        if line.text.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def cells(
    line: Line, path: str, expected: Sequence[str], separator: str | None = "\t"
) -> list[str]:
    """Return the cells of a line; ``FormatError`` unless there is one for each name."""
    found = line.text.split(separator)
    if len(found) != len(expected):
        problem = f"expected {len(expected)} columns ({', '.join(expected)}), got {len(found)}"
        raise FormatError(path, line.number, problem)
    return found
