"""Parse requests: JSON from strangers, checked at the door, into work for the model.

Every function that raises raises ``Problem``: 400 for invalid JSON, 404 for a missing task, 413 for
what is too long, 422 for other wrong values. Character positions count from 0, as offsets do.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from spanloom.annotation.choices import MAX_LABELS, Choices, first_suited
from spanloom.annotation.queries import ask_query
from spanloom.annotation.text_pairs import join_texts
from spanloom.config.abilities import (
    ANNOTATES,
    ANSWERS,
    CHOOSES_LABEL,
    CHOOSES_NUMBER,
    JUDGES_PAIR,
    JUDGES_TEXT,
    Ability,
)
from spanloom.document import Document
from spanloom.errors import DocumentError
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.limits import Limits
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.problem import Problem
from spanloom.serve.replies import FORMATS, NEED_TOKENS, ReplyFormat
from spanloom.strict_json import EqualKeysError, unique_keys

_MAX_DEPTH = 8  # nested lists and objects; no valid request has more than two
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")
_LABEL_CHARACTERS = 100  # of a label that a request gives
_QUOTED = 60  # characters of a wrong value that an error repeats

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request for the model, the location of each document's text, and the start of the reply."""

    request: AnnotateRequest
    locations: tuple[str, ...]
    head: str

    @property
    def choices_location(self) -> str:
        """The key of the choices, ``labels`` or ``range``."""
        choices = self.request.choices
        return "labels" if choices is None or choices.labels else "range"

    def reply(self, documents: tuple[str, ...]) -> bytes:
        """Return the reply of formatted documents."""
        return f"{{{self.head}: [{', '.join(documents)}]}}".encode()


Parser = Callable[[Json, ModelInfo, Limits], ParsedRequest]


def annotate(payload: Json, model: ModelInfo, limits: Limits) -> ParsedRequest:
    """Parse ``text`` or ``texts``, with ``tasks`` and ``format``."""
    _check_keys(payload, "text", "texts", "tasks", "format")
    tasks = _tasks(payload, model, model.annotating(), ANNOTATES)
    name = _name(payload.get("format", "json"), "format", FORMATS)
    locations, texts = zip(*_texts(payload, "text", "texts", limits), strict=True)
    names = ["text"] if "text" in payload else [f"text-{i}" for i in range(len(texts))]
    documents = tuple(Document(text, name=name) for text, name in zip(texts, names, strict=True))
    request = AnnotateRequest(documents, tasks, ReplyFormat(name), name in NEED_TOKENS)
    return ParsedRequest(request, locations, f'"format": "{name}", "documents"')


def ask(payload: Json, model: ModelInfo, limits: Limits) -> ParsedRequest:
    """Parse ``text`` with ``question`` or ``questions``, and ``tasks``.

    Each question becomes a document, so that many of them do not delay other requests.
    """
    _check_keys(payload, "text", "question", "questions", "tasks")
    tasks = _tasks(payload, model, model.answering(), ANSWERS)
    text = _text(payload.get("text"), "text", limits)
    locations, prompts = zip(*_texts(payload, "question", "questions", limits), strict=True)
    documents = tuple(map(_with_question, [text] * len(prompts), prompts, locations))
    reply_format = ReplyFormat("answers", tuple(model.layers(tasks).items()))
    return ParsedRequest(AnnotateRequest(documents, tasks, reply_format), locations, '"answers"')


def classify(payload: Json, model: ModelInfo, limits: Limits) -> ParsedRequest:
    """Parse ``text``, ``texts``, or ``text`` and ``text_pair``, with ``tasks``.

    With ``labels`` or ``range``, the first task that can chooses among them instead of those it
    learnt, unless ``tasks`` are named; one that learnt from pairs for a pair, if there is one.
    """
    _check_keys(payload, "text", "texts", "text_pair", "tasks", "labels", "range")
    is_pair, choices = "text_pair" in payload, _choices(payload)
    if choices is None:
        judging = JUDGES_PAIR if is_pair else JUDGES_TEXT
        tasks = _tasks(payload, model, model.judging(pair=is_pair), judging)
    else:
        choosing = CHOOSES_LABEL if choices.bounds is None else CHOOSES_NUMBER
        tasks = _tasks(payload, model, model.choosing(choosing), choosing)
        if "tasks" not in payload:
            tasks = (first_suited(tasks, model.judging(pair=True), is_pair=is_pair),)
    locations, texts = zip(*_texts(payload, "text", "texts", limits), strict=True)
    if is_pair and "texts" in payload:
        raise Problem(422, "expected it beside text, got texts", location="text_pair")
    if is_pair:
        second = _text(payload["text_pair"], "text_pair", limits)
        documents: tuple[Document, ...] = (join_texts("text", texts[0], second),)
    else:
        documents = tuple(map(Document, texts))
    reply_format = ReplyFormat("classifications", tuple(model.layers(tasks).items()))
    request = AnnotateRequest(documents, tasks, reply_format, choices=choices)
    return ParsedRequest(request, locations, '"classifications"')


def _choices(payload: Json) -> Choices | None:
    """Return the labels or the range of a request, None without either."""
    if "labels" in payload and "range" in payload:
        raise Problem(422, "expected labels or range, got both", location="body")
    if "labels" in payload:
        values = _list(payload["labels"], "labels", MAX_LABELS, shortest=2)
        limits = Limits(characters=_LABEL_CHARACTERS)
        labels = tuple(
            _text(value, f"labels[{i}]", limits).strip() for i, value in enumerate(values)
        )
        return _checked_choices(labels, None, "labels")
    if "range" not in payload:
        return None
    bounds = _list(payload["range"], "range", 2, shortest=2)
    if not all(isinstance(bound, float) for bound in bounds):
        raise Problem(422, "expected two numbers, low and high", location="range")
    return _checked_choices((), (bounds[0], bounds[1]), "range")


