"""Aspect-based sentiment: terms and how they are spoken of (SpanRel, table 2).

A layer has spans labelled with a polarity. End to end they are entities. With ``gold_spans`` the
terms are gold and their polarities are not: the measure is accuracy (SemEval-2014, task 4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from spanloom.annotation.aspects import TERM
from spanloom.annotation.attributes import AttributeScheme
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import MAIN, Document, Layer
from spanloom.metrics.report import Report
from spanloom.nn.span_relation import SpanRelation
from spanloom.tasks._base import MetricValues, TaskType, TrainDocuments
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import (
    InstancePrediction,
    Labels,
    SpanGold,
    number_spans,
    split_by_instance,
)
from spanloom.tasks._vocabulary import SpanOptions, infer_span_vocabulary, read_vocabulary
from spanloom.tensors import Batch, HeadInputs, PredictedRelations, PredictedSpans, SpanTargets

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


class AspectOptions(SpanOptions):
    """Options of aspects."""

    gold_spans: bool = Field(False, description="gold terms are given, polarities are predicted")


@dataclass(frozen=True, slots=True)
class AspectTask(SpanRelationTask):
    """Terms and their polarities, or polarities of given ``terms``."""

    terms: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its own layer, where terms are given."""
        return (self.layer,) if self.terms else ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("accuracy",) if self.terms else ("span_f1",)

    def without_gold(self, document: Document) -> Document:
        """Return the bare document, with its terms where these are given, polarities hidden."""
        bare = document.unannotated(self.inputs)
        if not self.terms:
            return bare
        terms = tuple(replace(span, label=TERM) for span in bare[self.layer].spans)
        return bare.with_layer(Layer(self.layer, terms))

    def encode_given(self, document: Document, cut: TokenizedDocument) -> SpanGold | None:
        """Express where given terms stand; any polarity will do, none is read."""
        if not self.terms:
            return None
        layer, some = self.without_gold(document)[self.layer], self.vocabulary.spans[0]
        spans = tuple(replace(span, label=some) for span in layer.spans)
        return self.encode_gold(document.with_layer(Layer(self.layer, spans)), cut)

    def predict(
        self,
        head: SpanRelation,
        vectors: HeadInputs,
        batch: Batch,
        units: Sequence[Instance],
        given: SpanTargets | None,
    ) -> Iterator[InstancePrediction]:
        """Choose terms with polarities, or the polarity of each given term."""
        if given is None:
            yield from SpanRelationTask.predict(self, head, vectors, batch, units, given)
            return
        view = head.span_inputs(vectors.word_vectors, batch.sentences)
        scores = head.spans.score_bounds(view.words, view.weights, given.bounds, view.neighbors)
        best, labels = scores[:, 1 : head.spans.labels].softmax(-1).max(-1)
        chosen = PredictedSpans(given.bounds, labels + 1, best)
        yield from split_by_instance(
            units, chosen, PredictedRelations(), Labels(self.vocabulary.spans)
        )

    def all_metrics(self, report: Report) -> MetricValues:
        """Return F1 of terms with polarities, and the share of gold terms that are right."""
        return {"span_f1": report.spans.micro.f1, "accuracy": report.spans.micro.recall}


def _infer_vocabulary(options: AspectOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    found = infer_span_vocabulary(options, layer, train, relations=False)
    return replace(found, attributes=AttributeScheme({}, {})).to_dict()


def _build(
    name: str,
    layer: str,
    options: AspectOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> AspectTask:
    chosen = (
        options.model_copy(update={"hard_negatives_per_word": 0.0})
        if options.gold_spans
        else options
    )
    reading = InstanceReader(SentenceReader())
    return AspectTask(
        name, layer, reading, chosen, read_vocabulary(collected), terms=options.gold_spans
    )


KIND = TaskType(AspectOptions, _infer_vocabulary, _build, _SAMPLE)
