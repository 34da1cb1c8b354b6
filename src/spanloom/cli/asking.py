"""Questions, labels and ranges of ``spanloom annotate``: what is asked, and what is printed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanloom.annotation.choices import Choices
from spanloom.annotation.queries import is_blank
from spanloom.cli.console import WrongUse
from spanloom.document import Document

if TYPE_CHECKING:
    from spanloom.model.model import Model


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions about each text, or choices for it."""

    questions: tuple[str, ...] = ()
    choices: Choices | None = None

    def prepare(
        self, model: "Model", names: Iterable[str] | None
    ) -> "tuple[Model, tuple[str, ...]]":
        """Return the model that knows what is asked, and its tasks that answer.

        Raises ``DataError`` for a model without such a task.
        """
        from spanloom.model import asking

        if self.choices is None:
            return model, asking.answering_tasks(model, names)
        tasks = asking.choosing_tasks(model, self.choices, names)
        return asking.with_choices(model, self.choices), tasks

    def ask(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents with the questions, or as they are."""
        from spanloom.model.asking import with_questions

        for document in documents:
            yield with_questions(document, self.questions) if self.questions else document

    def work(self) -> dict[str, str]:
        """Return what results depend on."""
        return {"asked": repr((self.questions, self.choices))}


def parse_asked(
    questions: Sequence[str] | None, labels: str | None, bounds: str | None
) -> Asked | None:
    """Return what the options ask for, None for nothing; raises ``WrongUse``."""
    options = {"--question": questions or None, "--labels": labels, "--range": bounds}
    given = [option for option, value in options.items() if value is not None]
    if len(given) > 1:
        raise WrongUse(f"{' and '.join(given)} ask for different things; use one of them")
    if questions:
        for question in filter(is_blank, questions):
            raise WrongUse(f"--question: expected a question, got {question!r:.60}")
        return Asked(tuple(questions))
    if labels is not None:
        return Asked(choices=_choices("--labels", labels, _parse_labels))
    if bounds is not None:
        return Asked(choices=_choices("--range", bounds, _parse_range))
    return None


def _parse_labels(value: str) -> Choices:
    return Choices(labels=tuple(name.strip() for name in value.split(",")))


def _parse_range(value: str) -> Choices:
    low, _, high = value.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError as error:
        raise ValueError(f"expected LOW:HIGH, got {value!r:.60}") from error
    return Choices(bounds=bounds)


def _choices(option: str, value: str, parse: Callable[[str], Choices]) -> Choices:
    """Return the choices of an option; raises ``WrongUse`` for invalid ones, and for none."""
    try:
        if not value.strip():
            raise ValueError("expected choices, got none")
        return parse(value)
    except ValueError as error:
        example = "positive, negative" if option == "--labels" else "0:5"
        raise WrongUse(f'{option}: {error} (as in {option} "{example}")') from error


def format_replies(
    documents: Iterable[Document], layers: Sequence[str], asked: Asked
) -> Iterator[str]:
    """Yield what was asked about each document, below its name."""
    for document in documents:
        yield f"# {document.name}\n{_replies(document, layers, asked)}"


def _replies(document: Document, layers: Sequence[str], asked: Asked) -> str:
    """Return a line per answer or choice: what, how sure, and where it stands.

    Where several tasks reply, each line begins with its layer.
    """
    replies = _choices_of if asked.choices is not None else _answers_of
    lines = [
        ((layer, *line) if len(layers) > 1 else line)
        for layer in layers
        for line in replies(document, layer)
    ]
    return "".join("  ".join(filter(None, line)) + "\n" for line in lines)


def _answers_of(document: Document, layer: str) -> Iterator[tuple[str, ...]]:
    """Yield each question with its answer, its score and where it stands."""
    from spanloom.model.asking import read_answers
    from spanloom.viewer.text_width import visible

    for answer in read_answers(document, layer):
        places = " ".join(f"{start}..{end}" for start, end in answer.fragments)
        text = visible(answer.text) if answer.text else "no answer"
        yield visible(answer.question), text, _score(answer.score), places


def _choices_of(document: Document, layer: str) -> Iterator[tuple[str, ...]]:
    """Yield the label or number that was chosen, with its score."""
    from spanloom.model.asking import read_choice
    from spanloom.viewer.text_width import visible

    choice = read_choice(document, layer)
    if choice is None:
        yield ("nothing",)
        return
    value = choice.label if choice.value is None else f"{choice.value:.12g}"
    yield visible(value), _score(choice.score)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"
