"""GLUE's measures of classes and of numbers, as computed by scikit-learn and scipy."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from spanloom.errors import DataError, FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.classification import ClassificationReport, pearson, spearman
from spanloom.metrics.counts import Counts, total
from spanloom.scoring._base import Scorer, Scores

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MAX_NUMBER = 1e100  # larger numbers may overflow when squared and summed
_KINDS = ("classification", "regression")
_BINARY = {"0", "1"}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the measures of classes or numbers, as ``--kind`` or, without it, the values tell.

    Each line is a value. If any value is a number with a decimal point, all are numbers, else they
    are labels. Raises ``FormatError`` for files of unequal length, for no values (fewer than two
    numbers) and for other text among numbers, ``DataError`` for an unknown kind.
    """
    gold_values, predicted_values = _read_values(gold), _read_values(predicted)
    if len(gold_values) != len(predicted_values):
        problem = (
            f"expected {len(gold_values)} values as in {gold.name}, got {len(predicted_values)}"
        )
        raise FormatError(str(predicted), None, problem)
    if _choose_kind(options, [*gold_values, *predicted_values]) == "classification":
        return _classification(_label_pairs(gold_values, predicted_values))
    if len(gold_values) < 2:
        raise FormatError(str(gold), None, "expected at least two numbers, got one")
    return _regression(_to_numbers(gold, gold_values), _to_numbers(predicted, predicted_values))


def table(scores: Scores) -> str:
    """Format one measure per line."""
    rows = {name: value for name, value in scores.items() if not isinstance(value, dict)}
    rows |= {f"f1 of {name}": value for name, value in scores.get("f1_per_label", {}).items()}
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {float(value):.6g}\n" for name, value in rows.items())


def _read_values(path: Path) -> list[str]:
    """Return the lines of a file, none of which is empty."""
    lines = text_of(path).replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    if not all(lines):
        problem = "expected a value a line, got an empty line"
        raise FormatError(str(path), lines.index("") + 1, problem)
    if not lines:
        raise FormatError(str(path), None, "expected a value a line, got no lines")
    return lines


def _choose_kind(options: Mapping[str, str], values: Sequence[str]) -> str:
    """Return the kind of the values, from the option or their spelling."""
    kind = options.get("--kind")
    if kind is None:
        numbers = filter(_NUMBER.fullmatch, set(values))
        return _KINDS[not all(map(_INTEGER.fullmatch, numbers))]
    if kind not in _KINDS:
        raise DataError(f"--kind {kind!r:.60}: expected one of {', '.join(_KINDS)}")
    return kind


def _label_pairs(gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of labels; if all are integers, 01 and +1 become 1."""
    if all(map(_INTEGER.fullmatch, {*gold, *predicted})):
        gold, predicted = ([str(int(value)) for value in side] for side in (gold, predicted))
    return list(zip(gold, predicted, strict=True))


def _to_numbers(path: Path, values: Sequence[str]) -> list[float]:
    """Return the numbers of a file; raises ``FormatError`` for other text and too large ones."""
    if not all(map(_NUMBER.fullmatch, values)) or max(map(abs, map(float, values))) > _MAX_NUMBER:
        for line_number, value in enumerate(values, 1):
            if not _NUMBER.fullmatch(value) or abs(float(value)) > _MAX_NUMBER:
                problem = f"expected a number of at most {_MAX_NUMBER:g}, got {value!r:.60}"
                raise FormatError(str(path), line_number, problem)
    return list(map(float, values))


def _classification(pairs: Sequence[tuple[str, str]]) -> Scores:
    """Return the measures of labels; binary measures are those of label 1."""
    report = ClassificationReport("", tuple(pairs))
    by_label = report.by_label
    if all(map(_INTEGER.fullmatch, by_label)):
        by_label = {label: by_label[label] for label in sorted(by_label, key=int)}
    scores: Scores = {"accuracy": report.accuracy, "mcc": report.mcc}
    if not {*by_label} - _BINARY:
        positive = by_label.get("1", Counts())
        scores |= _averages("binary", positive.f1, positive.precision, positive.recall)
        scores["acc_and_f1"] = (report.accuracy + positive.f1) / 2
    micro = total(by_label.values())
    weights = [counts.gold for counts in by_label.values()]
    columns = [[counts.f1, counts.precision, counts.recall] for counts in by_label.values()]
    return {
        **scores,
        **_averages("macro", *(_mean(column) for column in zip(*columns, strict=True))),
        **_averages("micro", micro.f1, micro.precision, micro.recall),
        **_averages("weighted", *(_mean(column, weights) for column in zip(*columns, strict=True))),
        "f1_per_label": {label: counts.f1 for label, counts in by_label.items()},
    }


def _averages(name: str, f1: float, precision: float, recall: float) -> dict[str, float]:
    """Return F1, precision and recall under scikit-learn's name of an average."""
    return {f"f1_{name}": f1, f"precision_{name}": precision, f"recall_{name}": recall}


def _mean(values: Sequence[float], weights: Sequence[int] | None = None) -> float:
    """Return the mean, summed in numpy's order as in scikit-learn."""
    return float(np.average(np.asarray(values), weights=weights))


def _regression(gold: Sequence[float], predicted: Sequence[float]) -> Scores:
    """Return the measures of numbers; correlations with a constant are nan."""
    gold_values, predicted_values = np.asarray(gold), np.asarray(predicted)
    pearson_r, pearson_p = pearson(gold_values, predicted_values)
    spearman_r, spearman_p = spearman(gold_values, predicted_values)
    return {
        "pearson": _nan_to_text(pearson_r),
        "spearman": _nan_to_text(spearman_r),
        "corr": _nan_to_text((pearson_r + spearman_r) / 2),
        "pearson_p": _nan_to_text(pearson_p),
        "spearman_p": _nan_to_text(spearman_p),
        "mse": float(np.mean((gold_values - predicted_values) ** 2)),
        "mae": float(np.mean(np.abs(gold_values - predicted_values))),
    }


def _nan_to_text(number: float) -> float | str:
    """Return the number, or the word ``nan``, as JSON has no such number."""
    return "nan" if math.isnan(number) else number


KIND = Scorer(name="glue", score=score, table=table, options={"--kind": True})
