"""``ud-eval``: the official program of Universal Dependencies (CoNLL 2018, IWPT 2020).

It reads two CoNLL-U files of the same characters; ``metrics.universal_dependencies`` documents
the measures.
"""

from bisect import bisect_right
from collections.abc import Mapping
from os.path import commonprefix
from pathlib import Path

from spanloom.errors import DataError, FormatError
from spanloom.metrics.universal_dependencies import Measure, compare
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._ud_treebank import RULES, Rule, Strictness, TreebankFile, read

_ENHANCED = ("ELAS", "EULAS")
_PRINTED = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS", "MLAS", "BLEX", *_ENHANCED),
)
_HEADLINES = {
    "LAS": "LAS F1 Score",
    "MLAS": "MLAS Score",
    "BLEX": "BLEX Score",
    "ELAS": "ELAS F1 Score",
    "EULAS": "EULAS F1 Score",
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the printed values, in percent and as counts, and every ratio in full precision."""
    strictness = Strictness(
        _rules(options.get("--enhancements", "0")),
        not options.get("--no-empty-nodes"),
        "--multiple-roots-okay" in options,
    )
    gold_file, predicted_file = read(gold, strictness), read(predicted, strictness)
    _check_text(gold_file, predicted_file, str(predicted))
    measures = compare(gold_file.treebank, predicted_file.treebank)
    names = [name for name in _PRINTED if name not in _ENHANCED or "--no-enhanced" not in options]
    return {
        "printed": {name: _percents(measures[name]) for name in names},
        "counts": {name: _counts(name, measures[name]) for name in names},
        "default_output": [
            f"{title}: {100 * measures[name].counts.f1:.2f}"
            for name, title in _HEADLINES.items()
            if name in names
        ],
        "full_precision": {name: _in_full(measure) for name, measure in measures.items()},
    }


def table(scores: Scores) -> str:
    """Format the program's own table."""
    header = "Metric     | Precision |    Recall |  F1 Score | AligndAcc"
    lines = [header, "+".join(["-" * 11] * 5)]
    for name, row in scores["printed"].items():
        ratios = " |".join(f"{row[key]:10.2f}" for key in ("precision", "recall", "f1"))
        accuracy = row["aligned_accuracy"]
        lines.append(f"{name:11}|{ratios} |" + ("" if accuracy is None else f"{accuracy:10.2f}"))
    return "\n".join(lines) + "\n"


def _rules(digits: str) -> list[Rule]:
    """Return the rules that the digits select; raises ``DataError`` for any other character."""
    if not digits or set(digits) - set("0123456"):
        expected = "expected digits from 0 (all) to 6"
        raise DataError(f"--enhancements: {expected}, got {digits!r:.60}")
    return [rule for digit, rule in RULES.items() if digit in digits]


def _check_text(gold: TreebankFile, predicted: TreebankFile, path: str) -> None:
    """Raise ``FormatError`` for files whose tokens differ in their characters."""
    gold_text, predicted_text = gold.text, predicted.text
    if gold_text == predicted_text:
        return
    num_equal = len(commonprefix((gold_text, predicted_text)))
    starts = [start for start, _ in predicted.treebank.tokens]
    line = predicted.lines[bisect_right(starts, num_equal) - 1] if starts else None
    expected = gold_text[num_equal : num_equal + 20]
    got = predicted_text[num_equal : num_equal + 20]
    raise FormatError(path, line, f"expected the gold characters {expected!r}, got {got!r}")


def _percents(measure: Measure) -> Scores:
    """Return the ratios as they are printed."""
    return {
        "precision": _percent(measure.counts.precision),
        "recall": _percent(measure.counts.recall),
        "f1": _percent(measure.counts.f1),
        "aligned_accuracy": None if measure.accuracy is None else _percent(measure.accuracy),
    }


def _percent(ratio: float) -> float:
    """Return a ratio in percent with two digits."""
    return float(f"{100 * ratio:.2f}")


def _counts(name: str, measure: Measure) -> Scores:
    """Return the counts as they are printed: aligned words are right words."""
    counts = measure.counts
    return {
        "correct": counts.hits,
        "gold": counts.gold,
        "predicted": counts.predicted,
        "aligned": measure.aligned or (counts.hits if name == "Words" else None),
    }


def _in_full(measure: Measure) -> Scores:
    """Return all numbers of a measure."""
    counts = measure.counts
    return {
        "correct": counts.hits,
        "gold_total": counts.gold,
        "system_total": counts.predicted,
        "aligned_total": measure.aligned,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "aligned_accuracy": measure.accuracy,
    }


KIND = Scorer(
    "ud-eval",
    score,
    table,
    {
        "--enhancements": True,
        "--multiple-roots-okay": False,
        "--no-empty-nodes": True,
        "--no-enhanced": False,
    },
)
