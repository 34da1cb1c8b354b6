"""Texts, or pairs of texts, of one class each: a linear layer on "[CLS]" (BERT on GLUE)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from spanloom.annotation.text_pairs import classification_of, classify
from spanloom.data.instance_readers import InstanceReader, TextReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.nn.classifier import UNKNOWN, TextClassifier
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    Measure,
    NewId,
    TaskSetup,
    TaskType,
)
from spanloom.tasks._classification import (
    ClassMeasure,
    LabelGold,
    LabelOptions,
    SingleLabelMixin,
    TextPairMixin,
    check_labels,
    text_vocabulary,
)
from spanloom.tasks._span_extraction import cls_vectors
from spanloom.tasks._vocabulary import labels_of
from spanloom.tensors import Batch, HeadInputs, Losses

LabelProb = tuple[str, float]


class ClassOptions(LabelOptions):
    """Options of the classes of texts."""

    negative_label: str | None = Field(
        None, description="the class that says that no other holds; F1 leaves it out, as in TACRED"
    )


_SAMPLE = Document(
    "The film is slow , very slow .",
    (Layer(MAIN, (Span("T1", "negative", ((0, 30),)),)),),
    "sample",
)


@dataclass(frozen=True, slots=True)
class TextClassificationTask(SingleLabelMixin, TextPairMixin, LayerTask):
    """Select one of ``labels``; the head scores those of all tasks that share it."""

    dropout: float
    labels: tuple[str, ...]
    head_labels: tuple[str, ...]
    text_pairs: bool
    measure: Measure = ClassMeasure()

    loss_names = ("label",)

    def build_head(self, spec: HeadInputSpec) -> TextClassifier:
        """Build the linear layer."""
        return TextClassifier(spec.word_dim, num_labels=len(self.head_labels), dropout=self.dropout)

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> LabelGold:
        """Return the index of the gold label among the head's labels."""
        gold = classification_of(document, self.layer)
        if gold is None or gold.label not in self.labels:
            return LabelGold(None)
        return LabelGold(self.head_labels.index(gold.label))

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, LabelGold]
    ) -> Tensor:
        """Return the label of each instance's document."""
        rows = [gold[instance.document].row for instance in instances]
        return torch.tensor([UNKNOWN if row is None else row for row in rows])

    def loss(
        self, head: TextClassifier, vectors: HeadInputs, batch: Batch, targets: Tensor
    ) -> Losses:
        """Return the loss of the labels; ``targets`` has one label id per instance."""
        return {"label": head.loss(cls_vectors(vectors), targets)}

    def count_items(self, batch: Batch, targets: Tensor) -> int:
        """Return the number of instances whose label is known."""
        return int((targets != UNKNOWN).sum())

    def predict(
        self,
        head: TextClassifier,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[LabelProb]:
        """Yield the most probable of the task's own labels for each instance."""
        is_own = [label in self.labels for label in self.head_labels]
        inputs = cls_vectors(vectors)
        rows, probs = head.best(inputs, torch.tensor(is_own, device=inputs.device))
        for row, prob in zip(rows.tolist(), probs.tolist(), strict=True):
            yield self.head_labels[row], prob

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, LabelProb]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer with the label of the text; an empty one for blank text."""
        if not document.text.strip():
            return Layer(self.layer)
        ((_, (label, prob)),) = predictions
        return classify(document, self.layer, label, None, new_id, prob)


def _merge_vocabularies(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"labels": sorted({label for vocabulary in collected for label in vocabulary["labels"]})}


def _build(setup: TaskSetup[ClassOptions]) -> TextClassificationTask:
    labels, options = setup.vocabulary["labels"], setup.options
    if options.negative_label is not None:
        check_labels(setup.name, "negative_label", [options.negative_label], labels)
    check_labels(setup.name, "label_metrics", options.label_metrics, labels)
    return TextClassificationTask(
        setup.name,
        setup.layer,
        InstanceReader(TextReader()),
        options.dropout,
        labels_of(setup.name, labels),
        tuple(setup.shared_vocabulary["labels"]),
        bool(setup.vocabulary["text_pairs"]),
        ClassMeasure(options.metric, options.label_metrics, options.negative_label),
    )


KIND = TaskType(
    ClassOptions,
    text_vocabulary,
    _build,
    _SAMPLE,
    "labels",
    _merge_vocabularies,
    example_unit="text",
)
