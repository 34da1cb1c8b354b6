"""Aspect-based sentiment: terms and how they are spoken of (SpanRel, table 2).

A layer has spans labelled with a polarity. End to end they are entities. With ``gold_spans`` the
terms are gold and their polarities are not: the measure is accuracy (SemEval-2014, task 4).
"""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from spanloom.annotation.aspects import TERM
from spanloom.annotation.attributes import AttributeScheme
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Document, Layer
from spanloom.metrics.report import Report
from spanloom.nn.losses import labeled_spans_loss
from spanloom.nn.span_decoding import SpanPairDecoder
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.spans import SpanInputs
from spanloom.tasks._base import MetricValues, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_parts import GoldSpans, SpanMetrics, head_parts, span_selector
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import (
    SelectedSpanOptions,
    Vocabulary,
    infer_span_vocabulary,
    read_vocabulary,
)
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets

_SAMPLE = Document(
    "The soup was cold but the old waiter kind .\nNice view .",
    (
        Layer(
            MAIN,
            number_spans(("negative", 4, 8), ("positive", 26, 36), ("positive", 49, 53)),
        ),
    ),
    "sample",
)


class AspectOptions(SelectedSpanOptions):
    """Options of aspects."""

    gold_spans: bool = Field(False, description="gold terms are given, polarities are predicted")


@dataclass(frozen=True, slots=True)
class GoldTerms(GoldSpans):
    """Terms, given without their polarity; any other label is encoded in its place."""

    def given(self, layer: Layer) -> Layer:
        """Return the terms, polarities hidden."""
        return Layer(layer.name, tuple(replace(span, label=TERM) for span in layer.spans))

    def with_given_labels(self, layer: Layer, given: Layer, vocabulary: Vocabulary) -> Layer:
        """Return the layer as it is: polarities are predicted."""
        return layer


class AspectMetrics(SpanMetrics):
    """F1 of terms with polarities, and the share of gold terms whose polarity is right."""

    def values(self, report: Report) -> MetricValues:
        """Return F1 and accuracy."""
        return {"span_f1": report.spans.micro.f1, "accuracy": report.spans.micro.recall}


def label_given_spans(
    head: SpanRelation, inputs: SpanInputs, given: SpanTargets | None
) -> tuple[PredictedSpans, PredictedRelations]:
    """Return the given spans, however wide, with their best labels."""
    assert given is not None, "terms are given"
    scores = head.score_bounds(inputs, given.bounds)
    probs, labels = scores[:, 1 : head.spans.labels].softmax(-1).max(-1)
    return PredictedSpans(given.bounds, labels + 1, probs), PredictedRelations()


def _infer_vocabulary(options: AspectOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    vocabulary = infer_span_vocabulary(options, layer, train, relations=False)
    return replace(vocabulary, attributes=AttributeScheme({}, {})).to_dict()


def _build(setup: TaskSetup[AspectOptions]) -> SpanRelationTask:
    options = setup.options
    vocabulary, parts = read_vocabulary(setup.vocabulary), head_parts(options)
    reader = InstanceReader(SentenceReader())
    if not options.gold_spans:
        decoder = SpanPairDecoder(
            span_selector(options, nested=vocabulary.nested), bias=setup.bias("span")
        )
        return SpanRelationTask(
            setup.name,
            setup.layer,
            reader,
            vocabulary,
            parts,
            decoder,
            decisions={"span": "span_f1"},
        )
    gold, measure = GoldTerms(), AspectMetrics(("accuracy",))
    parts = replace(parts, predicts_none=False, span_loss=labeled_spans_loss)
    return SpanRelationTask(
        setup.name,
        setup.layer,
        reader,
        vocabulary,
        parts,
        label_given_spans,
        gold,
        measure,
        is_given=True,
    )


KIND = TaskType(AspectOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
