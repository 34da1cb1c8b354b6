"""Train a recipe on prepared datasets and score it on their test sets: one row a task."""

import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.corpora import card as cards
from spanloom.corpora import folder, prepare
from spanloom.corpora.locate import locate
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.glad.row import Row
from spanloom.model import evaluation
from spanloom.model.folder import load
from spanloom.model.model import Model
from spanloom.training import start

Say = Callable[[str], None]
INTERVAL = "f1_interval"


def run(
    recipe: Path, data: Path, out: Path, say: Say, settings: Sequence[str] = (), *, resume: bool
) -> Iterator[Row]:
    """Train ``recipe`` and yield a row for each task whose dataset has a test split.

    ``data`` holds the prepared datasets that the recipe names. A model that is at ``out`` already
    is scored, not trained again. Raises what training does, and ``DataError`` where no task of the
    recipe has a test set; each look at one is noted in ``test-evaluations.jsonl``.
    """
    chosen = recipes.load(recipe, settings)
    began = time.process_time()
    if not out.exists():
        start.train(chosen, data, out, say, resume=resume)
    minutes = (time.process_time() - began) / 60
    model = load(str(out))
    command = shlex.join(["spanloom", "glad", "run", str(recipe), *_said(settings)])
    tasks = [name for name, task in model.tasks.items() if task.annotates]
    found = [(name, *_test(chosen, name, data)) for name in tasks]
    if not any(documents for _, _, documents in found):
        raise DataError(f"{data}: no task of {recipe} has a test split")
    for name, dataset, documents in found:
        row = _row(model, chosen, name, dataset, documents, say)
        if row is not None:
            figures = {name: row["figures"]}
            look = command, str(out), dataset, "test", documents, chosen.seed, figures
            evaluation.note(evaluation.LOG, *look)
            prepared = prepare.already(data, dataset)
            yield Row(
                dataset=dataset,
                version=cards.load(dataset).version if dataset in cards.names() else "",
                key=prepared.key if prepared else "",
                task=name,
                recipe=recipe.stem,
                seed=chosen.seed,
                commit=_commit(recipe),
                command=command,
                date=datetime.now(UTC).date().isoformat(),
                minutes=round(minutes, 2),
                **row,
            )


def _said(settings: Sequence[str]) -> list[str]:
    return [part for each in settings for part in ("--set", each)]


def _test(recipe: Recipe, task: str, data: Path) -> tuple[str, tuple[Document, ...]]:
    """The dataset of a task, and the documents of its test split, none where it has none."""
    place = locate(recipe.tasks[task].data, data)
    splits = folder.splits(place)
    return place.name, folder.read(place, "test").documents if "test" in splits else ()


def _row(
    model: Model,
    recipe: Recipe,
    name: str,
    dataset: str,
    documents: Sequence[Document],
    say: Say,
) -> dict[str, Any] | None:
    """What was measured of one task, None where there is nothing to measure."""
    if not documents:
        say(f"task {name}: {dataset} has no test split, not scored")
        return None
    began = time.process_time()
    report = evaluation.scored(model, name, documents, say)
    seconds = time.process_time() - began
    if report is None:
        return None
    told = report.to_json()
    words = sum(len(model.cut(each).words) for each in documents)
    return {
        "kind": recipe.tasks[name].kind,
        "figures": model.tasks[name].figures(report),
        "interval": _interval(told),
        "annotated": round(words / seconds, 1),
        "report": told,
    }


def _interval(told: object) -> tuple[float, float] | None:
    """The first interval that a report tells, wherever it stands."""
    if not isinstance(told, dict):
        return None
    if INTERVAL in told:
        return told[INTERVAL]["low"], told[INTERVAL]["high"]
    return next((found for each in told.values() if (found := _interval(each))), None)


def _commit(recipe: Path) -> str:
    """The commit that the recipe's folder is at, with a + where files differ; "" without git."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=recipe.resolve().parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip()
