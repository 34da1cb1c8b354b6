"""Release a model: store it small, score the stored weights, and write its card.

Nothing is released if its data forbid it: each dataset's card must allow weights learnt from it to
be shared. ``rescore`` scores a released model again, whose recipe says more than its results.
"""

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.corpora import card as cards
from spanloom.corpora import prepare
from spanloom.corpora.card import Card
from spanloom.corpora.folder import locate
from spanloom.errors import DataError, NameNotFound
from spanloom.glad.result import Result, load_results, save
from spanloom.glad.run import (
    Log,
    Origin,
    commit,
    read_tests,
    score,
    set_options,
    train_unless_done,
    training_cost,
)
from spanloom.model import model_card, serialization
from spanloom.model.model import Model
from spanloom.model.plan import Plan, resolve
from spanloom.model.quantization import StorageDtypes
from spanloom.tasks._base import Task
from spanloom.training import train
from spanloom.training.warm_start import earlier_data

LICENSE = "cc-by-sa-4.0"  # the strictest that a released dataset may ask for
STORED = "stored: "  # prefix of the setting of a result that tells how weights are stored
_OF_TRAINING = (
    *("recipe", "settings", "command", "dev", "updates", "epoch"),
    *("train_cpu_minutes", "train_words_per_s"),
)


