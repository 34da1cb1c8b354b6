"""``squad-v2.0``: SQuAD's second official program (Rajpurkar, Jia and Liang 2018, section 5).

It reads a dataset in JSON, and an object of answers by question id, "" for none. Gold answers
without a word are ignored; if none is left, "" is right, but the question still counts as
answerable. ``--na-prob-file`` gives the probability that a question has no answer (path relative
to the working folder, else to the predictions): above ``--na-prob-thresh`` (1) the prediction
becomes "". The scores without that threshold give the best thresholds, and the areas under the
precision-recall curves. The official program only gives these areas when it also draws the curves
(``--out-image-dir``); this one gives them wherever possible, and draws nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from spanloom.errors import DataError, FormatError
from spanloom.formats._json import a_list, a_string, an_object, parse_json, value_of
from spanloom.formats._text import text_of
from spanloom.metrics.qa import Answered, score_answer
from spanloom.scoring._base import Scorer, Scores


@dataclass(frozen=True, slots=True)
class Question:
    """A question's id and the texts of its gold answers, if there are any."""

    name: str
    answers: tuple[str, ...]


def questions(path: Path, *required: str) -> list[Question]:
    """Return the questions of a dataset, in its order.

    ``required`` are keys that the dataset must have. Raises ``FormatError``, also for a dataset
    without questions, which has no mean.
    """
    data = parse_json(text_of(path), str(path))
    try:
        for key in required:
            value_of(an_object(data), key)
        questions = list(_questions(data))
    except ValueError as error:
        raise FormatError(str(path), None, str(error)) from error
    if not questions:
        raise FormatError(str(path), None, "expected a question, got none")
    return questions


def read_predictions(path: Path) -> Mapping[str, Any]:
    """Return the value of each question in a JSON object; raises ``FormatError``."""
    data = parse_json(text_of(path), str(path))
    try:
        return an_object(data)
    except ValueError as error:
        raise FormatError(str(path), None, str(error)) from error


def predicted_answer(predictions: Mapping[str, Any], name: str, path: Path) -> str:
    """Return the answer to a question; raises ``FormatError`` if it is missing or no text."""
    if name not in predictions:
        raise FormatError(str(path), None, f"no prediction for the question {name!r:.60}")
    try:
        return a_string(predictions[name])
    except ValueError as error:
        raise FormatError(str(path), None, f"question {name!r:.60}: {error}") from error


def sum_in_order(values: Iterable[float]) -> float:
    """Return the sum, added from left to right: ``sum`` rounds less since Python 3.12."""
    result: float = 0
    for value in values:
        result += value
    return result


def format_scores(scores: Scores) -> str:
    """Return one aligned line per score."""
    width = max(map(len, scores))
    return "".join(
        f"{name:{width}}  {value:10.4f}\n"
        if isinstance(value, float)
        else f"{name:{width}}  {value:5}\n"
        for name, value in scores.items()
    )


def _questions(data: Any) -> Iterator[Question]:
    """Yield the questions of a dataset; raises ``ValueError`` if it is malformed."""
    for article in _list_at(data, "data"):
        for paragraph in _list_at(article, "paragraphs"):
            for question in _list_at(paragraph, "qas"):
                name = a_string(value_of(an_object(question), "id"))
                answers = _list_at(question, "answers")
                texts = (a_string(value_of(an_object(answer), "text")) for answer in answers)
                yield Question(name, tuple(texts))


def _list_at(data: Any, key: str) -> list[Any]:
    return a_list(value_of(an_object(data), key))


@dataclass(frozen=True, slots=True)
class _QuestionScore:
    """A prediction's scores; ``no_answer_prob`` is the probability that there is no answer."""

    answer: Answered
    is_empty: bool  # "" was predicted
    no_answer_prob: float

    @property
    def answerable(self) -> bool:
        """Whether the question has a gold answer."""
        return self.answer.answerable


_Metric = Callable[[_QuestionScore], float]


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the means in percent, over all questions, those with an answer, and the others."""
    threshold = _threshold(options.get("--na-prob-thresh", "1"))
    if "--na-prob-file" not in options:
        return _means(_score_questions(gold, predicted, None), threshold)
    path = _find_file(predicted, options["--na-prob-file"])
    no_answer_probs = _read_no_answer_probs(path)
    by_question = _score_questions(gold, predicted, no_answer_probs, path)
    ranked = [
        by_question[name]
        for name in sorted(no_answer_probs, key=no_answer_probs.__getitem__)
        if name in by_question
    ]
    scores = _means(by_question, threshold) | _best_thresholds(ranked)
    unknown = next((name for name in no_answer_probs if name not in by_question), None)
    if unknown is None:
        return scores | _average_precisions(ranked)
    if "--out-image-dir" in options and any(question.answerable for question in ranked):
        raise FormatError(str(path), None, f"no such question: {unknown!r:.60}")
    return scores


def _threshold(text: str) -> float:
    """Return the threshold of an option; raises ``DataError`` for other text."""
    try:
        return float(text)
    except ValueError as error:
        raise DataError(f"--na-prob-thresh: expected a number, got {text!r:.60}") from error


def _find_file(predicted: Path, name: str) -> Path:
    """Return a file's path relative to the working folder, else beside the predictions."""
    return Path(name) if Path(name).exists() else predicted.parent / name


