"""How good a model under training is: each task's own figures on its dev documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from spanloom.config.recipe import StageSpec
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document
from spanloom.model.model import BATCH_WORDS, Model
from spanloom.tasks._base import MetricValues
from spanloom.training.prepare import TaskData


@dataclass(frozen=True, slots=True)
class TrainingPredictor:
    """A model as tasks may use it to score themselves (``tasks._base.Use``)."""

    model: Model

    def annotate(self, documents: Sequence[Document], task: str) -> list[Document]:
        """Return the bare documents with what the task predicts."""
        bared = map(self.model.tasks[task].without_gold, documents)
        return list(self.model.predict(bared, task))

    def losses(self, documents: Sequence[Document], task: str) -> MetricValues:
        """Return the task's losses a thing learnt; what is concealed is the same every time."""
        model, mine = self.model, self.model.tasks[task]
        window, device = model.recipe.window, model.compute.device
        cuts = [model.tokenize(document) for document in documents]
        gold = {row: mine.encode_gold(each, cuts[row]) for row, each in enumerate(documents)}
        sizes = InstanceLimits(window, window * mine.reader.max_windows)
        units = [
            unit
            for row, cut in enumerate(cuts)
            for unit in mine.reader.instances(row, cut, sizes, model.tokenize_prompt)
        ]
        totals, counts = dict.fromkeys(mine.loss_names, 0.0), dict.fromkeys(mine.loss_names, 0)
        model.network.eval()
        for group in bucket_by_length(units, BATCH_WORDS, window=window):
            batch = collate(group, model.subword_tokenizer, window)
            batch, hidden = mine.mask_inputs(batch, group, model.subword_tokenizer, 0)
            targets = (hidden or mine.collate_targets(group, gold)).to(device)
            with torch.inference_mode(), model.compute.autocast():
                batch = batch.to(device)
                vectors = model.network.head_inputs(batch, [task])[task]
                losses = mine.loss(model.network.head(task), vectors, batch, targets)
            for name, loss in losses.items():
                totals[name] += float(loss.total)
                counts[name] += loss.count
        return {name: totals[name] / max(1, counts[name]) for name in mine.loss_names}


def evaluate(model: Model, stage: StageSpec, data: Mapping[str, TaskData]) -> MetricValues:
    """Return every figure of the stage's tasks on dev, as ``TASK.FIGURE``."""
    found: MetricValues = {}
    for name in stage.tasks:
        task = model.tasks[name]
        scored = [document for document in data[name].dev if task.has_gold(document)]
        own = task.score(TrainingPredictor(model), scored)
        found.update({f"{name}.{key}": value for key, value in own.items()})
    return found


def selection_score(found: Mapping[str, float], stage: StageSpec) -> float:
    """Return the figure that the stage names, or the mean of each task's first."""
    if stage.validation_metric is not None:
        return found[stage.validation_metric]
    own = primary_metrics(found)
    return sum(own.values()) / len(own)


def primary_metrics(found: Mapping[str, float]) -> MetricValues:
    """Return the first figure of each task."""
    return {name.split(".")[0]: value for name, value in reversed(list(found.items()))}
