"""``squad-v2.0``: SQuAD's second official program (Rajpurkar, Jia and Liang 2018, section 5).

A dataset in JSON, and an object of answers by the questions' ids, "" for none. Gold answers without
a word are left out; where none is left "" is right, but the question still counts as answerable.
``--na-prob-file`` says how likely each question has no answer (looked for here, then beside the
predictions): above ``--na-prob-thresh`` (1) the prediction is taken back. From the scores before
that come the best threshold, and the areas under curves of precision and recall. The official
program gives these areas only when it draws the curves too (``--out-image-dir``); here they are
given wherever they can be, and nothing is drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from spanloom.errors import DataError, FormatError
from spanloom.metrics.answers import judge
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._squad import added, answer, by_question, lines_of, questions


@dataclass(frozen=True, slots=True)
class _Judged:
    """A prediction's scores; ``doubt``: how likely it is said that there is no answer."""

    answerable: bool
    silent: bool  # "" was predicted
    exact: float
    f1: float
    doubt: float


_Value = Callable[[_Judged], float]


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the means in percent, over all questions, those with an answer, and the others."""
    threshold = _threshold(options.get("--na-prob-thresh", "1"))
    if "--na-prob-file" not in options:
        return _means(_judged(gold, predicted, None), threshold)
    path = _beside(predicted, options["--na-prob-file"])
    doubts = _doubts(path)
    judged = _judged(gold, predicted, doubts, path)
    ranked = [judged[name] for name in sorted(doubts, key=doubts.__getitem__) if name in judged]
    scores = _means(judged, threshold) | _best(ranked)
    unknown = next((name for name in doubts if name not in judged), None)
    if unknown is None:
        return scores | _areas(ranked)
    if "--out-image-dir" in options and any(each.answerable for each in ranked):
        raise FormatError(str(path), None, f"no such question: {unknown!r:.60}")
    return scores


def _threshold(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise DataError(f"--na-prob-thresh: expected a number, got {text!r:.60}") from error


def _beside(predicted: Path, name: str) -> Path:
    """The file of that name, here or beside the predictions."""
    return Path(name) if Path(name).exists() else predicted.parent / name


def _doubts(path: Path) -> dict[str, float]:
    """How likely each question has no answer; any number will do."""
    doubts: dict[str, float] = {}
    for name, value in by_question(path).items():
        if type(value) not in (int, float):
            problem = f"question {name!r:.60}: expected a number, got {value!r:.60}"
            raise FormatError(str(path), None, problem)
        doubts[name] = value
    return doubts


def _judged(
    gold: Path, predicted: Path, doubts: Mapping[str, float] | None, path: Path | None = None
) -> dict[str, _Judged]:
    """Judge every question; of two with one id the last counts."""
    predictions = by_question(predicted)
    found: dict[str, _Judged] = {}
    for question in questions(gold):
        said = answer(predictions, question.name, predicted)
        each = judge(question.answers, said)
        if doubts is not None and question.name not in doubts:
            raise FormatError(str(path), None, f"lacks the question {question.name!r:.60}")
        doubt = 0.0 if doubts is None else doubts[question.name]
        found[question.name] = _Judged(each.answerable, not said, each.exact, each.f1, doubt)
    return found


def _means(judged: Mapping[str, _Judged], threshold: float) -> Scores:
    """The means after doubtful predictions were taken back; a part without questions has none."""
    every = list(judged.values())
    parts = {
        "": every,
        "HasAns_": [each for each in every if each.answerable],
        "NoAns_": [each for each in every if not each.answerable],
    }
    scores: Scores = {}
    for prefix, part in parts.items():
        if part:
            for name, value in _VALUES.items():
                held = added(_held(each, value, threshold) for each in part)
                scores[f"{prefix}{name}"] = 100 * held / len(part)
            scores[f"{prefix}total"] = len(part)
    return scores


def _held(each: _Judged, value: _Value, threshold: float) -> float:
    """A score, or that of "" where there is too much doubt."""
    return float(not each.answerable) if each.doubt > threshold else value(each)


def _best(ranked: Sequence[_Judged]) -> Scores:
    """The best mean that a threshold can bring, and the lowest that does."""
    scores: Scores = {}
    for name, value in _VALUES.items():
        current: float = sum(1 for each in ranked if not each.answerable)  # all taken back
        best, threshold = current, 0.0
        for each in ranked:
            current += value(each) if each.answerable else (0 if each.silent else -1)
            if current > best:
                best, threshold = current, each.doubt
        scores |= {f"best_{name}": 100 * best / len(ranked), f"best_{name}_thresh": threshold}
    return scores


def _areas(ranked: Sequence[_Judged]) -> Scores:
    """The areas, in percent; none without a question that has an answer."""
    if not any(each.answerable for each in ranked):
        return {}
    values: dict[str, _Value] = {**_VALUES, "oracle": lambda each: each.answerable}
    return {f"pr_{name}_ap": 100 * _area(ranked, value) for name, value in values.items()}


def _area(ranked: Sequence[_Judged], value: _Value) -> float:
    """The area under precision over recall, a step for each doubt, by which they are ranked."""
    gold = sum(1 for each in ranked if each.answerable)
    area = hits = before = 0.0
    seen = 0
    for _, equal in groupby(ranked, key=lambda each: each.doubt):
        for each in equal:
            seen += 1
            if each.answerable:
                hits += value(each)
        area += hits / seen * (hits / gold - before)
        before = hits / gold
    return area


_VALUES: dict[str, _Value] = {"exact": lambda each: each.exact, "f1": lambda each: each.f1}

KIND = Scorer(
    "squad-v2.0",
    score,
    lines_of,
    {"--na-prob-file": True, "--na-prob-thresh": True, "--out-image-dir": True},
)
