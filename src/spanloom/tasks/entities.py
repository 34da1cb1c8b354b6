"""Named entities and their like: labelled spans, flat or nested as the data needs."""

from typing import Any

from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Document, Layer
from spanloom.nn.span_decoding import SpanPairDecoder
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_parts import head_parts, span_selector
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._span_shapes import infer_shaped_vocabulary, read_shapes, shaped_gold
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import LabeledSpanOptions, read_vocabulary

_SAMPLE = Document(
    "Ada Lovelace met Bob in London .\nShe wrote .",
    (
        Layer(
            MAIN,
            number_spans(
                ("person", 0, 12),
                ("person", 17, 20),
                ("place", 24, 30),
            ),
        ),
    ),
    "sample",
)


def _infer_vocabulary(
    options: LabeledSpanOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    return infer_shaped_vocabulary(options, layer, train, relations=False)


def _build(setup: TaskSetup[LabeledSpanOptions]) -> SpanRelationTask:
    vocabulary = read_vocabulary(setup.vocabulary)
    shapes = read_shapes(setup.options, setup.vocabulary)
    return SpanRelationTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader()),
        vocabulary,
        head_parts(setup.options),
        SpanPairDecoder(
            span_selector(setup.options, nested=vocabulary.nested), bias=setup.bias("span")
        ),
        shaped_gold(shapes, vocabulary),
        decisions={"span": "span_f1"},
        shapes=shapes,
    )


KIND = TaskType(
    LabeledSpanOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    supports_partial_labels=True,
    scores_spans=True,
)
