"""Named entities and their like: labelled spans, flat or nested as the data needs."""

from typing import Any

from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.nn.span_decoding import SpanPairDecoder
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_parts import head_parts, span_selector
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._vocabulary import SelectedSpanOptions, infer_span_vocabulary, read_vocabulary

_SAMPLE = Document(
    "Ada Lovelace met Bob in London .\nShe wrote .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "person", ((0, 12),)),
                Span("T2", "person", ((17, 20),)),
                Span("T3", "place", ((24, 30),)),
            ),
        ),
    ),
    "sample",
)


def _infer_vocabulary(
    options: SelectedSpanOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    return infer_span_vocabulary(options, layer, train, relations=False).to_dict()


def _build(setup: TaskSetup[SelectedSpanOptions]) -> SpanRelationTask:
    vocabulary = read_vocabulary(setup.vocabulary)
    return SpanRelationTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader()),
        vocabulary,
        head_parts(setup.options),
        SpanPairDecoder(
            span_selector(setup.options, nested=vocabulary.nested), bias=setup.bias("span")
        ),
        decisions={"span": "span_f1"},
    )


KIND = TaskType(
    SelectedSpanOptions, _infer_vocabulary, _build, _SAMPLE, supports_partial_labels=True
)
