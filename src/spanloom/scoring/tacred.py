"""The scorer of TACRED (Zhang et al. 2017): micro F1 of relations without ``no_relation``."""

from collections.abc import Mapping
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.counts import Counts, total
from spanloom.metrics.percentages import harmonic
from spanloom.metrics.relation_labels import count_relations
from spanloom.scoring._base import Scorer, Scores

_NONE = "no_relation"


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return micro and per-relation ratios in percent, of the relations that gold has.

    A line is a label, blanks and case included. The precision of what was never predicted is 100.
    Raises ``FormatError`` where the files have not the same number of lines.
    """
    right, guesses = _labels(gold), _labels(predicted)
    if len(right) != len(guesses):
        problem = f"expected {len(right)} labels as in {gold.name}, got {len(guesses)}"
        raise FormatError(str(predicted), None, problem)
    relations = count_relations(zip(right, guesses, strict=True), _NONE)
    return {
        "micro": _ratios(total(relations.values()), digits=3),
        "per_relation": {
            label: {**_ratios(each, digits=2), "gold": each.gold}
            for label, each in relations.items()
            if each.gold
        },
    }


def table(scores: Scores) -> str:
    """Return one line a relation, then the micro average."""
    rows = scores["per_relation"].items()
    width = max([len("micro"), *(len(label) for label, _ in rows)])
    lines = [f"{label:{width}}  {_line(row, 2)}  #: {row['gold']}" for label, row in rows]
    return "\n".join([*lines, f"{'micro':{width}}  {_line(scores['micro'], 3)}"]) + "\n"


def _line(row: Mapping[str, float], digits: int) -> str:
    names = {"P": "precision", "R": "recall", "F1": "f1"}
    return "  ".join(f"{key}: {row[name]:7.{digits}f}%" for key, name in names.items())


def _labels(path: Path) -> list[str]:
    """Return the lines of a text file; each of the three line ends is one."""
    lines = text_of(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _ratios(counts: Counts, digits: int) -> dict[str, float]:
    precision = counts.precision if counts.predicted else 1.0
    f1 = harmonic(precision, counts.recall)
    ratios = {"precision": precision, "recall": counts.recall, "f1": f1}
    return {name: float(f"{value:.{digits}%}"[:-1]) for name, value in ratios.items()}


KIND = Scorer(name="tacred", score=score, table=table)
