"""Entities and the relations between them, end to end, or relations of given entities.

Events are trigger spans with relations to their arguments, in training and in scoring; what is
written has one event per trigger. With ``single_relation`` a sentence has one relation, as in
SemEval-2010 task 8: the best-scoring pair of its K most probable spans (SpanRel, appendix C), or of
the given ones. The ``negative_label`` is learnt, but it is no relation: it is neither written nor
scored, and with ``single_relation`` its two spans are not either, so a sentence may have none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.metrics.counts import macro
from spanloom.metrics.report import Report
from spanloom.nn.head_selection import BestPair, HeadSelectionLoss
from spanloom.nn.pairs import PairGenerator
from spanloom.nn.span_relation import Pruner, SpanInputs, SpanRelation, group_of, text_order
from spanloom.tasks._base import MetricValues, TaskType, TrainDocuments, labels_of
from spanloom.tasks._span_relation import MAX_PAIRS, SpanRelationTask, predict_heads
from spanloom.tasks._vocabulary import RelationOptions, infer_span_vocabulary, read_vocabulary
from spanloom.tasks._written import LabelPairs, inside, related_labels, without_label
from spanloom.tensors import PredictedRelations, PredictedSpans

_SAMPLE = Document(
    "Mix the warm buffer .\nAdd 5 ml .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "Action", ((0, 3),)),
                Span("T2", "Modifier", ((8, 12),)),
                Span("T3", "Reagent", ((13, 19),)),
                Span("T4", "Action", ((22, 25),)),
                Span("T5", "Amount", ((26, 30),)),
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
        description="a label that is no relation: learnt, not written, not scored; "
        "the mean F1 of all others decides",
    )
    entity_pair_labels: LabelPairs | None = Field(
        None,
        min_length=1,
        description="labels of head and tail that may be related, as [[e1, e2]]; null: any",
    )
    span_threshold: float = Field(
        0, ge=0, lt=1, description="least score of a span that is written or may be an end"
    )


@dataclass(frozen=True, slots=True)
class RelationTask(SpanRelationTask):
    """Spans and relations: any number per sentence, or a ``single_relation``."""

    single_relation: bool = False
    negative_label: str | None = None
    head_selection: bool = False
    entity_pair_labels: LabelPairs | None = None
    span_threshold: float = 0

    def __post_init__(self) -> None:
        """Raise ``DataError`` also where relations are asked of a corpus that has none."""
        SpanRelationTask.__post_init__(self)
        known = self.vocabulary.relations
        if self.single_relation or self.negative_label is not None:
            labels_of(self.name, known)
        if self.negative_label is not None and self.negative_label not in known:
            choices = ", ".join(known)
            said = f"expected a relation outside all, got {self.negative_label!r}"
            raise DataError(f"task {self.name!r}: {said}; relations are {choices}")
        for label in {each for pair in self.entity_pair_labels or () for each in pair}:
            if label not in self.vocabulary.spans:
                choices = ", ".join(self.vocabulary.spans)
                said = f"entity_pair_labels: expected labels of spans, got {label!r}"
                raise DataError(f"task {self.name!r}: {said}; spans are {choices}")

    @property
    def unwritten(self) -> frozenset[str]:
        """The label that is no relation."""
        return frozenset() if self.negative_label is None else frozenset({self.negative_label})

    @property
    def pair_generator(self) -> PairGenerator:
        """Which spans form pairs, and by which of SpanRel's losses they are learnt (section 3).

        With ``single_relation`` the sentence chooses among all its pairs and labels, as each span
        does by the head-selection loss.
        """
        if self.single_relation:
            return PairGenerator(single_relation=True, loss=HeadSelectionLoss(dummy=False))
        return (
            PairGenerator(loss=HeadSelectionLoss(dummy=True))
            if self.head_selection
            else PairGenerator()
        )

    def label_pairs(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> PredictedRelations:
        """Label all pairs of chosen spans, or let each of them choose a head."""
        if self.head_selection:
            return predict_heads(head, view, chosen, types, self.filter_pairs)
        return SpanRelationTask.label_pairs(self, head, view, chosen, types)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        plain = super(RelationTask, self).metric_names
        return plain if self.negative_label is None else ("macro_f1", *plain)

    def select_spans(
        self,
        head: SpanRelation,
        view: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of chosen spans; where a sentence has one relation, those that are pruned to."""
        if self.single_relation:
            rows = text_order(bounds, head.keep(scores, bounds, view.pair_groups))
        else:
            rows = SpanRelationTask.select_spans(self, head, view, bounds, scores)
        sure = scores[rows].softmax(-1)[:, 1:].amax(-1)
        return rows[sure >= self.span_threshold]

    def filter_pairs(
        self, pairs: Int[Tensor, "pair 2"], chosen: PredictedSpans
    ) -> Int[Tensor, "some 2"]:
        """Return the pairs whose labels may be related."""
        if self.entity_pair_labels is None:
            return pairs
        table = related_labels(self.vocabulary.spans, self.entity_pair_labels).to(pairs.device)
        head, tail = chosen.labels[pairs].unbind(1)
        return pairs[table[head, tail]]

    def predict_relations(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return spans and relations; with ``single_relation`` one per sentence and its spans."""
        if self.single_relation:
            chosen, linked = self._best(head, view, chosen, types)
        else:
            chosen, linked = SpanRelationTask.predict_relations(self, head, view, chosen, types)
        if self.negative_label is None:
            return chosen, linked
        label = 1 + self.vocabulary.relations.index(self.negative_label)
        return without_label(chosen, linked, label, ends=self.ends_alone)

    def _best(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return the best relation of each sentence, and its two ends, or all that were given."""
        run = group_of(chosen.bounds, view.pair_groups)
        score_pairs = head.pair_scorer(view, chosen.bounds, types)
        best = BestPair.empty(len(view.pair_groups), run.device)
        for every in head.pair_generator.iter_by_head(run, MAX_PAIRS):
            pairs = self.filter_pairs(every, chosen)
            if len(pairs):
                scores = score_pairs(pairs)[:, : 1 + len(self.vocabulary.relations)].float()
                best = best.update(pairs, scores, head.pair_generator.softmax_group(pairs, run))
        pairs, labels, sure = best.selected()
        if not self.ends_alone:
            return chosen, PredictedRelations(pairs, labels, sure)
        ends, place = pairs.unique(return_inverse=True)
        return chosen.select(ends), PredictedRelations(place, labels, sure)

    @property
    def ends_alone(self) -> bool:
        """Whether its only spans are ends of relations."""
        return self.single_relation and not self.gold_given

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer, what is no relation left out of it."""
        sides = gold, predicted
        if self.negative_label is not None:
            mine = self.layer, self.negative_label
            gold, predicted = (
                [inside(each, *mine, ends=self.ends_alone) for each in side] for side in sides
            )
        return super(RelationTask, self).compute_metrics(gold, predicted)

    def all_metrics(self, report: Report) -> MetricValues:
        """Return all that may be watched: the mean over labels that are relations, too."""
        every = super(RelationTask, self).all_metrics(report)
        return {"macro_f1": macro(report.relations.by_label).f1, **every}


def _infer_vocabulary(options: PairOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    found = infer_span_vocabulary(options, layer, train, relations=True)
    if (
        options.single_relation or options.loss == "head-selection"
    ):  # what is chosen carries no attributes
        found = replace(found, attributes=replace(found.attributes, relations={}))
    return found.to_dict()


def _build(
    name: str,
    layer: str,
    options: PairOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> RelationTask:
    return RelationTask(
        name,
        layer,
        InstanceReader(SentenceReader()),
        options,
        read_vocabulary(collected),
        Pruner(options.spans_per_word, options.spans_per_sentence),
        options.gold_spans,
        single_relation=options.single_relation,
        negative_label=options.negative_label,
        head_selection=options.loss == "head-selection",
        entity_pair_labels=options.entity_pair_labels,
        span_threshold=options.span_threshold,
    )


KIND = TaskType(PairOptions, _infer_vocabulary, _build, _SAMPLE)
