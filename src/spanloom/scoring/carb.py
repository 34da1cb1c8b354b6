"""CaRB (Bhardwaj et al. 2019): score tuples of open information extraction by their words.

::

    gold         sentence→relation→argument→argument…
    predictions  sentence→confidence→relation→argument…

→ is a tab. The program has one matcher per option; all are scored, but ``--strictMatch`` only on
request, as it rejects any pair without a match.
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
_CONTEXT = "C: "  # in gold: prefix of context arguments, which are not scored
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
_BRACKET_TOKEN = re.compile("-([LR])([RSC])B-")
_BRACKET_CHARACTER = {"LR": "(", "RR": ")", "LS": "[", "RS": "]", "LC": "{", "RC": "}"}
_DIGITS = 3


class _Variant(NamedTuple):
    """The program with an option: how it transforms tuples first, and how it compares them."""

    options: tuple[str, ...]
    transform: Callable[[Extracted], Extracted]
    match: Match


def _keep_extraction(extracted: Extracted) -> Extracted:
    return extracted


_VARIANTS = {
    "default": _Variant((), _keep_extraction, lenient),
    "binary": _Variant(("--binary",), binary, lenient),
    "simpleMatch": _Variant(("--simpleMatch",), _keep_extraction, simple),
    "strictMatch": _Variant((_STRICT,), _keep_extraction, strict),
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what the program prints and writes with each of its options.

    Raises ``FormatError`` for missing columns or a confidence that is no number; a matcher that
    rejects some pair has ``error`` instead of numbers, as in the program.
    """
    gold_tuples, predicted_tuples = _read_gold(gold), _read_predictions(predicted)
    return {
        name: _score_variant(variant, gold_tuples, predicted_tuples)
        for name, variant in _VARIANTS.items()
        if _STRICT not in variant.options or _STRICT in options
    }


def table(scores: Scores) -> str:
    """Format one line per matcher: area under the curve, then the point of the best F1."""
    width = max(map(len, scores))
    lines = [f"{'':{width}}    AUC      P      R     F1"]
    for name, result in scores.items():
        if "error" in result:
            lines.append(f"{name:{width}}  {result['error']}")
        else:
            numbers = (result["auc"], *result["optimal"])
            lines.append(f"{name:{width}}{''.join(f'{100 * number:7.1f}' for number in numbers)}")
    return "\n".join(lines) + "\n"


def _score_variant(variant: _Variant, gold: Extracted, predicted: Extracted) -> Scores:
    """Return the program's results with one of its options."""
    try:
        points = curve(variant.transform(gold), variant.transform(predicted), variant.match)
    except NoMatchError as error:
        return {"options": [*variant.options], "exit_code": 1, "error": str(error)}
    auc, optimal, printed = _format_point(points)
    return {
        "options": [*variant.options],
        "exit_code": 0,
        "auc": auc,
        "optimal": optimal,
        "curve_columns": ["precision", "recall", "confidence"],
        "curve": [list(point) for point in sorted(points, key=lambda point: point.recall)],
        "printed": printed,
    }


def _format_point(points: Sequence[Point]) -> tuple[float, list[float], str]:
    """Return the area, the point of the best F1 and the line that the program prints for both."""
    template = "AUC: {}\t Optimal (precision, recall, F1): {}"
    if not points:
        return 0, [0, 0, 0], template.format(0, (0, 0, 0))
    auc = np.round(_area_under_curve(points), _DIGITS)
    optimal = np.round(_best_f1_point(points), _DIGITS)
    return float(auc), optimal.tolist(), template.format(auc, optimal)


def _area_under_curve(points: Sequence[Point]) -> np.float64:
    """Return the area by trapezoids, from the lowest confidence to precision 1 and recall 0."""
    recall = np.array([*(point.recall for point in points), 0.0])
    precision = np.array([*(point.precision for point in points), 1.0])
    return np.float64(-(np.diff(recall) * (precision[1:] + precision[:-1]) / 2.0).sum() + 0.0)


def _best_f1_point(points: Sequence[Point]) -> tuple[float, float, float]:
    """Return the first point of the best F1; zeros if all points are 0/0."""
    points_with_f1 = [
        (point.precision, point.recall, 2 * point.precision * point.recall / total)
        for point in points
        if (total := point.precision + point.recall)
    ]
    return max(points_with_f1, key=lambda point: point[2]) if points_with_f1 else (0, 0, 0)


def _read_gold(path: Path) -> dict[str, list[Tuple]]:
    """Return the gold tuples of each sentence."""
    by_sentence: dict[str, list[Tuple]] = {}
    for _, (sentence, relation, *arguments) in _read_rows(path, ("sentence", "relation")):
        kept_arguments = tuple(argument for argument in arguments if _CONTEXT not in argument)
        by_sentence.setdefault(sentence.strip(), []).append(Tuple(relation, kept_arguments))
    return _by_sentence_key(by_sentence)


def _read_predictions(path: Path) -> dict[str, list[Tuple]]:
    """Return the predicted tuples of each sentence; raises ``FormatError`` for a bad confidence."""
    by_sentence: dict[str, list[Tuple]] = {}
    columns = ("sentence", "confidence", "relation")
    for number, (sentence, confidence_cell, relation, *arguments) in _read_rows(path, columns):
        confidence = _to_float(confidence_cell)
        if isnan(confidence):
            raise FormatError(str(path), number, f"expected a number, got {confidence_cell!r:.60}")
        by_sentence.setdefault(sentence, []).append(Tuple(relation, (*arguments,), confidence))
    return _by_sentence_key(by_sentence)


def _to_float(text: str) -> float:
    """Return the number of a cell, nan for any other text."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line; raises ``FormatError`` if it lacks columns."""
    lines = text_of(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
        cells = line.strip().split("\t")
        if len(cells) < len(columns):
            problem = f"expected {', '.join(columns)} parted by tabs, got {line!r:.60}"
            raise FormatError(str(path), number, problem)
        yield number, cells


def _by_sentence_key(by_sentence: Mapping[str, list[Tuple]]) -> dict[str, list[Tuple]]:
    """Return tuples by sentence without blanks and punctuation; the last of equal ones counts."""
    return {_sentence_key(sentence): tuples for sentence, tuples in by_sentence.items()}


def _sentence_key(sentence: str) -> str:
    """Return a sentence without blanks, brackets and punctuation."""
    without_blanks = sentence.replace(" ", "")
    return _PUNCTUATION.sub(
        "",
        _BRACKET_TOKEN.sub(lambda match: _BRACKET_CHARACTER[match[1] + match[2]], without_blanks),
    )


KIND = Scorer("carb", score, table, {"--binary": False, "--simpleMatch": False, _STRICT: False})
