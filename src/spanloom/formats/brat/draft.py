"""The lines of a document while it is being read, and what is wrong with them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from spanloom.formats.brat.lines import Said
from spanloom.formats.brat.offsets import MARK


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a line (from 1; None: the file) that its writer should know.

    ``path`` is the document's name, ``file`` the suffix of the file; ``kept``: the line made no
    annotation and is written back as it stands.
    """

    path: str
    line: int | None
    file: str
    message: str
    kept: bool = True

    def __str__(self) -> str:
        """``name.ann:3: what is wrong``."""
        place = f"{self.path}{self.file}"
        return (
            f"{place}: {self.message}"
            if self.line is None
            else f"{place}:{self.line}: {self.message}"
        )


class Line(NamedTuple):
    """A raw line and where it stood."""

    raw: str
    end: str
    file: str
    number: int


@dataclass(slots=True)
class Draft:
    """The lines of a document while it is read; ``said`` is None for a line that says nothing."""

    name: str
    text: str
    lines: list[Line]
    said: list[Said | None]
    problems: list[Problem]

    def report(self, index: int, message: str, *, kept: bool = True) -> None:
        """Note a problem of a line; ``kept``: the line makes no annotation."""
        line = self.lines[index]
        self.problems.append(Problem(self.name, line.number, line.file, message, kept))
        if kept:
            self.said[index] = None


def cut(content: str, file: str) -> Iterator[Line]:
    """Cut at line feeds only (at carriage returns where there is no line feed); drops nothing."""
    if content.startswith(MARK):
        yield Line(MARK, "", file, 0)
        content = content[1:]
    end = "\n" if "\n" in content or "\r" not in content else "\r"
    pieces = content.split(end)
    last = pieces.pop()
    number = 0
    for number, piece in enumerate(pieces, start=1):
        if piece.endswith("\r"):
            yield Line(piece[:-1], "\r" + end, file, number)
        else:
            yield Line(piece, end, file, number)
    if last:
        bare = last.removesuffix("\r")
        yield Line(bare, last[len(bare) :], file, number + 1)
