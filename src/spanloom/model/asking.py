"""Ask a model that has learnt to extract: questions, labels and ranges of the user's own.

A task that extracts classes reads their names, so it can choose among other names than those it
learnt; one that extracts numbers can choose from another range. How good such choices are depends
on how near they are to what was learnt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

from spanloom.annotation.choices import Choices, first_suited
from spanloom.annotation.queries import answers, ask_query
from spanloom.annotation.text_pairs import classification_of, join_texts
from spanloom.config.abilities import ANSWERS, CHOOSES_LABEL, CHOOSES_NUMBER, Ability
from spanloom.config.recipe import Recipe
from spanloom.data.instances import Prompt
from spanloom.document import Document, Fragment, Query, Relation, Span
from spanloom.errors import DataError, NameNotFound
from spanloom.tasks._base import Task
from spanloom.tasks._span_extraction import ExtractTask
from spanloom.tasks.extractive_classification import ExtractiveClassificationTask
from spanloom.tasks.extractive_qa import ExtractiveQATask
from spanloom.tasks.extractive_regression import ExtractiveRegressionTask


class AskedModel(Protocol):
    """A model as far as it is asked (``model.Model``)."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name."""

    @property
    def recipe(self) -> Recipe:
        """The recipe, which names the kinds of the tasks."""

    @property
    def layers(self) -> dict[str, str]:
        """The layer that each task writes."""

    def tokenize_prompt(self, text: str) -> Prompt:
        """Split a text that is not part of a document."""

    def annotate(
        self, documents: Iterable[Document], names: Iterable[str] | None = None
    ) -> Iterator[Document]:
        """Yield the documents with what the named tasks predict."""

    def with_tasks(self, tasks: Mapping[str, Task]) -> Self:
        """Return the model with other tasks in place of its own."""


ModelT = TypeVar("ModelT", bound=AskedModel)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task answers to a question; no ``text`` and ``fragments`` where the text has none."""

    question: str
    text: str | None = None
    fragments: tuple[Fragment, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The label or the number that a task chose for a text."""

    label: str
    value: float | None = None
    score: float | None = None


