"""conlleval (Tjong Kim Sang, version of 2004-01-26): score chunks in columns of tags."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from spanloom.errors import DataError, FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.chunks import Pair, count_chunks, count_right
from spanloom.metrics.counts import (
    Counts,
    format_ratios,
    percent,
    percentages,
    round_as_printed,
    total,
)
from spanloom.scoring._base import Scorer, Scores

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


_OUTSIDE = "O"


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what the program prints; with ``-l`` the rows of its LaTeX table.

    With ``-r`` each tag is a type and each word a chunk, except for the outside tag, which ``-o``
    names. Without words only counts are returned. Raises the errors of ``tag_pairs``.
    """
    pairs = tag_pairs(gold, predicted, options)
    if "-r" in options:
        outside = {_OUTSIDE, options.get("-o", _OUTSIDE)}
        pairs = [
            pair and (_to_chunk_tag(pair[0], outside), _to_chunk_tag(pair[1], outside))
            for pair in pairs
        ]
    by_type = count_chunks(pairs)
    if "-l" in options:
        rows = [*by_type.items(), ("Overall", total(by_type.values()))]
        return {
            "latex_rows": [
                {"label": label, **format_ratios(percentages(counts))} for label, counts in rows
            ]
        }
    return _to_json(count_right(pairs), by_type)


def phrase_counts(num_words: int, counts: Counts) -> dict[str, int]:
    """Return the number of words and phrases."""
    return {
        "tokens": num_words,
        "gold_phrases": counts.gold,
        "found_phrases": counts.predicted,
        "correct_phrases": counts.hits,
    }


def by_type_rows(by_type: Mapping[str, Counts]) -> dict[str, dict[str, float]]:
    """Return the ratios of each type, and its number of predicted phrases."""
    return {
        label: {**format_ratios(percentages(counts)), "found": counts.predicted}
        for label, counts in by_type.items()
    }


def table(scores: Scores) -> str:
    """Return the lines that the program prints."""
    if "latex_rows" in scores:
        rows = [(row["label"], row) for row in scores["latex_rows"]]
        return "\n".join(f"{label:17}  {_format_ratios(row)}" for label, row in rows) + "\n"
    template = "{tokens} tokens with {gold_phrases} phrases; found: {found_phrases} phrases; "
    lines = [(template + "correct: {correct_phrases}.").format(**scores)]
    if "precision" in scores:
        accuracy = f"accuracy: {scores['accuracy']:6.2f}%; " if "accuracy" in scores else ""
        lines.append(accuracy + _format_ratios(scores))
    types = scores["per_type"].items()
    lines += [f"{label:>17}: {_format_ratios(row)}  {row['found']}" for label, row in types]
    return "\n".join(lines) + "\n"


def _format_ratios(row: Mapping[str, float]) -> str:
    """Return precision, recall and F1 on one line."""
    ratios = (f"{name}: {row[name]:6.2f}%; " for name in ("precision", "recall"))
    return f"{''.join(ratios)}FB1: {row['f1']:6.2f}"


def _to_json(tag_counts: Counts, by_type: Mapping[str, Counts]) -> Scores:
    """Return accuracy, ratios and counts, with the program's rounding."""
    overall = total(by_type.values())
    scores: Scores = dict(phrase_counts(tag_counts.gold, overall))
    if tag_counts.gold:
        scores["accuracy"] = round_as_printed(percent(tag_counts.hits, tag_counts.gold))
        scores |= format_ratios(percentages(overall))
    return scores | {"per_type": by_type_rows(by_type)}


def _to_chunk_tag(tag: str, outside: set[str]) -> str:
    """Return a tag of ``-r`` as a chunk of one word."""
    return _OUTSIDE if tag in outside else f"B-{tag}"


KIND = Scorer(
    name="conlleval",
    score=score,
    table=table,
    options={"-r": False, "-l": False, "-d": True, "-o": True},
)
