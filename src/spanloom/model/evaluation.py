"""Evaluate a model on annotated documents by task, and log each evaluation on a test set."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from spanloom.annotation.partial_labels import map_labels
from spanloom.annotation.source_corpus import set_source_corpus
from spanloom.atomic_io import MANIFEST
from spanloom.config.recipe import Recipe
from spanloom.config.specs import CorpusPartSpec
from spanloom.corpora import files, folder
from spanloom.corpora.splits import SPLITS, splits_of_name
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats.brat.draft import problems_note
from spanloom.model.plan import Plan, TaskPlan, output_layers
from spanloom.model.shared_passes import shared_passes
from spanloom.quantity import quantity
from spanloom.tasks._base import MetricValues, Report, Task

LOG = Path(files.LOG)  # where evaluations on test sets are logged by default


class Evaluable(Protocol):
    """What is needed of a model to score its tasks."""

    @property
    def plan(self) -> Plan:
        """What it was made from."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Its tasks by name."""

    def predict(self, documents: Iterable[Document], *names: str) -> Iterator[Document]:
        """Yield documents with the predictions of tasks that have different layers."""


Log = Callable[[str], None]


def evaluate_tasks(
    model: Evaluable, documents: Sequence[Document], data: Path | None, log: Log
) -> dict[str, Report]:
    """Return the report of each task that predicts a layer which some document has.

    ``data`` is where documents come from: what a task learnt from it through a map of labels is
    mapped alike. A document without the layer that a task learnt may have it under the name that
    the task writes, as corrected predictions have. Raises ``DataError`` where no task can be
    scored.
    """
    gold = {}
    predicting = {name: task for name, task in model.tasks.items() if task.predicts}
    written = output_layers({name: task.layer for name, task in predicting.items()})
    for name, task in predicting.items():
        plan = model.plan.tasks[name]
        part = None if data is None else source(plan, data)
        if part is not None:
            log(f"task {name}: layer {part.layer!r} of {part.data} as it learnt it")
        if attributes := _attribute_names(plan):
            log(f"task {name}: attributes are learnt, not scored: {', '.join(attributes)}")
        renamed = _as_learnt(task, written[name], documents, log)
        gold[name] = _scored(task, map_to_task_labels(plan, part, renamed), log)
    reports = _score(model, {name: documents for name, documents in gold.items() if documents})
    if not reports:
        where = "" if data is None else f"{data}: "
        raise DataError(f"{where}no document has a layer that the model predicts")
    return reports


def _attribute_names(task: TaskPlan) -> list[str]:
    """Return the names of the attributes that a task predicts; its report leaves them out."""
    keys = ("attributes", "relation_attributes")
    return sorted({name for key in keys for name in task.vocabulary.get(key, {})})


def usual_split(data: Path, encoding: str) -> str:
    """Return the split that is scored unless another is named: dev, or all if there are none."""
    return folder.ALL if list(folder.splits(data, encoding)) == [folder.ALL] else "dev"


def read_split(
    data: Path, split: str, *, recipe: Recipe, encoding: str, log: Log
) -> Sequence[Document]:
    """Read a split. The dev of data that have none is what training by ``recipe`` held out.

    Documents that came after that training are told from those it learnt by the hashes of their
    names. Raises what ``folder.read`` raises, and ``DataError`` where no document was held out.
    """
    splits = folder.splits(data, encoding)
    source = next((name for name in ("train", folder.ALL) if name in splits), None)
    if split == "dev" and "dev" not in splits and source is not None:
        documents = _read(data, source, encoding, log)
        last = _last_held_out(recipe, data)
        if last is None:
            log(f"{data}: has no dev; scored is what training with seed {recipe.seed} holds out")
            return folder.hold_out_dev(documents, seed=recipe.seed)[1]
        held_out = folder.held_out_until(documents, last, seed=recipe.seed)
        size = quantity(len(documents), "document")
        if not held_out:
            choice = f"--split {source} scores what the model learnt, too"
            raise DataError(f"{data}: training held out none of its {size}; {choice}")
        log(f"{data}: has no dev; scored is what training held out, {len(held_out)} of {size}")
        return held_out
    if split == folder.ALL and split in splits and not splits_of_name(data.resolve().name):
        log(
            f"{data}: has no splits, all documents are scored; if the model learnt from them, "
            "--split dev scores those that training held out"
        )
    return _read(data, split, encoding, log)


