"""What tasks may be able to do with a text, and the recipe of a paper that trains such a task."""

from collections.abc import Mapping
from dataclasses import dataclass

_RECIPES = "recipes/papers/spex-bert-keskar2019/tasks"


@dataclass(frozen=True, slots=True)
class Ability:
    """What a task does (``answers questions``); without a ``recipe`` no single kind does it."""

    verb: str
    kind: str = ""
    recipe: str | None = None

    @property
    def command(self) -> str:
        """The command that trains such a task, in a clone with the corpus of the recipe."""
        return f"spanloom train {_RECIPES}/{self.recipe}.yaml -o runs/{self.recipe}"

    def missing_from(self, model: str, tasks: Mapping[str, str]) -> str:
        """Return the error of a model that lacks it; ``tasks`` are the kinds of tasks by name."""
        names = ", ".join(f"{name} ({kind})" for name, kind in tasks.items()) or "none"
        problem = f"{model} has no task that {self.verb} (its tasks: {names})"
        if self.recipe is None:
            return problem
        how = "in a clone; the recipe's first lines say which corpus to prepare"
        return f"{problem}; to train one, of kind {self.kind}: {self.command} ({how})"


ANNOTATES = Ability("annotates a text")
ANSWERS = Ability("answers questions", "extractive_qa", "squad11")
CHOOSES_LABEL = Ability("chooses among labels", "extractive_classification", "sst2")
CHOOSES_NUMBER = Ability("chooses a number", "extractive_regression", "stsb")
JUDGES_TEXT = Ability("judges a text", "extractive_classification", "sst2")
JUDGES_PAIR = Ability("judges two texts", "extractive_regression", "stsb")
