"""Tune the biases of a model's decisions on dev: how much evidence a span or a relation needs.

Nearly all candidates are "none", so trained scores favour it. A bias moves the line between "none"
and all other labels of one decision; the order of candidates stays. The encoder reads dev once for
all biases that are tried, since what heads read does not depend on them.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

from torch import nn

from spanloom.annotation.source_corpus import source_corpus
from spanloom.document import Document
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.model.network import Network
from spanloom.tasks._base import MetricValues, untuned_bias
from spanloom.tensors import Batch, HeadInputs
from spanloom.training.metrics_log import Log
from spanloom.training.validation import TrainingPredictor, sample_evenly

MIN_SPANS = 100  # of gold; with fewer, a bias would fit chance
MAX_WORDS = 40_000  # of dev that are annotated for each bias tried, about
STEPS = (0.5, 0.25, 0.125)
LIMIT = 3.0  # of a bias, in logits


class StoredInputs(Network):
    """A network that keeps what its heads read of each batch, for texts that are read many times.

    Heads are those of ``network``; memory grows with the words read.
    """

    def __init__(self, network: Network) -> None:
        nn.Module.__init__(self)
        self.network = network
        self._stored: dict[Hashable, dict[str, HeadInputs]] = {}

    def head(self, task: str) -> nn.Module:
        """Return the head that a task uses."""
        return self.network.head(task)

    def head_inputs(self, batch: Batch, tasks: Iterable[str]) -> dict[str, HeadInputs]:
        """Return the inputs of each task's head, computed once for equal batches."""
        names = tuple(tasks)
        bounds = batch.sentences, batch.windows, batch.instances, batch.input_ids
        key = names, batch.words, batch.corpora, *(x.cpu().numpy().tobytes() for x in bounds)
        if key not in self._stored:
            self._stored[key] = self.network.head_inputs(batch, names)
        return self._stored[key]


def tune(
    model: Model, dev: Mapping[str, Sequence[Document]], names: Iterable[str]
) -> tuple[Model, dict[str, MetricValues]]:
    """Return the model with the biases that are best on dev for the named tasks, and their metrics.

    ``dev`` are gold documents by task. Each decision is tuned by its own metric, one after the
    other, from no biases at all. Tasks without decisions, or with too little gold, keep their
    biases and have no metrics. The biases of other tasks stay.
    """
    metrics = {}
    for name in names:
        if not model.tasks[name].decisions:
            continue  # pre-training reads documents without any layer
        documents = [doc for doc in dev[name] if model.tasks[name].has_gold(doc)]
        layer = model.tasks[name].layer
        num_spans = sum(len(document[layer].spans) for document in documents)
        if num_spans < MIN_SPANS:
            continue
        sample, stored = sample_evenly(documents, MAX_WORDS), StoredInputs(model.network)
        model = model.with_biases(_tune_task(model.with_network(stored), name, sample))
        network = stored if len(sample) == len(documents) else model.network
        predictor = TrainingPredictor(model.with_network(network))
        metrics[name] = model.tasks[name].score(predictor, documents)
    return model, metrics


def tune_weights(
    model: Model,
    folder: Path,
    dev: Mapping[str, Sequence[Document]],
    names: Iterable[str],
    log: Log,
) -> tuple[Model, MetricValues]:
    """Tune the biases of the model in ``folder``; return it, and the new metrics on dev.

    ``model`` has its shape and gets its weights. Metrics are named ``TASK.METRIC``; there are none
    where biases stay as they were. Raises ``StorageError``.
    """
    serialization.load_weights(folder, model.network)
    tuned, metrics = tune(model, dev, names)
    before, after = model.recipe.biases, tuned.recipe.biases
    named: dict[str, float] = {}
    for task, values in metrics.items():
        if after.get(task) == before.get(task):
            continue
        chosen = ", ".join(
            f"{decision} {bias:+g}" for decision, bias in after.get(task, {}).items()
        )
        scores = ", ".join(f"{name} {100 * value:.2f}" for name, value in values.items())
        log(f"biases of {task}: {chosen or 'none'}; on dev now {scores}")
        named |= {f"{task}.{name}": value for name, value in values.items()}
    return tuned, named


def _tune_task(
    model: Model, name: str, documents: Sequence[Document]
) -> Mapping[str, Mapping[str, float]]:
    """Return the biases of all tasks: new ones of one task, those of the others as they are."""
    biases = {task: biases for task, biases in model.recipe.biases.items() if task != name}
    model = model.with_biases(biases)
    for decision, metric in model.tasks[name].decisions.items():
        model = _tune_decision(model, name, decision, metric, documents)
    return model.recipe.biases


def _tune_decision(
    model: Model, name: str, decision: str, metric: str, documents: Sequence[Document]
) -> Model:
    """Return the model with the best bias of one decision, as it is if that is the untuned one.

    Of a joined corpus each part counts alike: pooled, the largest would choose for all.
    """
    biases = model.recipe.biases

    def biased(bias: float) -> Model:
        task_biases = {**biases.get(name, {}), decision: bias}
        return model.with_biases({**biases, name: task_biases})

    by_corpus: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_corpus[source_corpus(document)].append(document)

    @cache
    def score(bias: float) -> float:
        candidate = biased(bias)
        task, predictor = candidate.tasks[name], TrainingPredictor(candidate)
        return fmean(task.score(predictor, part)[metric] for part in by_corpus.values())

    best = climb(score)
    return biased(best) if score(best) > score(untuned_bias(decision)) else model


def climb(score: Callable[[float], float]) -> float:
    """Return the bias with the highest score, going uphill from 0 in ever smaller steps.

    A step that changes nothing is doubled once: a small one may move no candidate over the line.
    Of equal scores the first one found stays, so it is 0 where no bias is better.
    """
    best = 0.0
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for candidate in (best + step, best - step, best + 2 * step, best - 2 * step):
                if abs(candidate) <= LIMIT and score(candidate) > score(best):
                    best, moved = candidate, True
                    break
    return best
