"""Which tasks cannot run on a document, as they read a pair of texts or questions it has not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanloom.annotation.text_pairs import TEXT_PAIR, text_pair
from spanloom.config.abilities import ANSWERS
from spanloom.config.recipe import Recipe
from spanloom.document import Document
from spanloom.tasks._base import Task


@dataclass(frozen=True, slots=True)
class Requirement:
    """What tasks read besides a text: whether a document has it, and the message if it has not."""

    is_met: Callable[[Document], bool]
    problem: str


PAIR = Requirement(lambda document: bool(text_pair(document)), "no pair of texts")
QUESTION = Requirement(
    lambda document: bool(document.queries), "no question; --question TEXT asks one"
)


def requirements(
    tasks: Mapping[str, Task], recipe: Recipe, names: Iterable[str]
) -> dict[str, Requirement]:
    """Return what each of the named tasks requires, without those that only need a text."""
    required = {}
    for name in names:
        if recipe.tasks[name].kind == ANSWERS.kind:
            required[name] = QUESTION
        elif TEXT_PAIR in tasks[name].inputs:
            required[name] = PAIR
    return required


def unmet(required: Mapping[str, Requirement], documents: Sequence[Document]) -> list[str]:
    """Return the tasks whose requirement none of the documents meets."""
    return [name for name, need in required.items() if not any(map(need.is_met, documents))]


def describe(required: Mapping[str, Requirement], names: Sequence[str]) -> str:
    """Return tasks with the reason why they do not run: ``likeness (no pair of texts)``."""
    parts = []
    for need in (QUESTION, PAIR):
        if concerned := [name for name in names if required[name] is need]:
            parts.append(f"{', '.join(concerned)} ({need.problem})")
    return "; ".join(parts)
