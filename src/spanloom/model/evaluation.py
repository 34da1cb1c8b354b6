"""How good a model is on annotated documents, task by task, and a note of who looked at a test."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from spanloom.annotation.partial_labels import map_labels
from spanloom.atomic_io import MANIFEST
from spanloom.config.recipe import CorpusPartSpec, Recipe
from spanloom.corpora import files
from spanloom.corpora.folder import fingerprint
from spanloom.corpora.splits import named
from spanloom.document import Document
from spanloom.model.model import Model
from spanloom.tasks._base import MetricValues, Report

LOG = Path(files.LOG)  # where each look at a test set is noted, if no one says else


def evaluate_task(
    model: Model, name: str, documents: Sequence[Document], say: Callable[[str], None]
) -> Report | None:
    """Score one task; None, and a line that says so, where no document has its layer.

    A prediction never sees gold: it is made of bare documents, with what the task is given.
    """
    task = model.tasks[name]
    gold = [document for document in documents if task.has_gold(document)]
    left = len(documents) - len(gold)
    if left:
        lack = f"{left} of {len(documents)} documents lack layer {task.layer!r}"
        say(f"task {name}: {lack}, unscored")
    if not gold:
        return None
    unknown = sorted(task.unseen_labels(gold))
    if unknown:
        labels = ", ".join(unknown)
        say(f"task {name}: labels unknown to the model, counted as missed: {labels}")
    predicted = list(model.predict((task.without_gold(each) for each in gold), name))
    return task.compute_metrics(gold, predicted)


def source(recipe: Recipe, task: str, data: Path) -> CorpusPartSpec | None:
    """Return which part of a task's joined corpus a folder is, by its name; None for none of it."""
    parts = recipe.corpora.get(recipe.tasks[task].data, ())
    place = data.resolve()
    names = {place.name, place.parent.name if named(place.name) else place.name}
    return next((each for each in parts if Path(each.data).name in names), None)


def map_to_task_labels(
    recipe: Recipe, task: str, part: CorpusPartSpec | None, documents: Sequence[Document]
) -> tuple[Document, ...]:
    """Return documents of one part of a task's joined corpus with the layer and labels it learns.

    Without a part, as they are. Raises ``DataError`` for a label that the part's map lacks.
    """
    if part is None:
        return tuple(documents)
    spec = recipe.tasks[task]
    partial = recipe.has_partial_labels(spec.data)
    return tuple(
        map_labels(each, part.layer, spec.layer, part.label_map, partial=partial)
        for each in documents
    )


def log_test_evaluation(
    log: Path,
    command: str,
    place: str,
    data: str,
    split: str,
    documents: Sequence[Document],
    seed: int,
    metrics: Mapping[str, MetricValues],
) -> None:
    """Add one look at a test set to a log: when, by which command, at which model and data."""
    manifest = Path(place) / MANIFEST
    entry = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "model": sha256(manifest.read_bytes()).hexdigest() if manifest.is_file() else place,
        "data": data,
        "fingerprint": fingerprint(documents),
        "split": split,
        "seed": seed,
        "metrics": metrics,
    }
    with log.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry) + "\n")
