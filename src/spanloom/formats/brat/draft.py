"""Raw lines of a document's annotation files, the state of parsing them, and their problems."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from spanloom.formats.brat.ann_grammar import ParsedLine
from spanloom.formats.brat.offsets import MARK
from spanloom.quantity import quantity


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a line (counted from 1; None: of the file).

    ``path`` is the document's name, ``file`` the suffix of the file; ``kept``: the line has no
    annotation and is written back unchanged.
    """

    path: str
    line: int | None
    file: str
    message: str
    kept: bool = True

    def __str__(self) -> str:
        """``name.ann:3: what is wrong``, and whether the line was read all the same."""
        path = f"{self.path}{self.file}"
        if self.line is None:
            return f"{path}: {self.message}"
        return f"{path}:{self.line}: {self.message}{'; not read' if self.kept else ''}"


def problems_note(count: int) -> str:
    """Return what is said of so many problems in the files of a corpus."""
    return f"{quantity(count, 'problem')} in its files (spanloom check tells which)"


class Line(NamedTuple):
    """A raw line, its line end, its file's suffix and its number."""

    raw: str
    end: str
    file: str
    number: int


@dataclass(slots=True)
class AnnFileParse:
    """The parse of a document's files; ``parsed[i]`` is None if line i has no annotation."""

    name: str
    text: str
    lines: list[Line]
    parsed: list[ParsedLine | None]
    problems: list[Problem]

    def report(self, index: int, message: str, *, kept: bool = True) -> None:
        """Record a problem of a line; ``kept``: the line gets no annotation."""
        line = self.lines[index]
        self.problems.append(Problem(self.name, line.number, line.file, message, kept))
        if kept:
            self.parsed[index] = None


def split_lines(content: str, file: str) -> Iterator[Line]:
    """Split at line feeds only (at carriage returns if there is no line feed), dropping nothing."""
    if content.startswith(MARK):
        yield Line(MARK, "", file, 0)
        content = content[1:]
    end = "\n" if "\n" in content or "\r" not in content else "\r"
    parts = content.split(end)
    rest = parts.pop()
    number = 0
    for number, part in enumerate(parts, start=1):
        if part.endswith("\r"):
            yield Line(part[:-1], "\r" + end, file, number)
        else:
            yield Line(part, end, file, number)
    if rest:
        raw = rest.removesuffix("\r")
        yield Line(raw, rest[len(raw) :], file, number + 1)
