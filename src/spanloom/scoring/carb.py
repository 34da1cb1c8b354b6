"""CaRB (Bhardwaj et al. 2019): tuples of open information extraction, by their words.

::

    gold         sentence→relation→argument→argument…
    predictions  sentence→confidence→relation→argument…

→ is a tab. The program has a matcher an option; all of them are scored, ``--strictMatch`` if it is
asked for, as it refuses any pair without a match.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.tuples import (
    Extracted,
    Match,
    NoMatchError,
    Point,
    Tuple,
    binary,
    curve,
    lenient,
    simple,
    strict,
)
from spanloom.scoring._base import Scorer, Scores

_STRICT = "--strictMatch"
_CONTEXT = "C: "  # in gold: an argument that says when the tuple holds is left out
_MARKS = re.compile(f"[{re.escape(string.punctuation)}]")
_BRACKETS = re.compile("-([LR])([RSC])B-")
_OPENING = {"LR": "(", "RR": ")", "LS": "[", "RS": "]", "LC": "{", "RC": "}"}
_DIGITS = 3


class _Variant(NamedTuple):
    """The program with an option: what it makes of tuples first, and how it compares them."""

    options: tuple[str, ...]
    made: Callable[[Extracted], Extracted]
    match: Match


def _same(extracted: Extracted) -> Extracted:
    return extracted


_VARIANTS = {
    "default": _Variant((), _same, lenient),
    "binary": _Variant(("--binary",), binary, lenient),
    "simpleMatch": _Variant(("--simpleMatch",), _same, simple),
    "strictMatch": _Variant((_STRICT,), _same, strict),
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what the program prints and writes with each of its options.

    Raises ``FormatError`` for a line without its columns or a confidence that is no number; a
    matcher that refuses some pair has ``error`` instead of numbers, as the program has then.
    """
    right, found = _gold(gold), _predicted(predicted)
    return {
        name: _scored(each, right, found)
        for name, each in _VARIANTS.items()
        if _STRICT not in each.options or _STRICT in options
    }


def table(scores: Scores) -> str:
    """Return a line a matcher: area under the curve, then the point of the best F1."""
    width = max(map(len, scores))
    lines = [f"{'':{width}}    AUC      P      R     F1"]
    for name, each in scores.items():
        if "error" in each:
            lines.append(f"{name:{width}}  {each['error']}")
        else:
            numbers = (each["auc"], *each["optimal"])
            lines.append(f"{name:{width}}{''.join(f'{100 * number:7.1f}' for number in numbers)}")
    return "\n".join(lines) + "\n"


def _scored(variant: _Variant, gold: Extracted, found: Extracted) -> Scores:
    try:
        points = curve(variant.made(gold), variant.made(found), variant.match)
    except NoMatchError as error:
        return {"options": [*variant.options], "exit_code": 1, "error": str(error)}
    auc, optimal, printed = _printed(points)
    return {
        "options": [*variant.options],
        "exit_code": 0,
        "auc": auc,
        "optimal": optimal,
        "curve_columns": ["precision", "recall", "confidence"],
        "curve": [list(point) for point in sorted(points, key=lambda each: each.recall)],
        "printed": printed,
    }


def _printed(points: Sequence[Point]) -> tuple[float, list[float], str]:
    """Return the area, the point of the best F1 and the line that the program prints of both."""
    form = "AUC: {}\t Optimal (precision, recall, F1): {}"
    if not points:
        return 0, [0, 0, 0], form.format(0, (0, 0, 0))
    auc = np.round(_area(points), _DIGITS)
    optimal = np.round(_best(points), _DIGITS)
    return float(auc), optimal.tolist(), form.format(auc, optimal)


def _area(points: Sequence[Point]) -> np.float64:
    """Return the area by trapezoids, from the lowest confidence to precision 1 and recall 0."""
    recall = np.array([*(each.recall for each in points), 0.0])
    precision = np.array([*(each.precision for each in points), 1.0])
    return np.float64(-(np.diff(recall) * (precision[1:] + precision[:-1]) / 2.0).sum() + 0.0)


def _best(points: Sequence[Point]) -> tuple[float, float, float]:
    """Return the first point of the best F1; zeros where there is none but 0/0."""
    rated = [
        (each.precision, each.recall, 2 * each.precision * each.recall / both)
        for each in points
        if (both := each.precision + each.recall)
    ]
    return max(rated, key=lambda each: each[2]) if rated else (0, 0, 0)


def _gold(path: Path) -> dict[str, list[Tuple]]:
    found: dict[str, list[Tuple]] = {}
    for _, (sentence, relation, *arguments) in _lines(path, ("sentence", "relation")):
        kept = tuple(each for each in arguments if _CONTEXT not in each)
        found.setdefault(sentence.strip(), []).append(Tuple(relation, kept))
    return _by_letters(found)


def _predicted(path: Path) -> dict[str, list[Tuple]]:
    found: dict[str, list[Tuple]] = {}
    columns = ("sentence", "confidence", "relation")
    for number, (sentence, sure, relation, *arguments) in _lines(path, columns):
        confidence = _number(sure)
        if isnan(confidence):
            raise FormatError(str(path), number, f"expected a number, got {sure!r:.60}")
        found.setdefault(sentence, []).append(Tuple(relation, (*arguments,), confidence))
    return _by_letters(found)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line; raises ``FormatError`` where it lacks some columns."""
    lines = text_of(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
        cells = line.strip().split("\t")
        if len(cells) < len(columns):
            problem = f"expected {', '.join(columns)} parted by tabs, got {line!r:.60}"
            raise FormatError(str(path), number, problem)
        yield number, cells


def _by_letters(found: Mapping[str, list[Tuple]]) -> dict[str, list[Tuple]]:
    """Return tuples by what blanks and marks leave of a sentence; of two alike the last counts."""
    return {_letters(sentence): each for sentence, each in found.items()}


def _letters(sentence: str) -> str:
    bare = sentence.replace(" ", "")
    return _MARKS.sub("", _BRACKETS.sub(lambda each: _OPENING[each[1] + each[2]], bare))


KIND = Scorer("carb", score, table, {"--binary": False, "--simpleMatch": False, _STRICT: False})