def answering_tasks(model: AskedModel, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the tasks that answer questions: those named, else the first one that the model has.

    Raises ``DataError`` where there is none, which says how to train one.
    """
    return _tasks(model, names, ExtractiveQATask, ANSWERS)


def choosing_tasks(
    model: AskedModel, choices: Choices, names: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return the tasks that choose among labels, or numbers; as ``answering_tasks``.

    Without names it is the first one that was trained on single texts, if there is one.
    """
    if names is None:
        return (choosing_task(model, choices, is_pair=False),)
    return _tasks(model, names, *_chooser(choices))


def choosing_task(model: AskedModel, choices: Choices, *, is_pair: bool) -> str:
    """Return the first task that chooses and was trained on pairs of texts, or on single ones.

    Where none was, it is the first one that chooses. Raises ``DataError`` where there is none.
    """
    capable = _capable(model, *_chooser(choices))
    pair_names = [name for name in capable if model.tasks[name].inputs]
    return first_suited(capable, pair_names, is_pair=is_pair)


def with_choices(model: ModelT, choices: Choices) -> ModelT:
    """Return the model whose tasks choose among these labels or numbers, of one text or two.

    Raises ``DataError`` for labels that its tokenizer cannot tell apart, and for a range that has
    no even steps.
    """
    try:
        tasks = {name: _choosing(model, task, choices) for name, task in model.tasks.items()}
        _capable(model, *_chooser(choices))
        for name, task in tasks.items():
            if task is not model.tasks[name]:
                task.reader.check(model.tokenize_prompt)
    except ValueError as error:
        raise DataError(str(error)) from error
    return model.with_tasks(tasks)


def ask(model: AskedModel, text: str, question: str) -> Answer:
    """Return the answer to a question about a text, by the first task that answers questions.

    Raises ``DataError`` if the model has none, ``DocumentError`` for a blank question.
    """
    (task,) = answering_tasks(model)
    document = with_questions(Document(text), [question])
    (annotated,) = model.annotate([document], [task])
    (answer,) = read_answers(annotated, model.layers[task])
    return answer


def choose(
    model: AskedModel,
    text: str,
    text_pair: str | None,
    labels: Iterable[str] = (),
    bounds: tuple[float, float] | None = None,
) -> Choice | None:
    """Return the label or the number that fits a text, or two, best; None for a blank text.

    It is chosen by the first task of the model that can and was trained on as many texts, if there
    is one. Raises ``DataError``.
    """
    if isinstance(labels, str):
        raise DataError(f"expected a list of labels, got the text {labels!r:.60}")
    try:
        choices = Choices(tuple(labels), bounds)
    except ValueError as error:
        raise DataError(str(error)) from error
    task = choosing_task(model, choices, is_pair=text_pair is not None)
    document = Document(text) if text_pair is None else join_texts("", text, text_pair)
    (annotated,) = with_choices(model, choices).annotate([document], [task])
    return read_choice(annotated, model.layers[task])


def with_questions(document: Document, questions: Iterable[str]) -> Document:
    """Return a document with these questions in place of its own; ``DocumentError`` for blanks."""
    queries = tuple(ask_query(f"Q{number}", text) for number, text in enumerate(questions, 1))
    return replace(document, queries=queries)


def read_answers(document: Document, layer: str) -> list[Answer]:
    """Return the answers of an annotated document, one per question."""
    spans_of = answers(document, layer)
    return [_answer(document, query, spans_of[query.id]) for query in document.queries]


def read_choice(document: Document, layer: str) -> Choice | None:
    """Return what was chosen for a text or a pair of texts; None for a blank text."""
    chosen = classification_of(document, layer)
    if chosen is None:
        return None
    annotations: tuple[Span | Relation, ...]
    annotations = (*document[layer].spans, *document[layer].relations)
    return Choice(chosen.label, chosen.value, annotations[0].score)


def _answer(document: Document, query: Query, spans: tuple[Span, ...]) -> Answer:
    """Return the first of the spans that answer a query."""
    for span in spans:
        return Answer(query.prompt, document.text_of(span), span.fragments, span.score)
    return Answer(query.prompt)


def _choosing(model: AskedModel, task: Task, choices: Choices) -> Task:
    """Return a task that chooses among these labels or numbers if it can, else as it is."""
    if isinstance(task, ExtractiveClassificationTask) and choices.labels:
        return replace(_with_labels(model, task, choices.labels), text_pairs=False)
    if isinstance(task, ExtractiveRegressionTask) and choices.bounds is not None:
        return replace(task.with_range(*choices.bounds), text_pairs=False)
    return task


def _with_labels(
    model: AskedModel, task: ExtractiveClassificationTask, labels: Sequence[str]
) -> ExtractiveClassificationTask:
    """Return a task with these labels; one after the other if one is hidden in their question.

    That is so where a label is a word of the question itself ("or"), or where the words of the
    model keep its marks ("c?").
    """
    chooser = task.with_labels(labels)
    try:
        chooser.reader.check(model.tokenize_prompt)
    except ValueError:
        return task.with_labels(labels, as_question=False)
    return chooser


def _chooser(choices: Choices) -> tuple[type[ExtractTask], Ability]:
    """Return the class of tasks that choose among labels or numbers, and what they can do."""
    if choices.bounds is None:
        return ExtractiveClassificationTask, CHOOSES_LABEL
    return ExtractiveRegressionTask, CHOOSES_NUMBER


def _capable(model: AskedModel, task_class: type[ExtractTask], ability: Ability) -> list[str]:
    """Return the tasks of a class; raises ``DataError`` where there is none."""
    capable = [name for name, task in model.tasks.items() if isinstance(task, task_class)]
    if not capable:
        kinds = {name: model.recipe.tasks[name].kind for name in model.tasks}
        raise DataError(ability.missing_from("the model", kinds))
    return capable


def _tasks(
    model: AskedModel,
    names: Iterable[str] | None,
    task_class: type[ExtractTask],
    ability: Ability,
) -> tuple[str, ...]:
    """Return the named tasks, which must be of a class, or its first one.

    Raises ``DataError`` and ``NameNotFound``.
    """
    capable = _capable(model, task_class, ability)
    if names is None:
        return (capable[0],)
    wanted = list(names)
    for name in wanted:
        if name not in model.tasks:
            raise NameNotFound("task", name, capable)
        if name not in capable:
            choices = ", ".join(capable)
            raise DataError(f"task {name!r} is none that {ability.verb}; the model has: {choices}")
    return tuple(wanted)
