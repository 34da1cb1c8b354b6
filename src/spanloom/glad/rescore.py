"""A model that was passed on, scored again: its weights are the same, its recipe says more."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.corpora import card as cards
from spanloom.corpora.card import Card
from spanloom.errors import DataError, NameNotFound
from spanloom.glad import card
from spanloom.glad.result import Result, load_results, save
from spanloom.glad.run import Origin, Say, commit, read_tests, scored
from spanloom.model import serialization, sharing

_OF_TRAINING = (
    *("recipe", "settings", "command", "dev", "updates", "epoch"),
    *("train_cpu_minutes", "train_words_per_s"),
)


def rescore(
    place: Path, data: Path, rows: Path, say: Say, names: Sequence[str] | None = None
) -> tuple[Result, ...]:
    """Score some tasks of a released model anew, save their rows, and write its card of all rows.

    ``rows`` holds those of its release; what they say of training stays. Without ``names`` no task
    is scored: the card is written from the rows that are there. Each look at a test set is noted.
    Raises ``DataError`` where there are no rows, or for a dataset without a card, and
    ``NameNotFound`` for an unknown task.
    """
    recipe = recipes.load(place / serialization.RECIPE)
    before = {(row.dataset, row.task): row for row in load_results(rows)}
    if not before:
        raise DataError(f"{rows}: expected the rows of a release, got none")
    for name in names or ():
        if name not in recipe.kept_tasks:
            raise NameNotFound("task", name, recipe.kept_tasks)
    made = tuple(_again(place, recipe, data, before, say, names)) if names else ()
    for row in made:
        save(row, rows)
    every = before | {(row.dataset, row.task): row for row in made}
    known = known_cards(recipe)
    serialization.rewrite(
        place, card.texts(place.name, recipe, sharing.tasks(recipe), known, ordered(recipe, every))
    )
    return made


def known_cards(recipe: Recipe) -> dict[str, Card]:
    """Return the card of each dataset that a model has learnt from; ``DataError`` for none."""
    found = {}
    for source in (*recipe.all_sources, *recipe.pretraining_data):
        name = Path(source).name
        if name not in cards.names():
            raise DataError(f"{source}: no dataset with a card, so nobody knows its licence")
        found[name] = cards.load(name)
    return found


def ordered(recipe: Recipe, rows: Mapping[tuple[str, str], Result]) -> tuple[Result, ...]:
    """Return the rows in the order of the recipe: by task, then by dataset."""
    places = [
        (Path(each).name, task) for task in recipe.kept_tasks for each in recipe.sources(task)
    ]
    return tuple(rows[place] for place in places if place in rows)


def _again(
    place: Path,
    recipe: Recipe,
    data: Path,
    before: Mapping[tuple[str, str], Result],
    say: Say,
    names: Iterable[str],
) -> Iterable[Result]:
    """Yield new rows; what they say of training is as it was."""
    told = ",".join(names)
    command = shlex.join(["spanloom", "glad", "rescore", str(place), "--tasks", told])
    origin = Origin(place.name, (), commit(place / serialization.RECIPE), command)
    tests = read_tests(recipe, data, names)
    for row in scored(place, tests, data, origin, None, say):
        earlier = before.get((row.dataset, row.task))
        kept = {key: getattr(earlier, key) for key in _OF_TRAINING} if earlier else {}
        yield replace(row, **kept)
