"""What is asked for: the three requests, read from JSON into what the model is to do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spanloom.annotation.text_pairs import join_texts
from spanloom.document import Document, Query
from spanloom.errors import DocumentError
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.limits import Limits
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.problem import Problem
from spanloom.serve.replies import CUT, FORMS, Answers, Classifications
from spanloom.serve.request_json import a_list, a_name, a_text, only, texts

Said = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """What the model is to do, the place in the request of each document, how replies begin."""

    wish: AnnotateRequest
    places: tuple[str, ...]
    head: str

    def reply(self, pieces: tuple[str, ...]) -> bytes:
        """Return the reply that these spelled documents make."""
        return f"{{{self.head}: [{', '.join(pieces)}]}}".encode()


Reader = Callable[[dict[str, Any], ModelInfo, Limits], ParsedRequest]


def annotate(said: dict[str, Any], about: ModelInfo, limits: Limits) -> ParsedRequest:
    """Read ``text`` or ``texts``, with ``tasks`` and ``format``; raises ``Problem``.

    Without ``tasks``: all that need nothing but a text and do not wait to be asked for.
    """
    only(said, "text", "texts", "tasks", "format")
    names = _names(said, about, about.annotating(), "annotates a text")
    form = a_name(said.get("format", "json"), "format", FORMS)
    places, read = zip(*texts(said, "text", "texts", limits.texts, limits.characters), strict=True)
    single = "text" in said
    documents = (
        Document(text, name="text" if single else f"text-{n}") for n, text in enumerate(read)
    )
    wish = AnnotateRequest(tuple(documents), names, FORMS[form], form in CUT)
    return ParsedRequest(wish, places, f'"format": "{form}", "documents"')


def ask(said: dict[str, Any], about: ModelInfo, limits: Limits) -> ParsedRequest:
    """Read ``text`` with ``question`` or ``questions``, and ``tasks``; raises ``Problem``.

    Each question makes a document of its own, so that many of them do not hold up the others.
    """
    only(said, "text", "question", "questions", "tasks")
    names = _names(said, about, about.answering(), "answers questions")
    text = a_text(said.get("text"), "text", limits.characters)
    prompts = texts(said, "question", "questions", limits.texts, limits.characters)
    documents = tuple(_asking(text, prompt, place) for place, prompt in prompts)
    spell = Answers(tuple(about.layers(names).items()))
    return ParsedRequest(
        AnnotateRequest(documents, names, spell), tuple(each for each, _ in prompts), '"answers"'
    )


def classify(said: dict[str, Any], about: ModelInfo, limits: Limits) -> ParsedRequest:
    """Read ``text``, ``texts``, or ``text`` and ``second``, with ``tasks``; raises ``Problem``."""
    only(said, "text", "texts", "text_pair", "tasks")
    pair = "text_pair" in said
    what = "judges two texts" if pair else "judges a text"
    names = _names(said, about, about.judging(pair=pair), what)
    places, read = zip(*texts(said, "text", "texts", limits.texts, limits.characters), strict=True)
    documents = (_pair(said, read[0], limits),) if pair else tuple(map(Document, read))
    spell = Classifications(tuple(about.layers(names).items()))
    return ParsedRequest(AnnotateRequest(documents, names, spell), places, '"classifications"')


def _names(said: Said, about: ModelInfo, able: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return the tasks that are asked for, each once; without ``tasks`` the usual ones.

    A model that has none has nothing at this address.
    """
    if not able:
        told = ", ".join(f"{each.name} ({each.kind})" for each in about.tasks) or "none"
        raise Problem(404, f"model {about.name} has no task that {what}; its tasks: {told}")
    if "tasks" not in said:
        return _usual(about, able, what)
    asked = a_list(said["tasks"], "tasks", len(able))
    wanted = {a_name(each, f"tasks[{row}]", able) for row, each in enumerate(asked)}
    return tuple(name for name in able if name in wanted)


def _usual(about: ModelInfo, able: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return those of the able that do not wait to be asked for; raises ``Problem`` for none."""
    usual = about.usual(able)
    if not usual:
        problem = f"each task that {what} runs on request only: {', '.join(able)}"
        raise Problem(422, f"expected the names of tasks, got none; {problem}", where="tasks")
    return usual


def _asking(text: str, prompt: str, place: str) -> Document:
    """Return a text with one question."""
    try:
        return Document(text, queries=(Query("Q1", prompt),))
    except DocumentError as error:
        raise Problem(422, "expected a question, got blanks alone", where=place) from error


def _pair(said: Said, first: str, limits: Limits) -> Document:
    """Return two texts as one document."""
    if "texts" in said:
        raise Problem(422, "expected it beside text, got texts", where="text_pair")
    return join_texts("text", first, a_text(said["text_pair"], "text_pair", limits.characters))
