"""Base of tasks whose head scores single words, and whose layer has labelled spans of words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from pydantic import BaseModel
from torch import Tensor

from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import Document, Layer
from spanloom.metrics.report import score
from spanloom.tasks._base import (
    LayerTask,
    Measure,
    Metrics,
    NewId,
    TaskSetup,
    TaskType,
    TrainDocuments,
)
from spanloom.tasks._document_prediction import spans_and_relations
from spanloom.tasks._spans import SPAN_ROW, InstancePrediction, Labels, word_bounds
from spanloom.tasks._vocabulary import labels_of
from spanloom.tensors import Batch, HeadInputs, Losses

SPAN_F1 = Metrics(("span_f1",), score, lambda report: {"span_f1": report.spans.micro.f1})

WordSpan = tuple[int, int, int]  # first word, one past the last, index of the label
ScoredWordSpan = tuple[int, int, int, float]  # the same with a probability


@dataclass(frozen=True, slots=True)
class WordGold:
    """A document's gold: one row of targets per word, and the number of spans in them."""

    rows: Shaped[Tensor, "word ..."]
    num_spans: int

    def __len__(self) -> int:
        """Return the number of spans to learn from."""
        return self.num_spans


@dataclass(frozen=True, slots=True)
class WordTask(LayerTask):
    """A task over single words; ``labels`` are those of train, sorted.

    A subclass has ``build_head`` (word vectors to scores, one row per word), ``encode_words``,
    ``word_loss`` and ``decode``. ``task_type`` then makes a kind of task of it.
    """

    options: Any
    labels: tuple[str, ...]

    loss_names = ("words",)

    @property
    def measure(self) -> Measure:
        """The F1 of its spans."""
        return SPAN_F1

    def encode_words(self, spans: Sequence[WordSpan], num_words: int) -> Tensor:
        """Return the targets of a document's words, one row per word."""
        raise NotImplementedError

    def word_loss(self, scores: Tensor, targets: Tensor) -> Float[Tensor, ""]:
        """Return the loss, summed over words."""
        raise NotImplementedError

    def decode(self, scores: Tensor) -> Iterable[ScoredWordSpan]:
        """Return the spans in the scores of an instance's words; bounds are in these words."""
        raise NotImplementedError

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Encode the spans that start and end at word borders; labels not in train are left out."""
        layer = document[self.layer]
        label_to_id = {label: index for index, label in enumerate(self.labels)}
        bounds = word_bounds(layer, tokenized.words)
        spans = [
            (*bounds[span.id], label_to_id[span.label])
            for span in layer.spans
            if span.id in bounds and span.label in label_to_id
        ]
        return WordGold(self.encode_words(spans, len(tokenized.words)), len(spans))

    def collate_targets(self, instances: Sequence[Instance], gold: Mapping[int, Any]) -> Any:
        """Concatenate the targets of the instances' words, in the batch's word order."""
        bounds = [(i.document, i.first_word, i.first_word + len(i.tokens)) for i in instances]
        return torch.cat([gold[document].rows[first:end] for document, first, end in bounds])

    def loss(self, head: Any, inputs: HeadInputs, batch: Batch, targets: Any) -> Losses:
        """Return ``word_loss`` of the head's scores."""
        scores = head(inputs.word_vectors).float()
        return {"words": self.word_loss(scores, targets)}

    def predict(
        self,
        head: Any,
        inputs: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[InstancePrediction]:
        """Yield the decoded spans of each instance."""
        scores = head(inputs.word_vectors).float()
        labels = Labels(self.labels)
        for rows in scores.split([len(instance.tokens) for instance in instances]):
            spans = [(start, end, label + 1, prob) for start, end, label, prob in self.decode(rows)]
            yield InstancePrediction(labels, np.array(spans, SPAN_ROW))

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, InstancePrediction]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer of the spans, in text order."""
        spans, _ = spans_and_relations(predictions, new_id)
        return Layer(self.layer, spans)

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of spans that train did not have."""
        labels = {span.label for document in documents for span in document[self.layer].spans}
        return labels - set(self.labels)

    @classmethod
    def task_type(cls, options: type[BaseModel], example: Document) -> TaskType:
        """Return the kind of task with these options; ``example`` is a small gold document."""
        return TaskType(options, infer_labels, _builder(cls), example)


def infer_labels(options: Any, layer: str, train: TrainDocuments) -> dict[str, Any]:
    """Return the labels of all spans in train."""
    labels = {span.label for document, _ in train for span in document[layer].spans}
    return {"labels": sorted(labels)}


def _builder(task: type[WordTask]) -> Callable[[TaskSetup[Any]], Any]:
    def build(setup: TaskSetup[Any]) -> WordTask:
        labels = labels_of(setup.name, setup.vocabulary["labels"])
        reader = InstanceReader(SentenceReader())
        return task(setup.name, setup.layer, reader, setup.options, labels)

    return build
