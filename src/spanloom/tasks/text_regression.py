"""Texts, or pairs of texts, of one number each: a linear layer on "[CLS]" (BERT on STS-B)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

import torch
from torch import Tensor

from spanloom.annotation.text_pairs import VALUE, classification_of, classify
from spanloom.data.instance_readers import InstanceReader, TextReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import MAIN, Attribute, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.metrics.classification import RegressionReport, score_values
from spanloom.nn.regressor import TextRegressor
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    Metrics,
    NewId,
    TaskSetup,
    TaskType,
    TrainDocuments,
)
from spanloom.tasks._classification import TextOptions, TextPairMixin, has_text_pairs
from spanloom.tasks._span_extraction import cls_vectors
from spanloom.tensors import Batch, HeadInputs, Losses

_SAMPLE = Document(
    "The film is slow , very slow .",
    (
        Layer(
            MAIN,
            (Span("T1", "rating", ((0, 30),)),),
            attributes=(Attribute("A1", VALUE, "T1", "1.5"),),
        ),
    ),
    "sample",
)


@dataclass(frozen=True, slots=True)
class NumberGold:
    """A document's gold number in standard deviations from the mean of train; None for none."""

    number: float | None

    def __len__(self) -> int:
        """Return the number of numbers to learn from."""
        return int(self.number is not None)


@dataclass(frozen=True, slots=True)
class TextRegressionTask(TextPairMixin, LayerTask):
    """Predict a number with ``label``; its head learns it less ``mean``, divided by ``scale``."""

    dropout: float
    label: str
    mean: float
    scale: float
    text_pairs: bool

    loss_names = ("squared_error",)
    measure = Metrics(("pearson", "spearman"), score_values, RegressionReport.metrics)

    def build_head(self, spec: HeadInputSpec) -> TextRegressor:
        """Build the linear layer."""
        return TextRegressor(spec.word_dim, dropout=self.dropout)

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> NumberGold:
        """Return the standardized number of a document."""
        gold = classification_of(document, self.layer)
        if gold is None or gold.value is None:
            return NumberGold(None)
        return NumberGold((gold.value - self.mean) / self.scale)

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, NumberGold]
    ) -> Tensor:
        """Return the number of each instance's document, nan where it is unknown."""
        numbers = [gold[instance.document].number for instance in instances]
        return torch.tensor([math.nan if number is None else number for number in numbers])

    def loss(
        self, head: TextRegressor, vectors: HeadInputs, batch: Batch, targets: Tensor
    ) -> Losses:
        """Return the squared error; ``targets`` has one number per instance, nan for none."""
        is_known = ~targets.isnan()
        inputs = cls_vectors(vectors)
        return {"squared_error": head.loss(inputs, targets.nan_to_num(), is_known)}

    def count_items(self, batch: Batch, targets: Tensor) -> int:
        """Return the number of instances whose number is known."""
        return int((~targets.isnan()).sum())

    def predict(
        self,
        head: TextRegressor,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[float]:
        """Yield the number of each instance, to a thousandth of the standard deviation of train."""
        digits = 3 - math.floor(math.log10(self.scale))
        for number in head(cls_vectors(vectors)).tolist():
            yield round(self.mean + self.scale * number, digits)

    def to_layer(
        self, document: Document, predictions: Sequence[tuple[Instance, float]], new_id: NewId
    ) -> Layer:
        """Return a layer with the number of the text; an empty one for blank text."""
        if not document.text.strip():
            return Layer(self.layer)
        ((_, number),) = predictions
        return classify(document, self.layer, self.label, number, new_id)


def _infer_vocabulary(options: TextOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    classifications = [classification_of(document, layer) for document, _ in train]
    gold = [(c.label, c.value) for c in classifications if c is not None and c.value is not None]
    if not gold:
        raise DataError(f"numbers of layer {layer!r}: expected a number to learn, train has none")
    values = [value for _, value in gold]
    return {
        "label": Counter(label for label, _ in gold).most_common(1)[0][0],
        "mean": fmean(values),
        "scale": pstdev(values) or 1.0,
        "text_pairs": has_text_pairs(train),
    }


def _build(setup: TaskSetup[TextOptions]) -> TextRegressionTask:
    vocabulary = setup.vocabulary
    mean, scale = float(vocabulary["mean"]), float(vocabulary["scale"])
    if not (math.isfinite(mean) and 0 < scale < math.inf):
        problem = f"expected a finite mean and a positive scale, got {mean} and {scale}"
        raise DataError(f"task {setup.name!r}: {problem}")
    return TextRegressionTask(
        setup.name,
        setup.layer,
        InstanceReader(TextReader()),
        setup.options.dropout,
        str(vocabulary["label"]),
        mean,
        scale,
        bool(vocabulary["text_pairs"]),
    )


KIND = TaskType(TextOptions, _infer_vocabulary, _build, _SAMPLE, example_unit="text")
