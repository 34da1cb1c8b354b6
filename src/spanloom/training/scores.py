"""How good a model under training is: each task's own figures on its dev documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from spanloom.config.recipe import StageSpec
from spanloom.data.batches import by_length, collate
from spanloom.data.units import Sizes
from spanloom.document import Document
from spanloom.model.model import BATCH_WORDS, Model
from spanloom.tasks._base import Figures
from spanloom.training.prepare import TaskData


@dataclass(frozen=True, slots=True)
class InTraining:
    """A model as tasks may use it to score themselves (``tasks._base.Use``)."""

    model: Model

    def annotate(self, documents: Sequence[Document], task: str) -> list[Document]:
        """Return the bare documents with what the task predicts."""
        bared = map(self.model.tasks[task].bared, documents)
        return list(self.model.predict(bared, task))

    def losses(self, documents: Sequence[Document], task: str) -> Figures:
        """Return the task's losses a thing learnt; what is concealed is the same every time."""
        model, mine = self.model, self.model.tasks[task]
        window, device = model.recipe.window, model.compute.device
        cuts = [model.cut(document) for document in documents]
        gold = {row: mine.gold(each, cuts[row]) for row, each in enumerate(documents)}
        sizes = Sizes(window, window * mine.reading.pages)
        units = [
            unit
            for row, cut in enumerate(cuts)
            for unit in mine.reading.units(row, cut, sizes, model.prompt)
        ]
        totals, counts = dict.fromkeys(mine.learns, 0.0), dict.fromkeys(mine.learns, 0)
        model.network.eval()
        for group in by_length(units, BATCH_WORDS, window=window):
            batch = collate(group, model.pieces, window)
            batch, hidden = mine.conceal(batch, group, model.pieces, 0)
            targets = (hidden or mine.targets(group, gold)).to(device)
            with torch.inference_mode(), model.compute.autocast():
                batch = batch.to(device)
                vectors = model.network.read(batch, [task])[task]
                losses = mine.loss(model.network.head(task), vectors, batch, targets)
            for name, loss in losses.items():
                totals[name] += float(loss.total)
                counts[name] += loss.count
        return {name: totals[name] / max(1, counts[name]) for name in mine.learns}


def figures(model: Model, stage: StageSpec, data: Mapping[str, TaskData]) -> Figures:
    """Return every figure of the stage's tasks on dev, as ``TASK.FIGURE``."""
    found: Figures = {}
    for name in stage.tasks:
        task = model.tasks[name]
        scored = [document for document in data[name].dev if task.annotated(document)]
        own = task.score(InTraining(model), scored)
        found.update({f"{name}.{key}": value for key, value in own.items()})
    return found


def decisive(found: Mapping[str, float], stage: StageSpec) -> float:
    """Return the figure that the stage names, or the mean of each task's first."""
    if stage.metric is not None:
        return found[stage.metric]
    own = firsts(found)
    return sum(own.values()) / len(own)


def firsts(found: Mapping[str, float]) -> Figures:
    """Return the first figure of each task."""
    return {name.split(".")[0]: value for name, value in reversed(list(found.items()))}
