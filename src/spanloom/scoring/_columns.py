"""Read gold and predicted tags from the column files of conlleval."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from spanloom.errors import DataError, FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.chunks import Pair

Row = list[str]
Split = Callable[[str], Row]

_BOUNDARY = "-X-"  # in the first column: end of a sentence, like an empty line
_SPECIAL = frozenset(r".^$*+?{}[]\|()")


def tag_pairs(gold: Path, predicted: Path, options: Mapping[str, str]) -> list[Pair | None]:
    """Return the gold and predicted tag of each word; None marks the end of a sentence.

    If both paths are equal, the file is the program's own input: words, gold tags, predicted tags.
    Otherwise each file has its tags in the last column, and both have the same words on the same
    lines. Columns are separated by ``-d`` (a regular expression), by default a blank; in two
    files a tab if the first line has one. Raises ``FormatError`` for too few columns, for uneven
    ones, and for files that do not match.
    """
    if gold.resolve() == predicted.resolve():
        split = _splitter(options.get("-d", " "))
        rows = _split_rows(text_of(gold).removesuffix("\n").split("\n"), split, gold, min_columns=2)
        return [(row[-2], row[-1]) if row else None for row in rows]
    return list(
        _merge_columns(_read_side(gold, options), _read_side(predicted, options), gold, predicted)
    )


def _read_side(path: Path, options: Mapping[str, str]) -> Iterator[Row]:
    """Yield the columns of one side's file, without the empty lines at its end."""
    lines = text_of(path).replace("\r\n", "\n").rstrip("\n").split("\n")
    delimiter = "\t" if any("\t" in line for line in lines[:1]) else " "
    return _split_rows(lines, _splitter(options.get("-d", delimiter)), path, min_columns=1)


def _split_rows(lines: list[str], split: Split, path: Path, min_columns: int) -> Iterator[Row]:
    """Yield the columns of each line, an empty list at the end of a sentence."""
    num_columns = 0
    for number, line in enumerate(lines, 1):
        row = split(line)
        while row and not row[-1]:
            row.pop()
        if len(row) != num_columns and row:
            if num_columns:
                problem = f"expected {num_columns} columns as in the lines before, got {line!r:.60}"
                raise FormatError(str(path), number, problem)
            num_columns = len(row)
        if row and row[0] == _BOUNDARY:
            row = []
        if row and num_columns < min_columns:
            raise FormatError(
                str(path), number, f"expected {min_columns} columns, got {line!r:.60}"
            )
        yield row


def _merge_columns(
    gold: Iterator[Row], predicted: Iterator[Row], gold_path: Path, predicted_path: Path
) -> Iterator[Pair | None]:
    """Yield the last columns of the lines with the same word."""
    empty: Row = []
    for number, (gold_row, predicted_row) in enumerate(
        zip_longest(gold, predicted, fillvalue=empty), 1
    ):
        if (
            gold_row
            and predicted_row
            and (gold_row[0] == predicted_row[0] or 1 in (len(gold_row), len(predicted_row)))
        ):
            yield gold_row[-1], predicted_row[-1]
        elif gold_row or predicted_row:
            expected = f"{gold_row[0]!r:.40}" if gold_row else "the end of a sentence"
            got = f"{predicted_row[0]!r:.40}" if predicted_row else "the end of a sentence"
            problem = f"expected {expected} as in {gold_path.name}, got {got}"
            raise FormatError(str(predicted_path), number, problem)
        else:
            yield None


def _splitter(delimiter: str) -> Split:
    """Return the function that splits a line into columns; every single blank is a delimiter."""
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
