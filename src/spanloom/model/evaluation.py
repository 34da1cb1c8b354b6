"""Evaluate a model on annotated documents by task, and log each evaluation on a test set."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from spanloom.annotation.partial_labels import map_labels
from spanloom.annotation.source_corpus import set_source_corpus
from spanloom.atomic_io import MANIFEST
from spanloom.config.recipe import CorpusPartSpec
from spanloom.corpora import files
from spanloom.corpora.folder import fingerprint
from spanloom.corpora.splits import splits_of_name
from spanloom.document import Document
from spanloom.model.model import Model
from spanloom.model.plan import TaskPlan
from spanloom.tasks._base import MetricValues, Report

LOG = Path(files.LOG)  # where evaluations on test sets are logged by default


def evaluate_task(
    model: Model, name: str, documents: Sequence[Document], log: Callable[[str], None]
) -> Report | None:
    """Score one task; None, and a logged line, where no document has its layer.

    Predictions never see gold: they are made on unannotated documents, with what the task is given.
    """
    task = model.tasks[name]
    gold = [document for document in documents if task.has_gold(document)]
    if len(gold) < len(documents):
        missing = f"{len(documents) - len(gold)} of {len(documents)} documents"
        log(f"task {name}: {missing} lack layer {task.layer!r}, unscored")
    if not gold:
        return None
    unseen = sorted(task.unseen_labels(gold))
    if unseen:
        labels = ", ".join(unseen)
        log(f"task {name}: labels unknown to the model, counted as missed: {labels}")
    predicted = list(model.predict((task.without_gold(document) for document in gold), name))
    return task.compute_metrics(gold, predicted)


def source(task: TaskPlan, data: Path) -> CorpusPartSpec | None:
    """Return which part of a task's joined corpus a folder is, by its name; None for no part."""
    folder = data.resolve()
    names = {folder.name, folder.parent.name if splits_of_name(folder.name) else folder.name}
    return next((part for part in task.parts if Path(part.data).name in names), None)


def map_to_task_labels(
    task: TaskPlan, part: CorpusPartSpec | None, documents: Sequence[Document]
) -> tuple[Document, ...]:
    """Return documents of one part of a task's joined corpus with the layer and labels it learns.

    They say which part they come from. Without a part, they stay as they are. Raises ``DataError``
    for a label that the map lacks.
    """
    if part is None:
        return tuple(documents)
    layer, labels, partial = task.spec.layer, part.label_map, task.has_partial_labels
    mapped = (map_labels(doc, part.layer, layer, labels, partial=partial) for doc in documents)
    return tuple(set_source_corpus(document, part.data) for document in mapped)


def log_test_evaluation(
    log: Path,
    command: str,
    model_path: str,
    data: str,
    split: str,
    documents: Sequence[Document],
    seed: int,
    metrics: Mapping[str, MetricValues],
) -> None:
    """Append one evaluation on a test set to a log: date, command, model, data and metrics."""
    manifest = Path(model_path) / MANIFEST
    entry = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "model": sha256(manifest.read_bytes()).hexdigest() if manifest.is_file() else model_path,
        "data": data,
        "fingerprint": fingerprint(documents),
        "split": split,
        "seed": seed,
        "metrics": metrics,
    }
    with log.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry) + "\n")