def _read_no_answer_probs(path: Path) -> dict[str, float]:
    """Return the probability that each question has no answer; any number is accepted."""
    probs: dict[str, float] = {}
    for name, value in read_predictions(path).items():
        if type(value) not in (int, float):
            problem = f"question {name!r:.60}: expected a number, got {value!r:.60}"
            raise FormatError(str(path), None, problem)
        probs[name] = value
    return probs


def _score_questions(
    gold: Path,
    predicted: Path,
    no_answer_probs: Mapping[str, float] | None,
    path: Path | None = None,
) -> dict[str, _QuestionScore]:
    """Score every question; the last of two with the same id counts."""
    predictions = read_predictions(predicted)
    by_question: dict[str, _QuestionScore] = {}
    for question in questions(gold):
        prediction = predicted_answer(predictions, question.name, predicted)
        answer = score_answer(question.answers, prediction)
        if no_answer_probs is not None and question.name not in no_answer_probs:
            raise FormatError(str(path), None, f"lacks the question {question.name!r:.60}")
        no_answer_prob = 0.0 if no_answer_probs is None else no_answer_probs[question.name]
        by_question[question.name] = _QuestionScore(answer, not prediction, no_answer_prob)
    return by_question


def _means(by_question: Mapping[str, _QuestionScore], threshold: float) -> Scores:
    """Return the means at a threshold of the no-answer probability; an empty subset has none."""
    all_scores = list(by_question.values())
    subsets = {
        "": all_scores,
        "HasAns_": [question for question in all_scores if question.answerable],
        "NoAns_": [question for question in all_scores if not question.answerable],
    }
    scores: Scores = {}
    for prefix, selected in subsets.items():
        if selected:
            for name, metric in _METRICS.items():
                total = sum_in_order(
                    _apply_threshold(question, metric, threshold) for question in selected
                )
                scores[f"{prefix}{name}"] = 100 * total / len(selected)
            scores[f"{prefix}total"] = len(selected)
    return scores


def _apply_threshold(question: _QuestionScore, metric: _Metric, threshold: float) -> float:
    """Return a score, or that of "" if the no-answer probability is too high."""
    return (
        float(not question.answerable) if question.no_answer_prob > threshold else metric(question)
    )


def _best_thresholds(ranked: Sequence[_QuestionScore]) -> Scores:
    """Return the best mean that a threshold can reach, and the lowest such threshold."""
    scores: Scores = {}
    for name, metric in _METRICS.items():
        # every prediction is first replaced by ""
        total: float = sum(1 for question in ranked if not question.answerable)
        max_total, threshold = total, 0.0
        for question in ranked:
            total += metric(question) if question.answerable else (0 if question.is_empty else -1)
            if total > max_total:
                max_total, threshold = total, question.no_answer_prob
        scores |= {f"best_{name}": 100 * max_total / len(ranked), f"best_{name}_thresh": threshold}
    return scores


def _average_precisions(ranked: Sequence[_QuestionScore]) -> Scores:
    """Return the areas in percent; none without an answerable question."""
    if not any(question.answerable for question in ranked):
        return {}
    metrics: dict[str, _Metric] = {**_METRICS, "oracle": lambda question: question.answerable}
    return {
        f"pr_{name}_ap": 100 * _average_precision(ranked, metric)
        for name, metric in metrics.items()
    }


def _average_precision(ranked: Sequence[_QuestionScore], metric: _Metric) -> float:
    """Return the area under the precision-recall curve, with one step per no-answer probability."""
    num_answerable = sum(1 for question in ranked if question.answerable)
    area = hits = recall_before = 0.0
    rank = 0
    for _, tied in groupby(ranked, key=lambda question: question.no_answer_prob):
        for question in tied:
            rank += 1
            if question.answerable:
                hits += metric(question)
        area += hits / rank * (hits / num_answerable - recall_before)
        recall_before = hits / num_answerable
    return area


_METRICS: dict[str, _Metric] = {
    "exact": lambda question: question.answer.exact,
    "f1": lambda question: question.answer.f1,
}

KIND = Scorer(
    "squad-v2.0",
    score,
    format_scores,
    {"--na-prob-file": True, "--na-prob-thresh": True, "--out-image-dir": True},
)
