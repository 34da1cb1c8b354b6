"""A label for every word, as spans of one word (SpanRel, table 2: parts of speech)."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Document, Layer
from spanloom.nn.candidates import ScoredSpans, text_order
from spanloom.nn.losses import labeled_spans_loss
from spanloom.nn.span_decoding import SpanPairDecoder
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_parts import HeadParts
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import (
    SpanHeadOptions,
    SpanOptions,
    infer_span_vocabulary,
    read_vocabulary,
)

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


def all_spans(spans: ScoredSpans) -> Int[Tensor, " span"]:
    """Return the indices of all spans, in text order."""
    return text_order(spans.bounds, torch.ones_like(spans.bounds[:, 0], dtype=torch.bool))


def _infer_vocabulary(
    options: SpanHeadOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    single_words = SpanOptions.model_validate({"max_span_width": 1, "nested": False})
    return infer_span_vocabulary(single_words, layer, train, relations=False).to_dict()


def _build(setup: TaskSetup[SpanHeadOptions]) -> SpanRelationTask:
    parts = HeadParts(
        options=setup.options,
        predicts_none=False,
        span_loss=labeled_spans_loss,
    )
    reader, decoder = InstanceReader(SentenceReader()), SpanPairDecoder(all_spans)
    return SpanRelationTask(
        setup.name, setup.layer, reader, read_vocabulary(setup.vocabulary), parts, decoder
    )


KIND = TaskType(SpanHeadOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
