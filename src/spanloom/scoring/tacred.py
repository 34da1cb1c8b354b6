"""The scorer of TACRED (Zhang et al. 2017): micro F1 of relations other than ``no_relation``."""

from collections.abc import Mapping
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.classification import ClassificationReport
from spanloom.metrics.counts import Counts, harmonic, total
from spanloom.scoring._base import Scorer, Scores

_NONE = "no_relation"


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return micro-averaged ratios in percent, and those of each relation in gold.

    Each line is a label, blanks and case included. The precision of a relation that was never
    predicted is 100. Raises ``FormatError`` if the files differ in their number of lines.
    """
    gold_labels, predicted_labels = _read_labels(gold), _read_labels(predicted)
    if len(gold_labels) != len(predicted_labels):
        problem = (
            f"expected {len(gold_labels)} labels as in {gold.name}, got {len(predicted_labels)}"
        )
        raise FormatError(str(predicted), None, problem)
    pairs = tuple(zip(gold_labels, predicted_labels, strict=True))
    relations = ClassificationReport("", pairs, negative_label=_NONE).positive
    return {
        "micro": _ratios(total(relations.values()), digits=3),
        "per_relation": {
            label: {**_ratios(counts, digits=2), "gold": counts.gold}
            for label, counts in relations.items()
            if counts.gold
        },
    }


def table(scores: Scores) -> str:
    """Format one line per relation, then the micro average."""
    rows = scores["per_relation"].items()
    width = max([len("micro"), *(len(label) for label, _ in rows)])
    lines = [f"{label:{width}}  {_format_ratios(row, 2)}  #: {row['gold']}" for label, row in rows]
    return "\n".join([*lines, f"{'micro':{width}}  {_format_ratios(scores['micro'], 3)}"]) + "\n"


def _format_ratios(row: Mapping[str, float], digits: int) -> str:
    """Return precision, recall and F1 on one line."""
    names = {"P": "precision", "R": "recall", "F1": "f1"}
    return "  ".join(f"{key}: {row[name]:7.{digits}f}%" for key, name in names.items())


def _read_labels(path: Path) -> list[str]:
    """Return the lines of a text file with any of the three line ends."""
    lines = text_of(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _ratios(counts: Counts, digits: int) -> dict[str, float]:
    """Return precision, recall and F1 in percent, rounded as the program prints them."""
    precision = counts.precision if counts.predicted else 1.0
    f1 = harmonic(precision, counts.recall)
    ratios = {"precision": precision, "recall": counts.recall, "f1": f1}
    return {name: float(f"{value:.{digits}%}"[:-1]) for name, value in ratios.items()}


KIND = Scorer(name="tacred", score=score, table=table)
