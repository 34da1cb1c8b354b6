"""Entities and the relations between them, end to end, or relations of gold entities.

Events are trigger spans with relations to their arguments, in training and in scoring; what is
written has one event per trigger or, with ``several_events``, one for each argument of the roles
that divide them. With ``relation_scope: document`` relations may cross sentences. With
``single_relation`` a sentence has one relation, as in SemEval-2010 task 8: the best-scoring pair of
its K most probable spans (SpanRel, appendix C), or of the given ones. The ``negative_label`` is
learnt, but it is no relation: it is neither written nor scored, and with ``single_relation`` its
two spans are not either, so a sentence may have none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from spanloom.annotation.removal import without_annotations
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation
from spanloom.errors import DataError
from spanloom.metrics.counts import macro
from spanloom.metrics.report import Report, score
from spanloom.nn.candidates import Pruner
from spanloom.nn.losses import HeadSelectionLoss, PairLoss, label_loss
from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.span_decoding import (
    EachPair,
    OneRelation,
    PairDecoder,
    RelationBias,
    RelationEnds,
    SelectedHeads,
    SpanPairDecoder,
    SpansAbove,
    SpanSelector,
    TopSpans,
    WithoutLabel,
)
from spanloom.tasks._base import MetricValues, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_parts import PAIR_SCORERS, SpanMetrics, head_parts, span_selector
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._span_shapes import (
    infer_shaped_vocabulary,
    read_shapes,
    shaped_gold,
    written_relations,
)
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import RelationOptions, Vocabulary, labels_of, read_vocabulary
from spanloom.tensors import PredictedSpans

LabelPairs = tuple[tuple[str, str], ...]  # labels of the spans at a relation's head and tail

_SAMPLE = Document(
    "Mix the warm buffer .\nAdd 5 ml .",
    (
        Layer(
            MAIN,
            number_spans(
                ("Action", 0, 3),
                ("Modifier", 8, 12),
                ("Reagent", 13, 19),
                ("Action", 22, 25),
                ("Amount", 26, 30),
            ),
            (Relation("R1", "Mod-Link", "T3", "T2"),),
            (
                Event("E1", "Action", "T1", (Argument("Acts-on", "T3"),)),
                Event("E2", "Action", "T4", (Argument("Count", "T5"),)),
            ),
        ),
    ),
    "sample",
)


class PairOptions(RelationOptions):
    """Options of relations."""

    single_relation: bool = Field(
        False, description="each sentence has exactly one relation (head-selection loss)"
    )
    loss: Literal["pairwise", "head-selection"] = Field(
        "pairwise", description="pairwise (each pair by itself) | head-selection (one per tail)"
    )
    negative_label: str | None = Field(
        None,
        description="label that means no relation (Other): learnt, neither written nor scored; "
        "the model is chosen by the mean F1 of the other labels",
    )
    entity_pair_labels: LabelPairs | None = Field(
        None,
        min_length=1,
        description="labels of head and tail that may be related, as [[e1, e2]]; null: any",
    )
    span_threshold: float = Field(
        0, ge=0, lt=1, description="least score of a span that is written or may be an end"
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "PairOptions":
        """Raise ``ValueError`` for options that exclude each other."""
        shaped = self.multi_label or self.discontinuous
        if self.single_relation and (shaped or self.relation_scope == "document"):
            raise ValueError(
                "single_relation: a sentence with one relation has no use for multi_label, "
                "discontinuous or relation_scope: document"
            )
        if self.gold_spans and self.discontinuous:
            raise ValueError("gold_spans: given spans are read as wholes, got discontinuous: true")
        if self.entity_pair_labels is not None and shaped:
            raise ValueError(
                "entity_pair_labels: expected spans of one label without gaps, "
                "got multi_label or discontinuous"
            )
        return self


@dataclass(frozen=True, slots=True)
class AllowedPairs:
    """Filter pairs of spans by the labels of head and tail; ``labels`` are those of all spans."""

    labels: tuple[str, ...]
    allowed: LabelPairs

    def __call__(
        self, pairs: Int[Tensor, "pair 2"], spans: PredictedSpans
    ) -> Int[Tensor, "some 2"]:
        """Return the pairs whose labels may be related."""
        table = torch.zeros(1 + len(self.labels), 1 + len(self.labels), dtype=torch.bool)
        for head_label, tail_label in self.allowed:
            table[1 + self.labels.index(head_label), 1 + self.labels.index(tail_label)] = True
        head, tail = spans.labels[pairs].unbind(1)
        return pairs[table.to(pairs.device)[head, tail]]


@dataclass(frozen=True, slots=True)
class RelationMetrics(SpanMetrics):
    """F1 of spans and relations without those of the ``negative_label``; the mean over labels.

    With ``ends_only`` the spans that only these relations connect are left out, too.
    """

    negative_label: str | None
    ends_only: bool

    def compute(
        self, gold: Sequence[Document], predicted: Sequence[Document], layer: str
    ) -> Report:
        """Score a layer."""
        gold, predicted = (
            [self._without_negative(document, layer) for document in side]
            for side in (gold, predicted)
        )
        return score(gold, predicted, layer)

    def _without_negative(self, document: Document, name: str) -> Document:
        if self.negative_label is None or not document.has_layer(name):
            return document
        layer = document[name]
        negative, others = set[str](), set[str]()
        removed = {
            relation.id for relation in layer.relations if relation.label == self.negative_label
        }
        for relation in layer.relations:
            ends = negative if relation.id in removed else others
            ends.update((relation.head, relation.tail))
        if self.ends_only:
            removed |= negative - others
        return document.with_layer(without_annotations(layer, removed))

    def values(self, report: Report) -> MetricValues:
        """Return F1, and its mean over the labels of relations."""
        spans, relations = report.spans.micro.f1, report.relations.micro.f1
        mean, by_label = (spans + relations) / 2, macro(report.relations.by_label).f1
        return {"macro_f1": by_label, "mean_f1": mean, "span_f1": spans, "relation_f1": relations}


def _check(name: str, options: PairOptions, vocabulary: Vocabulary) -> None:
    """Raise ``DataError`` for a label that the vocabulary lacks."""
    labels, negative = vocabulary.relations, options.negative_label
    if options.single_relation or negative is not None:
        labels_of(name, labels)
    if negative is not None and negative not in labels:
        expected = f"expected a relation outside all, got {negative!r}"
        raise DataError(f"task {name!r}: {expected}; relations are {', '.join(labels)}")
    for label in {label for pair in options.entity_pair_labels or () for label in pair}:
        if label not in vocabulary.spans:
            expected = f"entity_pair_labels: expected labels of spans, got {label!r}"
            choices = ", ".join(vocabulary.spans)
            raise DataError(f"task {name!r}: {expected}; spans are {choices}")


def _decoder(
    setup: TaskSetup[PairOptions], vocabulary: Vocabulary, pruner: Pruner
) -> SpanPairDecoder:
    """Return the decoder that the options ask for (SpanRel, section 3 and appendix C)."""
    options, span_bias = setup.options, setup.bias("span")
    bias = RelationBias(setup.bias("relation"), setup.bias("relation_end"))
    select: SpanSelector = span_selector(options, nested=vocabulary.nested)
    keep: SpanSelector = TopSpans(pruner)
    if options.span_threshold > 0:
        select, keep = (SpansAbove(part, options.span_threshold) for part in (select, keep))
    if options.single_relation:
        select = keep
    if not vocabulary.relations:
        return SpanPairDecoder(select, bias=span_bias)
    ends = None if bias.end == -math.inf else RelationEnds(keep, vocabulary.nested)
    pairs, ends_only = options.entity_pair_labels, _ends_only(options)
    allowed = None if pairs is None else AllowedPairs(vocabulary.spans, pairs)
    relate: PairDecoder = EachPair(allowed, bias)
    if options.single_relation:
        relate = OneRelation(ends_only, allowed)
    elif options.loss == "head-selection":
        relate = SelectedHeads(allowed, bias)
    if options.negative_label is not None:
        label = 1 + vocabulary.relations.index(options.negative_label)
        relate = WithoutLabel(relate, label, ends_only)
    return SpanPairDecoder(select, relate, options.gold_spans, span_bias, ends)


def _decisions(options: PairOptions, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the decisions with a bias; one relation per sentence is no such decision."""
    if options.single_relation:
        return {}
    if vocabulary.relations and not written_relations(vocabulary):  # links between fragments
        return {"span": "span_f1", "relation": "span_f1"}
    relations = {"relation": "relation_f1"} if vocabulary.relations else {}
    if options.gold_spans:
        return relations
    # ends of relations are spans, so their bias changes both F1
    return {"span": "span_f1"} | relations | ({"relation_end": "mean_f1"} if relations else {})


