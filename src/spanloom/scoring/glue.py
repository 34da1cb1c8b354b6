"""GLUE's measures of classes and of numbers, as scikit-learn and scipy compute them."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from spanloom.errors import DataError, FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.correlation import pearson, pearson_p, spearman, spearman_p
from spanloom.metrics.counts import Counts, total
from spanloom.metrics.judgements import Classes
from spanloom.scoring._base import Scorer, Scores

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_GREATEST = 1e100  # what can be squared and added up
_KINDS = ("classification", "regression")
_BINARY = {"0", "1"}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the measures of classes, or of numbers; ``--kind`` says which, else the files do.

    A line is a value. Where one of them is a number with a decimal point, all are numbers, else
    they are labels. Raises ``FormatError`` for files of unequal length, for no values (fewer than
    two numbers) and for what is no number among numbers, ``DataError`` for another kind.
    """
    known, guessed = _values(gold), _values(predicted)
    if len(known) != len(guessed):
        problem = f"expected {len(known)} values as in {gold.name}, got {len(guessed)}"
        raise FormatError(str(predicted), None, problem)
    if _kind(options, [*known, *guessed]) == "classification":
        return _classification(_labels(known, guessed))
    if len(known) < 2:
        raise FormatError(str(gold), None, "expected at least two numbers, got one")
    return _regression(_numbers(gold, known), _numbers(predicted, guessed))


def table(scores: Scores) -> str:
    """Return one measure a line."""
    rows = {name: value for name, value in scores.items() if not isinstance(value, dict)}
    rows |= {f"f1 of {name}": value for name, value in scores.get("f1_per_label", {}).items()}
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {float(value):.6g}\n" for name, value in rows.items())


def _values(path: Path) -> list[str]:
    """Return the lines of a file, none of them empty."""
    lines = text_of(path).replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    if not all(lines):
        problem = "expected a value a line, got an empty line"
        raise FormatError(str(path), lines.index("") + 1, problem)
    if not lines:
        raise FormatError(str(path), None, "expected a value a line, got no lines")
    return lines


def _kind(options: Mapping[str, str], values: Sequence[str]) -> str:
    """Return what the values are, as it is told or as they are spelt."""
    told = options.get("--kind")
    if told is None:
        numbers = filter(_NUMBER.fullmatch, set(values))
        return _KINDS[not all(map(_WHOLE.fullmatch, numbers))]
    if told not in _KINDS:
        raise DataError(f"--kind {told!r:.60}: expected one of {', '.join(_KINDS)}")
    return told


def _labels(known: Sequence[str], guessed: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of labels; where all are whole numbers, 01 and +1 are 1."""
    if all(map(_WHOLE.fullmatch, {*known, *guessed})):
        known, guessed = ([str(int(value)) for value in side] for side in (known, guessed))
    return list(zip(known, guessed, strict=True))


def _numbers(path: Path, values: Sequence[str]) -> list[float]:
    """Return the numbers of a file; raises ``FormatError`` for what is none, or too great."""
    if not all(map(_NUMBER.fullmatch, values)) or max(map(abs, map(float, values))) > _GREATEST:
        for place, value in enumerate(values, 1):
            if not _NUMBER.fullmatch(value) or abs(float(value)) > _GREATEST:
                problem = f"expected a number of at most {_GREATEST:g}, got {value!r:.60}"
                raise FormatError(str(path), place, problem)
    return list(map(float, values))


def _classification(pairs: Sequence[tuple[str, str]]) -> Scores:
    """Return the measures of labels; a binary one is that of label 1."""
    classes = Classes("", tuple(pairs))
    by_label = classes.by_label
    if all(map(_WHOLE.fullmatch, by_label)):
        by_label = {label: by_label[label] for label in sorted(by_label, key=int)}
    scores: Scores = {"accuracy": classes.accuracy, "mcc": classes.matthews}
    if not {*by_label} - _BINARY:
        one = by_label.get("1", Counts())
        scores |= _ratios("binary", one.f1, one.precision, one.recall)
        scores["acc_and_f1"] = (classes.accuracy + one.f1) / 2
    micro = total(by_label.values())
    weights = [each.gold for each in by_label.values()]
    columns = [[each.f1, each.precision, each.recall] for each in by_label.values()]
    return {
        **scores,
        **_ratios("macro", *(_mean(column) for column in zip(*columns, strict=True))),
        **_ratios("micro", micro.f1, micro.precision, micro.recall),
        **_ratios("weighted", *(_mean(column, weights) for column in zip(*columns, strict=True))),
        "f1_per_label": {label: each.f1 for label, each in by_label.items()},
    }


def _ratios(name: str, f1: float, precision: float, recall: float) -> dict[str, float]:
    return {f"f1_{name}": f1, f"precision_{name}": precision, f"recall_{name}": recall}


def _mean(values: Sequence[float], weights: Sequence[int] | None = None) -> float:
    """Return the mean, added up in numpy's order as scikit-learn does."""
    return float(np.average(np.asarray(values), weights=weights))


def _regression(gold: Sequence[float], predicted: Sequence[float]) -> Scores:
    """Return the measures of numbers; correlations with a constant are nan."""
    one, two = np.asarray(gold), np.asarray(predicted)
    linear, ranked = pearson(one, two), spearman(one, two)
    return {
        "pearson": _told(linear),
        "spearman": _told(ranked),
        "corr": _told((linear + ranked) / 2),
        "pearson_p": _told(pearson_p(linear, len(one))),
        "spearman_p": _told(spearman_p(ranked, len(one))),
        "mse": float(np.mean((one - two) ** 2)),
        "mae": float(np.mean(np.abs(one - two))),
    }


def _told(number: float) -> float | str:
    """Return the number, or the word ``nan``, which JSON has no number for."""
    return "nan" if math.isnan(number) else number


KIND = Scorer(name="glue", score=score, table=table, options={"--kind": True})
