"""A model made ready to be passed on: stored small, scored as it is stored, its data named.

Nothing is released whose data forbid it: each dataset's card must say that weights learnt from it
may be passed on.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.corpora import card as cards
from spanloom.corpora.card import Card
from spanloom.corpora.locate import locate
from spanloom.errors import DataError
from spanloom.glad.row import Row
from spanloom.glad.run import Origin, Say, commit, read_tests, scored, spent, train
from spanloom.model import folder
from spanloom.model.packing import Store
from spanloom.training import start

LICENCE = "cc-by-sa-4.0"  # the strictest that a released dataset may ask for


def release(
    recipe: Path, data: Path, run: Path, out: Path, store: Store, say: Say
) -> tuple[Row, ...]:
    """Train a recipe into ``run``, or take what is there, and write what may be passed on.

    Returns the rows of the test sets, scored by the file at ``out``; its card tells them. Raises
    what training does, and ``DataError`` for a dataset without a card or that allows no weights.
    """
    asked = recipes.load(recipe)
    known = _cards(asked, data)
    tests = read_tests(asked, data)
    train(asked, data, run, say, resume=start.home(run).exists())
    took = spent(run, asked, data, say)
    folder.repack(run, out, store)
    command = shlex.join(["spanloom", "glad", "release", str(recipe)])
    origin = Origin(recipe.stem, (f"stored: {store}",), commit(recipe), command)
    rows = tuple(scored(out, tests, data, origin, took, say))
    folder.rewrite(out, _card(recipe.stem, asked, known, rows, store))
    return rows


def _cards(recipe: Recipe, data: Path) -> dict[str, Card]:
    """The card of each dataset that a recipe learns from."""
    found = {}
    for task in recipe.kept:
        for source in recipe.sources(task):
            name = locate(source, data).name
            if name not in cards.names():
                raise DataError(f"{name}: no dataset with a card, so nobody knows its licence")
            found[name] = cards.load(name)
            if not found[name].weights:
                raise DataError(
                    f"{name}: its licence ({found[name].licence}) does not say that weights learnt "
                    f"from it may be passed on"
                )
    return found


def _card(
    name: str, recipe: Recipe, known: Mapping[str, Card], rows: Sequence[Row], store: Store
) -> str:
    """The README of what is passed on, with the front matter that the hub reads."""
    lines = [
        *("---", "library_name: spanloom", "language: en", f"license: {LICENCE}"),
        *("tags: [spanloom, span-relation]", "---", "", f"# {name}", ""),
        "All layers come from one pass of one encoder. Test scores are of this very file, in "
        f"percent; weights are stored with {store}.",
        "",
        *("| layer | dataset | licence | test |", "|---|---|---|---|"),
    ]
    for row in rows:
        said = ", ".join(f"{key} {100 * value:.2f}" for key, value in row.figures.items())
        mapped = " (labels mapped)" if row.labels else ""
        licence = known[row.dataset].licence
        lines.append(f"| {row.task} | {row.dataset}{mapped} | {licence} | {said} |")
    lines += ["", "Learnt from, with thanks:", ""]
    for dataset, each in known.items():
        lines.append(f"- **{dataset}**: {each.title}. {each.cite}. {each.home} ({each.licence})")
    lines += ["", "Labels:", ""]
    for task in recipe.kept:
        labels = _labels(rows, task)
        if labels:
            lines.append(f"- {task}: {', '.join(f'`{each}`' for each in labels)}")
    lines += ["", "```python", "import spanloom", "", 'document = spanloom.load()("Ada met Bob.")']
    return "\n".join([*lines, "```", ""])


def _labels(rows: Sequence[Row], task: str) -> list[str]:
    """The labels that a task's reports tell."""
    found: set[str] = set()
    for row in rows:
        if row.task == task:
            for measure in row.report.values():
                if isinstance(measure, dict) and isinstance(measure.get("labels"), dict):
                    found.update(measure["labels"])
    return sorted(found)
