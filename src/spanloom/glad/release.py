"""A model made ready to be passed on: stored small, scored as it is stored, its data named.

Nothing is released whose data forbid it: each dataset's card must say that weights learnt from it
may be passed on.
"""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.corpora import card as cards
from spanloom.corpora import prepare
from spanloom.corpora.card import Card
from spanloom.corpora.folder import locate
from spanloom.errors import DataError
from spanloom.glad import card
from spanloom.glad.result import Result
from spanloom.glad.run import (
    Origin,
    Say,
    commit,
    read_tests,
    said,
    scored,
    spent,
    train_unless_done,
)
from spanloom.model import serialization, sharing
from spanloom.model.quantization import StorageDtypes
from spanloom.training import train
from spanloom.training.warm_start import initial_recipe


def release(
    recipe: Path,
    data: Path,
    run: Path,
    out: Path,
    store: StorageDtypes,
    say: Say,
    settings: Sequence[str] = (),
) -> tuple[Result, ...]:
    """Train a recipe into ``run``, or take what is there, and write what may be passed on.

    Returns the rows of the test sets, scored by the file at ``out``; its card tells them. Raises
    what training does, and ``DataError`` for a dataset without a card or that allows no weights.
    """
    asked = recipes.load(recipe, settings)
    known = _cards(asked, data)
    tests = read_tests(asked, data)
    if not any(test.documents for each in tests.values() for test in each):
        raise DataError(f"{data}: no task of {recipe} has a test split, so nothing could be told")
    train_unless_done(asked, data, run, say, resume=train.home(run).exists())
    took = spent(run, asked, data, say)
    stored = ["--embeddings", store.tables, "--weights", store.matrices]
    command = shlex.join(["spanloom", "glad", "release", str(recipe), *said(settings), *stored])
    origin = Origin(recipe.stem, (f"{card.STORED}{store}", *settings), commit(recipe), command)
    made = out.with_name(f"{out.name}.release")  # what fails must not leave half of it at OUT
    try:
        serialization.repack(run, made, store)
        rows = tuple(scored(made, tests, data, origin, took, say))
        learnt = recipes.load(made / serialization.RECIPE)
        tasks = sharing.tasks(learnt)
        serialization.rewrite(made, card.texts(recipe.stem, learnt, tasks, known, rows))
        serialization.copy(made, out)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return rows


def _cards(recipe: Recipe, data: Path) -> dict[str, Card]:
    """The card of each dataset that a recipe learns from, or that its start has learnt from."""
    if recipe.init_from is not None:
        earlier = serialization.load(recipe.init_from, device="cpu", precision="fp32").recipe
        recipe = initial_recipe(recipe, earlier)
    found = {}
    for source in (*recipe.all_sources, *recipe.pretraining_data):
        name = locate(source, data).name
        if name not in cards.names() or prepare.read_summary(data, name) is None:
            raise DataError(
                f"{locate(source, data)}: no dataset with a card that spanloom glad prepare "
                f"made, so nobody knows its licence"
            )
        found[name] = cards.load(name)
        if not found[name].may_share_weights:
            raise DataError(
                f"{name}: its licence ({found[name].license}) does not say that weights learnt "
                f"from it may be passed on"
            )
    return found
