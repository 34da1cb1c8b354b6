"""Texts, or pairs of texts, of one class each: a linear layer on what opens them (BERT on GLUE)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation.text_pairs import classification_of, classify
from spanloom.config.options import Options
from spanloom.data.instance_readers import InstanceReader, TextReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.nn.classifier import UNKNOWN, TextClassifier
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    NewId,
    TaskType,
    TrainDocuments,
    labels_of,
)
from spanloom.tasks._classification import (
    LabelGold,
    SingleLabelMixin,
    TextPairMixin,
    has_text_pairs,
    text_labels,
)
from spanloom.tasks._span_extraction import cls_vectors
from spanloom.tensors import Batch, HeadInputs, Loss

Found = tuple[str, float]  # a label and its probability

_SAMPLE = Document(
    "The film is slow , very slow .",
    (Layer(MAIN, (Span("T1", "negative", ((0, 30),)),)),),
    "sample",
)


class LabelOptions(Options):
    """Options of labels of texts."""

    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the head")


@dataclass(frozen=True, slots=True)
class TextClassificationTask(SingleLabelMixin, TextPairMixin, LayerTask):
    """One of its ``labels``; the head knows ``every`` label of the tasks that share it."""

    dropout: float
    labels: tuple[str, ...]
    every: tuple[str, ...]
    parts: bool

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The label."""
        return ("label",)

    def build_head(self, spec: HeadInputSpec) -> TextClassifier:
        """Make the linear layer."""
        return TextClassifier(spec.word_dim, num_labels=len(self.every), dropout=self.dropout)

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> LabelGold:
        """Find the label among all that the head knows."""
        gold = classification_of(document, self.layer)
        is_learnt = gold is not None and gold.label in self.labels
        return LabelGold(self.every.index(gold.label) if gold is not None and is_learnt else None)

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, LabelGold]
    ) -> Int[Tensor, " instance"]:
        """Return the label of each instance's document."""
        rows = [gold[instance.document].row for instance in instances]
        return torch.tensor([UNKNOWN if row is None else row for row in rows])

    def loss(
        self,
        head: TextClassifier,
        vectors: HeadInputs,
        batch: Batch,
        targets: Int[Tensor, " instance"],
    ) -> dict[str, Loss]:
        """Return the loss of the labels."""
        return {"label": head.loss(cls_vectors(vectors), targets)}

    def predict(
        self,
        head: TextClassifier,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[Found]:
        """Choose the likeliest of the task's own labels."""
        is_own = [label in self.labels for label in self.every]
        inputs = cls_vectors(vectors)
        rows, probs = head.best(inputs, torch.tensor(is_own, device=inputs.device))
        for row, prob in zip(rows.tolist(), probs.tolist(), strict=True):
            yield self.every[row], prob

    def to_layer(
        self, document: Document, predictions: Sequence[tuple[Instance, Found]], new_id: NewId
    ) -> Layer:
        """Say the label of the text; of no text nothing."""
        if not document.text.strip():
            return Layer(self.layer)
        ((_, (label, prob)),) = predictions
        return classify(document, self.layer, label, None, new_id, prob)


def _infer_vocabulary(options: LabelOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    return {"labels": sorted(text_labels(layer, train)), "parts": has_text_pairs(train)}


def _merge_vocabularies(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"labels": sorted({label for vocabulary in collected for label in vocabulary["labels"]})}


def _build(
    name: str,
    layer: str,
    options: LabelOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> TextClassificationTask:
    labels, all_labels = labels_of(name, collected["labels"]), tuple(united["labels"])
    both = bool(collected["parts"])
    return TextClassificationTask(
        name, layer, InstanceReader(TextReader()), options.dropout, labels, all_labels, both
    )


KIND = TaskType(LabelOptions, _infer_vocabulary, _build, _SAMPLE, "labels", _merge_vocabularies)
