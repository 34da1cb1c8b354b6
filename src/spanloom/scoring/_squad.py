"""Read SQuAD's files: questions with gold answers, and predictions by question."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanloom.errors import FormatError
from spanloom.formats._json import a_list, a_string, an_object, parsed, value_of
from spanloom.formats._text import text_of
from spanloom.scoring._base import Scores


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
    data = parsed(text_of(path), str(path))
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
    data = parsed(text_of(path), str(path))
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