def _ends_only(options: PairOptions) -> bool:
    """Return whether the only spans are ends of relations."""
    return options.single_relation and not options.gold_spans


def _pair_loss(options: PairOptions) -> PairLoss:
    """Return the loss of pairs; with ``single_relation`` a sentence selects among all its pairs."""
    if options.single_relation:
        return HeadSelectionLoss(dummy=False)
    return HeadSelectionLoss(dummy=True) if options.loss == "head-selection" else label_loss


def _can_be_given(options: PairOptions, vocabulary: Vocabulary) -> bool:
    """Return whether relations are predicted between spans that are given as they stand."""
    return bool(vocabulary.relations) and not (options.single_relation or options.discontinuous)


def _metric_names(options: PairOptions, vocabulary: Vocabulary) -> tuple[str, ...]:
    if options.gold_spans:
        names: tuple[str, ...] = ("relation_f1",)
    else:
        names = (
            ("mean_f1", "span_f1", "relation_f1") if written_relations(vocabulary) else ("span_f1",)
        )
    return names if options.negative_label is None else ("macro_f1", *names)


def _infer_vocabulary(options: PairOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    vocabulary = infer_shaped_vocabulary(
        options,
        layer,
        train,
        relations=True,
        discontinuous=options.discontinuous,
        several_events=options.several_events,
    )
    if options.single_relation or options.loss == "head-selection":
        vocabulary["relation_attributes"] = {}  # selected relations have none
    return vocabulary


def _build(setup: TaskSetup[PairOptions]) -> SpanRelationTask:
    options = setup.options
    vocabulary, negative = read_vocabulary(setup.vocabulary), options.negative_label
    _check(setup.name, options, vocabulary)
    pruner = Pruner(options.spans_per_word, options.spans_per_sentence)
    across = options.relation_scope == "document"
    generator = PairGenerator(
        single_relation=options.single_relation,
        horizon=options.relation_horizon if across else None,
    )
    shapes = read_shapes(options, setup.vocabulary, discontinuous=options.discontinuous)
    parts = replace(
        head_parts(options),
        pruner=pruner,
        pair_scorer=PAIR_SCORERS[options.pair_scorer],
        pair_generator=generator,
        pair_loss=_pair_loss(options),
    )
    return SpanRelationTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader(), max_windows=options.max_training_windows if across else 1),
        vocabulary,
        parts,
        _decoder(setup, vocabulary, pruner),
        shaped_gold(shapes, vocabulary),
        measure=RelationMetrics(_metric_names(options, vocabulary), negative, _ends_only(options)),
        is_given=options.gold_spans,
        gold_spans=options.gold_spans,
        across_sentences=across,
        can_be_given=_can_be_given(options, vocabulary),
        unwritten=frozenset() if negative is None else frozenset({negative}),
        decisions=_decisions(options, vocabulary),
        shapes=shapes,
    )


KIND = TaskType(PairOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
