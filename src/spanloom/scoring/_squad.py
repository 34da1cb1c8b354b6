"""SQuAD's files: questions with the texts that answer them, and what was predicted for each."""

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
    """A question's id and the texts of its gold answers, of which there may be none."""

    name: str
    answers: tuple[str, ...]


def questions(path: Path, *needed: str) -> list[Question]:
    """Return the questions of a dataset, in its order.

    ``needed`` are keys of the dataset that must be there. Raises ``FormatError``; so it does where
    there is no question, as no mean is.
    """
    said = parsed(text_of(path), str(path))
    try:
        for key in needed:
            value_of(an_object(said), key)
        found = list(_questions(said))
    except ValueError as error:
        raise FormatError(str(path), None, str(error)) from error
    if not found:
        raise FormatError(str(path), None, "expected a question, got none")
    return found


def by_question(path: Path) -> Mapping[str, Any]:
    """Return what a JSON object says of each question; raises ``FormatError``."""
    said = parsed(text_of(path), str(path))
    try:
        return an_object(said)
    except ValueError as error:
        raise FormatError(str(path), None, str(error)) from error


def answer(predictions: Mapping[str, Any], name: str, path: Path) -> str:
    """Return the answer to a question; raises ``FormatError`` where there is none, or no text."""
    if name not in predictions:
        raise FormatError(str(path), None, f"no prediction for the question {name!r:.60}")
    try:
        return a_string(predictions[name])
    except ValueError as error:
        raise FormatError(str(path), None, f"question {name!r:.60}: {error}") from error


def added(values: Iterable[float]) -> float:
    """Return the sum, added from left to right: ``sum`` rounds less since Python 3.12."""
    result: float = 0
    for value in values:
        result += value
    return result


def lines_of(scores: Scores) -> str:
    """Return scores with names, aligned."""
    width = max(map(len, scores))
    return "".join(
        f"{name:{width}}  {value:10.4f}\n"
        if isinstance(value, float)
        else f"{name:{width}}  {value:5}\n"
        for name, value in scores.items()
    )


def _questions(said: Any) -> Iterator[Question]:
    """Yield the questions of a dataset; raises ``ValueError`` where it is none."""
    for article in _under(said, "data"):
        for paragraph in _under(article, "paragraphs"):
            for asked in _under(paragraph, "qas"):
                name = a_string(value_of(an_object(asked), "id"))
                answers = _under(asked, "answers")
                texts = (a_string(value_of(an_object(each), "text")) for each in answers)
                yield Question(name, tuple(texts))


def _under(said: Any, key: str) -> list[Any]:
    return a_list(value_of(an_object(said), key))
