"""The card of a model that is passed on: what it is for, how good it is, whom to thank."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from spanloom.config.recipe import Recipe
from spanloom.corpora.card import Card
from spanloom.glad.result import Result
from spanloom.model import model_card, serialization
from spanloom.tasks._base import Task

LICENCE = "cc-by-sa-4.0"  # the strictest that a released dataset may ask for
STORED = "stored: "  # how the setting of a row begins that says how weights are stored


def texts(
    name: str,
    recipe: Recipe,
    tasks: Mapping[str, Task],
    known: Mapping[str, Card],
    rows: Sequence[Result],
) -> dict[str, str]:
    """Return the card and the licence of a model, by file; ``known`` are its datasets' cards."""
    whole = files("spanloom.glad").joinpath(f"LICENSE.{LICENCE}.txt").read_text(encoding="utf-8")
    return {
        serialization.CARD: _card(name, recipe, tasks, known, rows),
        serialization.LICENCE: whole,
    }


def _card(
    name: str,
    recipe: Recipe,
    tasks: Mapping[str, Task],
    known: Mapping[str, Card],
    rows: Sequence[Result],
) -> str:
    """The README, with the front matter that the hub reads."""
    lines = [*model_card.front_matter(recipe, LICENCE), f"# {name}", ""]
    lines += [*model_card.purpose(recipe, tasks), "## How good it is", ""]
    lines += [*_scores(tasks, known, rows), "", *model_card.initial_models(recipe)]
    lines += ["## Data, with thanks", ""]
    for dataset, each in known.items():
        lines.append(
            f"- **{dataset}**: {each.title}. {each.citation}. {each.homepage} ({each.license})"
        )
    lines += ["", "## Licence", "", _licence(), "", "## Labels", ""]
    for task in tasks.values():
        for key, labels in model_card.labels(recipe, task).items():
            lines.append(f"- {task.name}, {key}: {', '.join(f'`{each}`' for each in labels)}")
    lines += ["", "```python", "import spanloom", "", 'model = spanloom.load("this/folder")']
    lines.append('document = model("Ada met Bob in London.")')
    return "\n".join([*lines, "```", ""])


def _scores(
    tasks: Mapping[str, Task], known: Mapping[str, Card], rows: Sequence[Result]
) -> list[str]:
    """A table with a line a test set, and how it came about."""
    stored = next(
        (each.removeprefix(STORED) for each in rows[0].settings if each.startswith(STORED)), ""
    )
    lines = [
        f"Test scores are of these very weights, in percent, computed on {rows[0].compute}. They "
        f"are stored with {stored}.",
        "",
        *("| task | dataset | license | test |", "|---|---|---|---|"),
    ]
    for row in rows:
        metrics = ", ".join(f"{key} {100 * value:.2f}" for key, value in row.metrics.items())
        unscored = ", ".join(sorted(tasks[row.task].unwritten))
        mapped = " (labels mapped)" if row.labels else ""
        left_out = f" ({unscored} not scored)" if unscored else ""
        license_ = known[row.dataset].license
        lines.append(f"| {row.task} | {row.dataset}{mapped}{left_out} | {license_} | {metrics} |")
    return lines


def _licence() -> str:
    return (
        "The weights are under CC BY-SA 4.0 (`LICENSE`), the strictest of their data's licences, "
        "as are works made of them. Spanloom, the program that runs them, is under Apache-2.0."
    )
