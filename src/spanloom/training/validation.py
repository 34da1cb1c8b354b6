"""Evaluate a model in training: the metrics of each task on its dev documents."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import torch

from spanloom.config.specs import StageSpec
from spanloom.data.blocks import BlockReader
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instance_readers import InstanceReader
from spanloom.data.instances import Instance, InstanceLimits, TokenizedDocument
from spanloom.data.text_corpus import TextCorpus
from spanloom.document import Document
from spanloom.model.model import BATCH_WORDS, Model
from spanloom.model.shared_passes import shared_passes
from spanloom.tasks._base import MetricValues
from spanloom.training.prepare import TaskData

_LOOKED = 4000  # words of dev, about, where a quick look is enough


@dataclass(frozen=True, slots=True)
class TrainingPredictor:
    """The model in training as a ``tasks._base.Predictor``.

    ``shared`` are the tasks that are all asked for these documents, in one pass of the encoder.
    """

    model: Model
    shared: tuple[str, ...] = ()
    _predicted: dict[str, list[Document]] = field(default_factory=dict, init=False)

    def annotate(self, documents: Sequence[Document], task: str) -> list[Document]:
        """Return the documents without gold, with the predictions of the task.

        Those of a shared task are made for all of them, and given out once.
        """
        if task not in self._predicted:
            names = self.shared if task in self.shared else (task,)
            texts = map(self.model.tasks[task].without_gold, documents)
            self._predicted.update(dict.fromkeys(names, list(self.model.predict(texts, *names))))
        return self._predicted.pop(task)

    def losses(self, documents: Sequence[Document], task: str) -> MetricValues:
        """Return the task's mean losses; the masked pieces are the same each time."""
        model, used = self.model, self.model.tasks[task]
        window, device = model.recipe.window, model.compute.device
        tokenized = [model.tokenize(document) for document in documents]
        gold = {i: used.encode_gold(doc, tokenized[i]) for i, doc in enumerate(documents)}
        instances = self._instances(used.reader, tokenized, gold)
        totals, num_items = dict.fromkeys(used.loss_names, 0.0), 0
        model.network.eval()
        for group in bucket_by_length(instances, BATCH_WORDS, window=window):
            batch = collate(group, model.subword_tokenizer, window)
            batch, masked = used.mask_inputs(batch, group, model.subword_tokenizer, 0)
            targets = (masked or used.collate_targets(group, gold)).to(device)
            with torch.no_grad(), model.compute.autocast():
                batch = batch.to(device)
                inputs = model.network.head_inputs(batch, [task])[task]
                losses = used.loss(model.network.head(task), inputs, batch, targets)
            num_items += used.count_items(batch, targets)
            for name, loss in losses.items():
                totals[name] += float(loss)
        if not num_items:
            return dict.fromkeys(totals, math.inf)
        return {name: total / num_items for name, total in totals.items()}

    def _instances(
        self,
        reader: InstanceReader,
        tokenized: Sequence[TokenizedDocument],
        gold: Mapping[int, Any],
    ) -> Iterable[Instance]:
        """Return the instances of documents; blocks of text are drawn from all of them at once."""
        window = self.model.recipe.window
        if isinstance(reader.reader, BlockReader):
            text = TextCorpus.of_tokenized(tokenized, [gold[i].spans for i in range(len(gold))])
            return reader.reader.draw(text, window, Random(0))
        limits = InstanceLimits(window, window * reader.max_windows)
        return [
            instance
            for row, tokens in enumerate(tokenized)
            for instance in reader.instances(row, tokens, limits, self.model.tokenize_prompt)
        ]


def evaluate(model: Model, stage: StageSpec, data: Mapping[str, TaskData]) -> MetricValues:
    """Return the metrics of the stage's tasks on dev, as ``TASK.METRIC``."""
    gold = {
        name: [document for document in data[name].dev if model.tasks[name].has_gold(document)]
        for name in stage.tasks
    }
    values = {}
    for shared in shared_passes(model.tasks, gold):
        predictor = TrainingPredictor(model, tuple(shared.tasks))
        for name, task in shared.tasks.items():
            values[name] = task.score(predictor, gold[name])
    return {
        f"{name}.{metric}": value for name in stage.tasks for metric, value in values[name].items()
    }


def selection_score(metrics: Mapping[str, float], stage: StageSpec) -> float:
    """Return the stage's validation metric, by default the mean of each task's primary metric."""
    if stage.validation_metric is not None:
        return metrics[stage.validation_metric]
    primary = primary_metrics(metrics)
    return sum(primary.values()) / len(primary)


def primary_metrics(metrics: Mapping[str, float]) -> MetricValues:
    """Return the first metric of each task."""
    return {name.split(".")[0]: value for name, value in reversed(list(metrics.items()))}


def sample_evenly(documents: Sequence[Document], num_words: int) -> list[Document]:
    """Return documents from all parts of dev, evenly spaced, with about so many words in total.

    A text is read once for each of its queries.
    """
    sizes = [len(document.text.split()) * max(1, len(document.queries)) for document in documents]
    share = num_words / max(1, sum(sizes))
    sample, due = [], 0.0
    for document, size in zip(documents, sizes, strict=True):
        due += share * size
        if due > 0:
            sample.append(document)
            due -= size
    return sample


def sample_dev(data: Mapping[str, TaskData]) -> dict[str, TaskData]:
    """Return the data with a part of dev that takes seconds to annotate."""
    share = _LOOKED // len(data)

    def sampled(part: TaskData) -> TaskData:
        gold = [document for document in part.dev if part.task.has_gold(document)]
        return replace(part, dev=tuple(sample_evenly(gold, share)))

    return {name: sampled(part) for name, part in data.items()}
