"""Two columns of tags out of the files that conlleval is given."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from spanloom.errors import DataError, FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.chunks import Pair

Row = list[str]
Split = Callable[[str], Row]

_BOUNDARY = "-X-"  # as a first column: the end of a sentence, as an empty line is
_SPECIAL = frozenset(r".^$*+?{}[]\|()")


def tag_pairs(gold: Path, predicted: Path, options: Mapping[str, str]) -> list[Pair | None]:
    """Return the gold and the predicted tag of each word; None is the end of a sentence.

    One path twice is the program's own input: words, gold tags, predicted tags. Else each file has
    its tags in its last column, and the words of both stand in the same lines. Columns are parted
    by ``-d`` (a regular expression), else by a blank; in two files by a tab where the first line
    has one. Raises ``FormatError`` for lines of too few or uneven columns, and for files that do
    not match.
    """
    if gold.resolve() == predicted.resolve():
        split = _splitter(options.get("-d", " "))
        rows = _rows(text_of(gold).removesuffix("\n").split("\n"), split, gold, least=2)
        return [(row[-2], row[-1]) if row else None for row in rows]
    return list(_joined(_lines(gold, options), _lines(predicted, options), gold, predicted))


def _lines(path: Path, options: Mapping[str, str]) -> Iterator[Row]:
    """Yield the columns of a file of one side; empty lines at its end are left out."""
    lines = text_of(path).replace("\r\n", "\n").rstrip("\n").split("\n")
    mark = "\t" if any("\t" in line for line in lines[:1]) else " "
    return _rows(lines, _splitter(options.get("-d", mark)), path, least=1)


def _rows(lines: list[str], split: Split, path: Path, least: int) -> Iterator[Row]:
    """Yield the columns of each line, none at the end of a sentence."""
    width = 0
    for number, line in enumerate(lines, 1):
        row = split(line)
        while row and not row[-1]:
            row.pop()
        if len(row) != width and row:
            if width:
                problem = f"expected {width} columns as in the lines before, got {line!r:.60}"
                raise FormatError(str(path), number, problem)
            width = len(row)
        if row and row[0] == _BOUNDARY:
            row = []
        if row and width < least:
            raise FormatError(str(path), number, f"expected {least} columns, got {line!r:.60}")
        yield row


def _joined(
    gold: Iterator[Row], predicted: Iterator[Row], path: Path, other: Path
) -> Iterator[Pair | None]:
    """Yield the last columns of lines that speak of the same word."""
    empty: Row = []
    for number, (one, two) in enumerate(zip_longest(gold, predicted, fillvalue=empty), 1):
        if one and two and (one[0] == two[0] or 1 in (len(one), len(two))):
            yield one[-1], two[-1]
        elif one or two:
            wanted = f"{one[0]!r:.40}" if one else "the end of a sentence"
            came = f"{two[0]!r:.40}" if two else "the end of a sentence"
            problem = f"expected {wanted} as in {path.name}, got {came}"
            raise FormatError(str(other), number, problem)
        else:
            yield None


def _splitter(delimiter: str) -> Split:
    """Return what cuts a line into columns; a lone blank parts two columns, two blanks three."""
    try:
        pattern = re.compile(delimiter)
    except re.error as error:
        problem = f"-d {delimiter!r:.60}: expected a regular expression: {error}"
        raise DataError(problem) from error
    if pattern.match("") or pattern.groups:
        problem = f"-d {delimiter!r:.60}: expected what is not empty and has no groups"
        raise DataError(problem)
    if not _SPECIAL.intersection(delimiter):
        return lambda line: line.split(delimiter)
    return pattern.split
