"""From a recipe to what the loop needs: tasks with their labels, texts cut, gold over words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanloom.config.options import options
from spanloom.config.recipe import Recipe
from spanloom.corpora import folder
from spanloom.corpora.documents import fingerprint, hold_out
from spanloom.corpora.locate import locate
from spanloom.data.pieces import Pieces
from spanloom.data.units import Cut, cut
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model import build
from spanloom.tasks import load
from spanloom.tasks._base import Gold, Task
from spanloom.words import Splitter

LONGEST = 256  # words of a sentence in training; longer ones are cut, and counted


@dataclass(frozen=True, slots=True)
class TaskData:
    """One task's documents: train cut into words with gold beside, dev as it is."""

    task: Task
    cuts: tuple[Cut, ...]
    gold: Mapping[int, Gold]
    dev: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything a run needs but the network."""

    recipe: Recipe
    tasks: Mapping[str, Task]
    data: Mapping[str, TaskData]
    fingerprint: str
    remarks: tuple[str, ...]


def prepare(recipe: Recipe, near: Path, split: Splitter, pieces: Pieces) -> Prepared:
    """Read the corpora, collect what recipes leave open, express gold over words.

    ``near`` is the recipe's folder. Raises ``DataError``, ``FormatError``, ``LayerError`` and
    ``RecipeError``. Remarks say in words what training will not see.
    """
    corpora = {
        data: _corpus(locate(data, near), recipe.seed)
        for data in {spec.data for spec in recipe.tasks.values()}
    }
    cuts = {
        data: tuple(cut(each.text, split, pieces, longest=LONGEST) for each in train)
        for data, (train, _) in corpora.items()
    }
    collected = _collect(recipe, corpora, cuts)
    collected["pieces"] = {"padding": pieces.padding, "unknown": pieces.unknown}
    recipe = recipe.model_copy(update={"collected": collected})
    tasks = build.tasks(recipe)
    data, remarks = {}, []
    for name, task in tasks.items():
        corpus = recipe.tasks[name].data
        train, dev = corpora[corpus]
        gold = {
            row: task.gold(document[task.layer], whole.words)
            for row, (document, whole) in enumerate(zip(train, cuts[corpus], strict=True))
            if document.has(task.layer)
        }
        data[name] = TaskData(task, cuts[corpus], gold, dev)
        remarks.append(_remark(name, task, train, gold))
    every = [document for train, _ in corpora.values() for document in train]
    return Prepared(recipe, tasks, data, fingerprint(every), tuple(remarks))


def _corpus(path: Path, seed: int) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Train and dev; a corpus without dev gives a tenth of train for it."""
    known = folder.splits(path)
    first = "train" if "train" in known else next(iter(known))
    if first == "test":
        raise DataError(f"{path}: expected train/ to learn from, found test/ alone")
    train = folder.read(path, first).documents
    if "dev" in known:
        return train, folder.read(path, "dev").documents
    kept, held = hold_out(train, seed=seed)
    return tuple(kept), tuple(held)


def _collect(
    recipe: Recipe,
    corpora: Mapping[str, tuple[tuple[Document, ...], tuple[Document, ...]]],
    cuts: Mapping[str, Sequence[Cut]],
) -> dict[str, object]:
    collected: dict[str, object] = {}
    for name, spec in recipe.tasks.items():
        kind = load(spec.kind)
        chosen = options(kind.options, spec.options, recipe.at("tasks", name))
        train = [
            (document[spec.layer], whole.words)
            for document, whole in zip(corpora[spec.data][0], cuts[spec.data], strict=True)
            if document.has(spec.layer)
        ]
        if not any(layer.spans for layer, _ in train):
            there = sorted({each.name for d in corpora[spec.data][0] for each in d.layers})
            raise DataError(
                f"task {name!r}: no document of {spec.data!r} has spans in layer {spec.layer!r} "
                f"(layers there: {', '.join(there) or 'none'})"
            )
        collected[name] = kind.collect(chosen, train)
    return collected


def _remark(name: str, task: Task, train: Sequence[Document], gold: Mapping[int, Gold]) -> str:
    spans = sum(len(each.spans) for each in gold.values())
    pairs = sum(len(each.pairs) for each in gold.values())
    every = sum(len(train[row][task.layer].spans) for row in gold)
    missed = f", {every - spans} others cannot be expressed over words" if every > spans else ""
    return f"{name}: {len(gold)} documents, {spans} spans{missed}, {pairs} relations to learn from"