def release(
    recipe: Path,
    data: Path,
    run: Path,
    out: Path,
    dtypes: StorageDtypes,
    log: Log,
    settings: Sequence[str] = (),
) -> tuple[Result, ...]:
    """Train a recipe into ``run``, or take the model there, and release it to ``out``.

    Return the results of the released weights on the test sets; the card shows them. Raises what
    training does, and ``DataError`` for a dataset without a card or that allows no weights.
    """
    plan = resolve(recipes.load(recipe, settings), data)
    dataset_cards = _cards_with_permission(plan)
    tests = read_tests(plan)
    if not any(test.documents for some in tests.values() for test in some):
        raise DataError(f"{data}: no task of {recipe} has a test split, so nothing could be told")
    train_unless_done(plan, run, log, resume=train.run_folder(run).exists())
    cost = training_cost(plan, run, log)
    options = [*set_options(settings), "--embeddings", dtypes.tables, "--weights", dtypes.matrices]
    command = shlex.join(["spanloom", "glad", "release", str(recipe), *options])
    origin = Origin(recipe.stem, (f"{STORED}{dtypes}", *settings), commit(recipe), command)
    staging = out.with_name(f"{out.name}.release")  # what fails must not leave half of it at OUT
    try:
        serialization.repack(run, staging, dtypes)
        model = serialization.load(staging)
        rows = tuple(score(model, staging, tests, data, origin, cost, log))
        serialization.rewrite(staging, card_texts(recipe.stem, model, dataset_cards, rows))
        serialization.copy(staging, out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return rows


def _cards_with_permission(plan: Plan) -> dict[str, Card]:
    """Return the cards of the datasets that a recipe and the models before it learn from."""
    recipe = plan.recipe
    earlier = earlier_data(recipe) or recipe.pretraining_data
    source_cards = {}
    for source in (*recipe.all_sources, *earlier):
        path = locate(source, plan.recipe_dir)
        name = path.name
        if name not in cards.names() or prepare.read_summary(plan.recipe_dir, name) is None:
            raise DataError(
                f"{path}: no dataset with a card that spanloom glad prepare made, so nobody knows "
                f"its licence"
            )
        source_cards[name] = cards.load(name)
        if not source_cards[name].may_share_weights:
            raise DataError(
                f"{name}: its licence ({source_cards[name].license}) does not say that weights "
                f"learnt from it may be passed on"
            )
    return source_cards


def rescore(
    folder: Path, data: Path, results: Path, log: Log, names: Sequence[str] | None = None
) -> tuple[Result, ...]:
    """Score some tasks of a released model anew, save their results, and write its card.

    ``results`` has those of the release; their fields about training stay. Without ``names`` only
    the card is written. Each evaluation on a test set is logged. Raises ``DataError`` where there
    are no results, or for a dataset without a card, and ``NameNotFound`` for an unknown task.
    """
    before = {(row.dataset, row.task): row for row in load_results(results)}
    if not before:
        raise DataError(f"{results}: expected the rows of a release, got none")
    model = serialization.load(folder)
    recipe = model.recipe
    for name in names or ():
        if name not in recipe.kept_tasks:
            raise NameNotFound("task", name, recipe.kept_tasks)
    rows = tuple(_rescore(model, folder, data, before, log, names)) if names else ()
    for row in rows:
        save(row, results)
    current = before | {(row.dataset, row.task): row for row in rows}
    texts = card_texts(folder.name, model, known_cards(recipe), sort_results(recipe, current))
    serialization.rewrite(folder, texts)
    return rows


def known_cards(recipe: Recipe) -> dict[str, Card]:
    """Return the card of each dataset that a model has learnt from; ``DataError`` for none."""
    cards_by_name = {}
    for source in (*recipe.all_sources, *recipe.pretraining_data):
        name = Path(source).name
        if name not in cards.names():
            raise DataError(f"{source}: no dataset with a card, so nobody knows its licence")
        cards_by_name[name] = cards.load(name)
    return cards_by_name


def sort_results(recipe: Recipe, rows: Mapping[tuple[str, str], Result]) -> tuple[Result, ...]:
    """Return results in the order of the recipe: by task, then by dataset."""
    keys = [(Path(data).name, task) for task in recipe.kept_tasks for data in recipe.sources(task)]
    return tuple(rows[key] for key in keys if key in rows)


def _rescore(
    model: Model,
    folder: Path,
    data: Path,
    before: Mapping[tuple[str, str], Result],
    log: Log,
    names: Sequence[str],
) -> Iterable[Result]:
    """Yield new results with the fields about training of the earlier ones."""
    command = ["spanloom", "glad", "rescore", str(folder), "--tasks", ",".join(names)]
    commit_name = commit(folder / serialization.RECIPE)
    origin = Origin(folder.name, (), commit_name, shlex.join(command))
    tests = read_tests(replace(model.plan, recipe_dir=data), names)
    for row in score(model, folder, tests, data, origin, None, log):
        earlier = before.get((row.dataset, row.task))
        kept = {key: getattr(earlier, key) for key in _OF_TRAINING} if earlier else {}
        yield replace(row, **kept)


def card_texts(
    name: str, model: Model, dataset_cards: Mapping[str, Card], rows: Sequence[Result]
) -> dict[str, str]:
    """Return the card and the licence of a released model, by file name."""
    text = files("spanloom.glad").joinpath(f"LICENSE.{LICENSE}.txt").read_text(encoding="utf-8")
    return {
        serialization.CARD: _card(name, model, dataset_cards, rows),
        serialization.LICENSE: text,
    }


def _card(
    name: str, model: Model, dataset_cards: Mapping[str, Card], rows: Sequence[Result]
) -> str:
    """Return the README, with the front matter that the hub reads."""
    recipe, tasks = model.recipe, model.tasks
    lines = [*model_card.front_matter(recipe, LICENSE), f"# {name}", ""]
    lines += [*model_card.purpose(recipe, tasks), "## How good it is", ""]
    lines += [*_scores(tasks, dataset_cards, rows), "", *model_card.initial_models(recipe)]
    lines += ["## Data, with thanks", ""]
    for dataset, card in dataset_cards.items():
        lines.append(
            f"- **{dataset}**: {card.title}. {card.citation}. {card.homepage} ({card.license})"
        )
    lines += ["", "## Licence", "", _license_text(), "", "## Labels", ""]
    for task in tasks.values():
        for key, labels in model_card.labels(recipe, task).items():
            lines.append(f"- {task.name}, {key}: {', '.join(f'`{label}`' for label in labels)}")
    lines += ["", "```python", "import spanloom", "", 'model = spanloom.load("this/folder")']
    lines.append('document = model("Ada met Bob in London.")')
    return "\n".join([*lines, "```", ""])


def _scores(
    tasks: Mapping[str, Task], dataset_cards: Mapping[str, Card], rows: Sequence[Result]
) -> list[str]:
    """Return a table with a line per test set, and how it was computed."""
    stored = next((s.removeprefix(STORED) for s in rows[0].settings if s.startswith(STORED)), "")
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
        license_ = dataset_cards[row.dataset].license
        lines.append(f"| {row.task} | {row.dataset}{mapped}{left_out} | {license_} | {metrics} |")
    return lines


def _license_text() -> str:
    return (
        "The weights are under CC BY-SA 4.0 (`LICENSE`), the strictest of their data's licences, "
        "as are works made of them. Spanloom, the program that runs them, is under Apache-2.0."
    )