def _checked_choices(
    labels: tuple[str, ...], bounds: tuple[float, float] | None, location: str
) -> Choices:
    try:
        return Choices(labels, bounds)
    except ValueError as error:
        raise Problem(422, str(error), location=location) from error


def parse_json(body: bytes) -> Json:
    """Return the JSON object of a body; its numbers are floats."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        location = f"body: byte {error.start}"
        raise Problem(400, f"0x{body[error.start]:02x} is not UTF-8", location=location) from error
    try:
        value = json.loads(text, object_pairs_hook=unique_keys, parse_int=float)
    except json.JSONDecodeError as error:
        location = f"body: line {error.lineno}, column {error.colno}"
        raise Problem(400, f"not JSON: {error.msg}", location=location) from error
    except EqualKeysError as error:
        what = f"the key {error.key[:_QUOTED]!r} stands twice"
        raise Problem(400, what, location="body") from error
    except RecursionError as error:
        expected = f"expected at most {_MAX_DEPTH} lists and objects inside each other"
        raise Problem(400, expected, location=_too_deep_location(text)) from error
    if not isinstance(value, dict):
        raise Problem(422, f"expected an object, got {_type_name(value)}", location="body")
    return value


def _too_deep_location(text: str) -> str:
    """Return the location of the first bracket that is nested too deeply."""
    depth = 0
    for match in _NESTING.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth > _MAX_DEPTH:
            return f"body: character {match.start()}"
    return "body"


def _check_keys(payload: Json, *allowed: str) -> None:
    """Refuse unknown keys."""
    for key in payload:
        if key not in allowed:
            what = f"unknown key {key[:_QUOTED]!r} (known: {', '.join(allowed)})"
            raise Problem(422, what, location="body")


def _tasks(
    payload: Json, model: ModelInfo, capable: tuple[str, ...], ability: Ability
) -> tuple[str, ...]:
    """Return the requested tasks in the model's order, without ``tasks`` the default ones.

    Refuses an endpoint for which no task is ``capable``, and no ``tasks`` if there is no default.
    """
    if not capable:
        kinds = {task.name: task.kind for task in model.tasks}
        raise Problem(404, ability.missing_from(f"model {model.name}", kinds))
    if "tasks" in payload:
        values = _list(payload["tasks"], "tasks", len(capable))
        requested = {_name(value, f"tasks[{i}]", capable) for i, value in enumerate(values)}
        return tuple(name for name in capable if name in requested)
    if not (default_tasks := model.default_tasks(capable)):
        problem = f"each task that {ability.verb} runs on request only: {', '.join(capable)}"
        raise Problem(422, f"expected the names of tasks, got none; {problem}", location="tasks")
    return default_tasks


def _texts(payload: Json, single: str, several: str, limits: Limits) -> list[tuple[str, str]]:
    """Return the string under one key, or those of the list under another, with locations."""
    keys = [key for key in (single, several) if key in payload]
    if len(keys) != 1:
        got = " and ".join(keys) or ", ".join(repr(key[:_QUOTED]) for key in payload) or "none"
        raise Problem(422, f"expected {single} or {several}, got {got:.200}", location="body")
    if keys == [single]:
        return [(single, _text(payload[single], single, limits))]
    values = enumerate(_list(payload[several], several, limits.texts))
    located = [(f"{several}[{i}]", value) for i, value in values]
    return [(location, _text(value, location, limits)) for location, value in located]


def _with_question(text: str, prompt: str, location: str) -> Document:
    """Return a text with one question."""
    try:
        return Document(text, queries=(ask_query("Q1", prompt),))
    except DocumentError as error:
        raise Problem(422, "expected a question, got blanks alone", location=location) from error


def _list(value: Any, location: str, longest: int, *, shortest: int = 1) -> list[Any]:
    """Return a list of ``shortest`` to ``longest`` items."""
    if not isinstance(value, list):
        raise Problem(422, f"expected a list, got {_type_name(value)}", location=location)
    if not shortest <= len(value) <= longest:
        count = str(longest) if shortest == longest else f"{shortest} to {longest}"
        expected = f"expected {count} of them"
        raise Problem(422, f"{expected}, got {len(value)}", location=location)
    return value


def _name(value: Any, location: str, choices: Iterable[str]) -> str:
    """Return one of some names."""
    valid_names = tuple(choices)
    if not isinstance(value, str) or value not in valid_names:
        got = repr(value[:_QUOTED]) if isinstance(value, str) else _type_name(value)
        expected = f"expected one of {', '.join(valid_names)}; got {got}"
        raise Problem(422, expected, location=location)
    return value


def _text(value: Any, location: str, limits: Limits) -> str:
    """Return a string without NUL and lone surrogates, of at most ``limits.characters``."""
    if not isinstance(value, str):
        raise Problem(422, f"expected a string, got {_type_name(value)}", location=location)
    if match := _FORBIDDEN.search(value):
        code = ord(match.group())
        what = "NUL" if code == 0 else "lone surrogate"
        raise Problem(
            422, f"{what} U+{code:04X}", location=f"{location}: character {match.start()}"
        )
    if len(value) > limits.characters:
        expected = f"expected up to {limits.characters} characters, got {len(value)}"
        raise Problem(413, f"{expected}; send it in parts", location=location)
    return value


def _type_name(value: Any) -> str:
    """Return the name of a value's type, or a number; other content is not repeated."""
    if isinstance(value, float):
        return f"the number {value:g}"
    names = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}
    return names.get(type(value), "null")
