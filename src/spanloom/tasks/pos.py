"""A label for every word, as spans of one word (SpanRel, table 2: parts of speech)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.config.options import Options
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Document, Layer
from spanloom.nn.span_relation import SpanInputs, SpanRelation, text_order
from spanloom.tasks._base import TaskType, TrainDocuments
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import SpanOptions, infer_span_vocabulary, read_vocabulary

_SAMPLE = Document(
    "She wrote long letters .\nBob slept .",
    (
        Layer(
            MAIN,
            number_spans(
                ("PRON", 0, 3),
                ("VERB", 4, 9),
                ("ADJ", 10, 14),
                ("NOUN", 15, 22),
                ("PUNCT", 23, 24),
                ("PROPN", 25, 28),
                ("VERB", 29, 34),
                ("PUNCT", 35, 36),
            ),
        ),
    ),
    "sample",
)


class WordOptions(Options):
    """Options of tasks that label every word."""

    hidden_size: int = Field(256, ge=8, le=4096, description="units of the perceptron")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")

    def predict_spans(self) -> SpanOptions:
        """Return the same as options of spans of one word, each of which has a label."""
        return SpanOptions(
            max_span_width=1,
            nested=False,
            hidden_size=self.hidden_size,
            dropout=self.dropout,
            attributes=True,
            limits="train",
            coarse_spans_per_word=None,
            boundary_context=False,
            hard_negatives_per_word="all",
        ).model_copy(update={"hard_negatives_per_word": 0.0})


@dataclass(frozen=True, slots=True)
class WordTask(SpanRelationTask):
    """Every word is a span, and "none" is no label."""

    def select_spans(
        self,
        head: SpanRelation,
        view: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """All words, in the order of the text."""
        return text_order(bounds, torch.ones(len(bounds), dtype=torch.bool, device=bounds.device))


def _infer_vocabulary(options: WordOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    return infer_span_vocabulary(options.predict_spans(), layer, train, relations=False).to_dict()


def _build(
    name: str,
    layer: str,
    options: WordOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> WordTask:
    return WordTask(
        name,
        layer,
        InstanceReader(SentenceReader()),
        options.predict_spans(),
        read_vocabulary(collected),
    )


KIND = TaskType(WordOptions, _infer_vocabulary, _build, _SAMPLE)