def _last_held_out(recipe: Recipe, data: Path) -> str | None:
    """Return up to which hash a model's training held out documents of data; None if unknown.

    The data are those of that name, else the only ones that training divided.
    """
    by_name = {Path(name).name: last for name, last in recipe.held_out.items()}
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    return by_name.get(data.resolve().name)


def _read(data: Path, split: str, encoding: str, log: Log) -> Sequence[Document]:
    """Return the documents of a split; logs how many problems its files have."""
    corpus = folder.read(data, split, encoding=encoding)
    if corpus.problems:
        log(f"{data}: {problems_note(len(corpus.problems))}")
    return corpus.documents


def is_test_set(data: Path, split: str) -> bool:
    """Return whether this is a test set, also by the name of a file or folder given directly."""
    path = data.resolve()
    by_name = path.stem.lower() in SPLITS["test"] or (
        path.is_file() and "test" in splits_of_name(path.name)
    )
    return split == "test" or (split == folder.ALL and by_name)


def evaluate_task(
    model: Evaluable, name: str, documents: Sequence[Document], log: Log
) -> Report | None:
    """Score one task; None where it predicts nothing, and, with a line logged, without its layer.

    Predictions never see gold: they are made on unannotated documents, with what the task is given.
    """
    task = model.tasks[name]
    gold = _scored(task, documents, log) if task.predicts else ()
    return _score(model, {name: gold})[name] if gold else None


def _as_learnt(
    task: Task, written: str, documents: Sequence[Document], log: Log
) -> Sequence[Document]:
    """Return documents in which the layer that a task writes has the name of the one it learnt."""
    if written == task.layer:
        return documents
    renamed = [
        _renamed(document, written, task.layer)
        if document.has_layer(written) and not document.has_layer(task.layer)
        else document
        for document in documents
    ]
    num_renamed = sum(old is not new for old, new in zip(documents, renamed, strict=True))
    if num_renamed:
        log(f"task {task.name}: layer {written!r} of {quantity(num_renamed, 'document')} is scored")
    return renamed


def _renamed(document: Document, layer: str, name: str) -> Document:
    """Return a document with one of its layers under another name."""
    layers = (replace(item, name=name) if item.name == layer else item for item in document.layers)
    return replace(document, layers=tuple(layers))


def _scored(task: Task, documents: Sequence[Document], log: Log) -> list[Document]:
    """Return the documents that have a task's layer; logs what cannot be scored or predicted."""
    gold = [document for document in documents if task.has_gold(document)]
    if len(gold) < len(documents):
        missing = f"{len(documents) - len(gold)} of {quantity(len(documents), 'document')}"
        log(f"task {task.name}: without layer {task.layer!r}, unscored: {missing}")
    unseen = sorted(task.unseen_labels(gold)) if gold else []
    if unseen:
        labels = ", ".join(unseen)
        log(f"task {task.name}: labels unknown to the model, counted as missed: {labels}")
    return gold


def _score(model: Evaluable, gold: Mapping[str, Sequence[Document]]) -> dict[str, Report]:
    """Return the report of each task on its gold; tasks of the same texts share a pass."""
    reports = {}
    for shared in shared_passes(model.tasks, gold):
        predicted = list(model.predict(shared.texts, *shared.tasks))
        for name, task in shared.tasks.items():
            reports[name] = task.compute_metrics(gold[name], predicted)
    return {name: reports[name] for name in gold}


def source(task: TaskPlan, data: Path) -> CorpusPartSpec | None:
    """Return which part of a task's joined corpus a folder is, by its name; None for no part."""
    path = data.resolve()
    names = {path.name, path.parent.name if splits_of_name(path.name) else path.name}
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
        "fingerprint": folder.fingerprint(documents),
        "split": split,
        "seed": seed,
        "metrics": metrics,
    }
    with log.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry) + "\n")
