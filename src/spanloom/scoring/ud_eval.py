"""``ud-eval``: the official program of Universal Dependencies (CoNLL 2018, IWPT 2020).

Two CoNLL-U files of the same characters; ``metrics.universal_dependencies`` says what is measured.
"""

from bisect import bisect_right
from collections.abc import Mapping
from os.path import commonprefix
from pathlib import Path

from spanloom.errors import DataError, FormatError
from spanloom.metrics.universal_dependencies import Measure, compare
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._ud_enhancements import RULES, Rule
from spanloom.scoring._ud_treebank import Read, Strictness, read

_ENHANCED = ("ELAS", "EULAS")
_PRINTED = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS", "MLAS", "BLEX", *_ENHANCED),
)
_SHORT = {
    "LAS": "LAS F1 Score",
    "MLAS": "MLAS Score",
    "BLEX": "BLEX Score",
    "ELAS": "ELAS F1 Score",
    "EULAS": "EULAS F1 Score",
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what is printed, in percent and as counts, and every ratio in full."""
    strictness = Strictness(
        _rules(options.get("--enhancements", "0")),
        not options.get("--no-empty-nodes"),
        "--multiple-roots-okay" in options,
    )
    wanted, found = read(gold, strictness), read(predicted, strictness)
    _check_text(wanted, found, str(predicted))
    measures = compare(wanted.treebank, found.treebank)
    names = [name for name in _PRINTED if name not in _ENHANCED or "--no-enhanced" not in options]
    return {
        "printed": {name: _percents(measures[name]) for name in names},
        "counts": {name: _counts(name, measures[name]) for name in names},
        "default_output": [
            f"{title}: {100 * measures[name].counts.f1:.2f}"
            for name, title in _SHORT.items()
            if name in names
        ],
        "full_precision": {name: _in_full(each) for name, each in measures.items()},
    }


def table(scores: Scores) -> str:
    """Return the program's own table."""
    head = "Metric     | Precision |    Recall |  F1 Score | AligndAcc"
    lines = [head, "+".join(["-" * 11] * 5)]
    for name, each in scores["printed"].items():
        shares = " |".join(f"{each[key]:10.2f}" for key in ("precision", "recall", "f1"))
        aligned = each["aligned_accuracy"]
        lines.append(f"{name:11}|{shares} |" + ("" if aligned is None else f"{aligned:10.2f}"))
    return "\n".join(lines) + "\n"


def _rules(digits: str) -> list[Rule]:
    """The rules that digits ask for."""
    if not digits or set(digits) - set("0123456"):
        expected = "expected digits from 0 (all) to 6"
        raise DataError(f"--enhancements: {expected}, got {digits!r:.60}")
    return [rule for digit, rule in RULES.items() if digit in digits]


def _check_text(gold: Read, predicted: Read, path: str) -> None:
    """Refuse files whose tokens do not spell the same characters."""
    ours, theirs = gold.text, predicted.text
    if ours == theirs:
        return
    same = len(commonprefix((ours, theirs)))
    starts = [start for start, _ in predicted.treebank.tokens]
    line = predicted.lines[bisect_right(starts, same) - 1] if starts else None
    expected, got = ours[same : same + 20], theirs[same : same + 20]
    raise FormatError(path, line, f"expected the gold characters {expected!r}, got {got!r}")


def _percents(measure: Measure) -> Scores:
    """The ratios as they are printed."""
    return {
        "precision": _percent(measure.counts.precision),
        "recall": _percent(measure.counts.recall),
        "f1": _percent(measure.counts.f1),
        "aligned_accuracy": None if measure.accuracy is None else _percent(measure.accuracy),
    }


def _percent(ratio: float) -> float:
    return float(f"{100 * ratio:.2f}")


def _counts(name: str, measure: Measure) -> Scores:
    """The numbers as they are printed: of words, what is right is what is aligned."""
    counts = measure.counts
    return {
        "correct": counts.hits,
        "gold": counts.gold,
        "predicted": counts.predicted,
        "aligned": measure.aligned or (counts.hits if name == "Words" else None),
    }


def _in_full(measure: Measure) -> Scores:
    """All that is known of a measure."""
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
