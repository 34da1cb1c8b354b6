"""What ``entities`` and ``relations`` share: labelled spans and pairs of them, in a sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from spanloom.annotation import attributes
from spanloom.annotation.attributes import Values
from spanloom.annotation.events import EventScheme, collect, project, restore
from spanloom.annotation.partial_labels import UNKNOWN_LABEL, annotated_labels
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding.span_selection import max_weight_disjoint, max_weight_nested
from spanloom.document import Attribute, Document, Layer
from spanloom.errors import DataError
from spanloom.metrics.report import Report, score
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.head_selection import select_heads
from spanloom.nn.pairs import PairFeatures, PairGenerator, PairScorer
from spanloom.nn.span_relation import Pruner, SpanInputs, SpanRelation, group_of, text_order
from spanloom.nn.spans import CoarseSpanScorer, SpanAttention, SpanScorer
from spanloom.tasks._across import coverage_notes
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    MetricValues,
    NewId,
    TrainDocuments,
    labels_of,
)
from spanloom.tasks._spans import (
    DocumentPrediction,
    InstancePrediction,
    SpanGold,
    collate_gold,
    number_relations,
    split_by_instance,
    to_characters,
    word_bounds,
)
from spanloom.tasks._vocabulary import LIMIT, SpanOptions, Vocabulary
from spanloom.tensors import (
    Batch,
    HeadInputs,
    Loss,
    PredictedRelations,
    PredictedSpans,
    SpanTargets,
)
from spanloom.tokenization import Bounds

_WIDTHS = 64  # widths with a vector of their own
MAX_PAIRS = 262_144  # made and scored at a time; a sentence as long as a book has many more


@dataclass(frozen=True, slots=True)
class SpanRelationTask(LayerTask):
    """Entities, and relations where the inventory has any."""

    options: SpanOptions
    vocabulary: Vocabulary
    pruner: Pruner = Pruner()
    gold_given: bool = False

    def __post_init__(self) -> None:
        """Raise ``DataError`` where there is no label, or a width that no recipe may ask for."""
        labels_of(self.name, self.vocabulary.spans)
        if self.gold_given:
            labels_of(self.name, self.vocabulary.relations)
        if not 1 <= self.vocabulary.max_span_width <= LIMIT:
            width = self.vocabulary.max_span_width
            raise DataError(f"task {self.name!r}: expected a width of 1 to {LIMIT}, got {width}")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its own layer, where gold spans are given."""
        return (self.layer,) if self.gold_given else ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        if self.gold_given:
            return ("relations",)
        return ("mean", "spans", "relations") if self.vocabulary.relations else ("spans",)

    @property
    def loss_names(self) -> tuple[str, ...]:
        """Spans unless they are given, pairs where there are relations."""
        scheme = self.vocabulary.attributes
        gate = ("gate",) if self.has_coarse_scorer else ()
        spans = ("spans", *gate, *(("attributes",) if scheme.spans else ()))
        pairs = ("pairs", "pair_attributes") if scheme.relations else ("pairs",)
        learnt = pairs if self.vocabulary.relations else ()
        return learnt if self.gold_given else (*spans, *learnt)

    def build_head(self, ground: HeadInputSpec) -> SpanRelation:
        """Make the span-relation head."""
        made = SpanRelation(
            SpanAttention(ground.word_dim),
            self.span_scorer(ground.word_dim),
            self.pair_scorer(ground.word_dim) if self.vocabulary.relations else None,
            max_span_width=self.vocabulary.max_span_width,
            pruner=self.pruner,
            hard_negatives_per_word=None
            if self.options.hard_negatives_per_word == "all"
            else self.options.hard_negatives_per_word,
            dropout=self.options.dropout,
            pair_generator=self.pair_generator,
        )
        if self.has_coarse_scorer:
            assert self.options.coarse_spans_per_word is not None, "a gate without a ratio"
            widths = min(self.vocabulary.max_span_width, _WIDTHS)
            ratio, whole = self.options.coarse_spans_per_word, self.sentences_are_spans
            made.gate = CoarseSpanScorer(
                ground.word_dim,
                num_width_embeddings=widths,
                spans_per_word=ratio,
                keep_sentences=whole,
            )
        return made

    @property
    def has_coarse_scorer(self) -> bool:
        """Whether a gate stands before its spans: not where they are given, or all have labels."""
        return (
            self.options.coarse_spans_per_word is not None
            and not self.gold_given
            and self.options.hard_negatives_per_word != 0
        )

    @property
    def sentences_are_spans(self) -> bool:
        """Whether each sentence as a whole is a span, so that a gate may not leave it out."""
        return False

    @property
    def pair_generator(self) -> PairGenerator:
        """Which spans form pairs, and how those are learnt."""
        return PairGenerator()

    @property
    def pair_features(self) -> PairFeatures:
        """What pairs read beside their ends."""
        return PairFeatures()

    def span_scorer(self, dim: int) -> SpanScorer:
        """Make what scores spans over word vectors of size ``dim``."""
        return SpanScorer(
            dim,
            num_labels=1 + len(self.vocabulary.spans),
            num_width_embeddings=min(self.vocabulary.max_span_width, _WIDTHS),
            hidden_size=self.options.hidden_size,
            dropout=self.options.dropout,
            attribute_sizes=attribute_sizes(self.vocabulary.attributes.spans),
            boundary_context=self.options.boundary_context,
        )

    def pair_scorer(self, dim: int) -> PairScorer:
        """Make what scores pairs over word vectors of size ``dim``."""
        return PairScorer(
            dim,
            num_types=1 + len(self.vocabulary.spans),
            num_labels=1 + len(self.vocabulary.relations),
            num_width_embeddings=min(self.vocabulary.max_span_width, _WIDTHS),
            hidden_size=self.options.hidden_size,
            dropout=self.options.dropout,
            attribute_sizes=attribute_sizes(self.vocabulary.attributes.relations),
            features=self.pair_features,
        )

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> SpanGold:
        """Express a layer over words; of several labels on the same bounds the first stays."""
        layer = document[self.layer]
        there = word_bounds(layer, cut.words)
        known = {label: row for row, label in enumerate(self.vocabulary.spans, 1)} | {
            UNKNOWN_LABEL: 0
        }
        at: dict[Bounds, int] = {}
        for span in sorted(layer.spans, key=lambda each: each.label == UNKNOWN_LABEL):
            if span.id in there and span.label in known:
                at.setdefault(there[span.id], known[span.label])
        order = {bounds: row for row, bounds in enumerate(sorted(at))}
        where = {key: order[bounds] for key, bounds in there.items() if bounds in order}
        spans = tuple((*bounds, at[bounds]) for bounds in order)
        pairs = self.gold_pairs(layer, where)
        names = {row: key for key, row in reversed(list(where.items()))}
        scheme = self.vocabulary.attributes
        values = _attribute_values(layer, scheme.spans, [names[row] for row in range(len(spans))])
        return SpanGold(
            spans,
            tuple((*ends, label) for ends, (label, _) in pairs.items()),
            values,
            _attribute_values(layer, scheme.relations, [key for _, key in pairs.values()]),
            self._annotated_labels(document),
        )

    def _annotated_labels(self, document: Document) -> tuple[bool, ...] | None:
        """Whether "none" and each label were looked for; None where all were."""
        known = annotated_labels(document, self.layer)
        if known is None:
            return None
        return (True, *(label in known for label in self.vocabulary.spans))

    def gold_pairs(
        self, layer: Layer, where: Mapping[str, int]
    ) -> dict[tuple[int, int], tuple[int, str]]:
        """Return label and id of the relation between any two spans; of several the first stays."""
        known = {label: row for row, label in enumerate(self.vocabulary.relations, 1)}
        found: dict[tuple[int, int], tuple[int, str]] = {}
        if known:
            for each in project(layer, self.vocabulary.events)[1]:
                if each.label in known and each.head in where and each.tail in where:
                    ends = where[each.head], where[each.tail]
                    found.setdefault(ends, (known[each.label], each.id))
        return found

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, SpanGold]
    ) -> list[str]:
        """Say what is learnt, and what sentences take away."""
        return coverage_notes(self.name, self.layer, train, whole, gold)

    def collate_targets(
        self, units: Sequence[Instance], gold: Mapping[int, SpanGold]
    ) -> SpanTargets:
        """Lay the gold of some units flat, as ``collate`` lays their words."""
        return collate_gold(units, gold)

    def pair_groups(self, batch: Batch) -> Int[Tensor, "run 2"]:
        """Return the runs of words within which spans form pairs."""
        return batch.sentences

    def loss(
        self, head: SpanRelation, vectors: HeadInputs, batch: Batch, targets: SpanTargets
    ) -> dict[str, Loss]:
        """Return the span loss and the pair loss, where the task learns them."""
        return head.loss(
            self.span_inputs(head, vectors, batch, targets), targets, use_gold_spans=self.gold_given
        )

    def span_inputs(
        self, head: SpanRelation, vectors: HeadInputs, batch: Batch, targets: SpanTargets | None
    ) -> SpanInputs:
        """Return what the head reads; ``targets`` are those to learn, or what is given."""
        return head.span_inputs(vectors.word_vectors, batch.sentences, self.pair_groups(batch))

    def predict(
        self,
        head: SpanRelation,
        vectors: HeadInputs,
        batch: Batch,
        units: Sequence[Instance],
        given: SpanTargets | None,
    ) -> Iterator[InstancePrediction]:
        """Choose spans that fit together, then label the pairs of them."""
        view = self.span_inputs(head, vectors, batch, given)
        if given is not None and self.gold_given:
            types = F.one_hot(given.labels, 1 + len(self.vocabulary.spans)).float()
            sure = torch.ones(len(given.labels), device=types.device)
            chosen = PredictedSpans(given.bounds, given.labels, sure)
        else:
            chosen, types = self.predict_spans(head, view)
        yield from split_by_instance(
            units, *self.predict_relations(head, view, chosen, types), self.vocabulary.labels
        )

    def predict_relations(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return the chosen spans and the relations between them."""
        return chosen, PredictedRelations() if head.pairs is None else self.label_pairs(
            head, view, chosen, types
        )

    def predict_spans(
        self, head: SpanRelation, view: SpanInputs
    ) -> tuple[PredictedSpans, Float[Tensor, "kept type"]]:
        """Choose spans; return them and their label probabilities."""
        bounds = head.candidates(view.sentences)
        columns = [1 + len(self.vocabulary.spans)]
        scores, marks = head.score_spans(view).float().tensor_split(columns, dim=-1)
        rows = self.select_spans(head, view, bounds, scores)
        types = scores[rows].softmax(-1)
        best, labels = types[:, 1:].max(-1)
        values = attribute_sizes(self.vocabulary.attributes.spans).best(marks[rows])
        return PredictedSpans(bounds[rows], labels + 1, best, *values), types

    def select_spans(
        self,
        head: SpanRelation,
        view: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of the best set without overlap, or without crossing, in the order of the text."""
        gain = scores[:, 1:].amax(-1) - scores[:, 0]
        ahead = text_order(bounds, gain > 0)
        pairs = [(a, b) for a, b in bounds[ahead].tolist()]
        best = max_weight_nested if self.vocabulary.nested else max_weight_disjoint
        kept = best(pairs, gain[ahead].tolist())
        return ahead[torch.tensor(kept, dtype=torch.long, device=ahead.device)]

    def filter_pairs(
        self, pairs: Int[Tensor, "pair 2"], chosen: PredictedSpans
    ) -> Int[Tensor, "some 2"]:
        """Return those of some pairs of chosen spans that may be related: here all."""
        return pairs

    def label_pairs(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> PredictedRelations:
        """Label every pair of chosen spans that may be related."""
        found = [PredictedRelations()]
        score_pairs = head.pair_scorer(view, chosen.bounds, types)
        for every in head.pair_generator.iter_by_head(
            group_of(chosen.bounds, view.pair_groups), MAX_PAIRS
        ):
            pairs = self.filter_pairs(every, chosen)
            scores = score_pairs(pairs).float()
            scores, marks = scores.tensor_split([1 + len(self.vocabulary.relations)], dim=-1)
            best, labels = scores.softmax(-1).max(-1)
            real = labels > 0
            values = attribute_sizes(self.vocabulary.attributes.relations).best(marks[real])
            found.append(PredictedRelations(pairs[real], labels[real], best[real], *values))
        return concatenate(found)

    def to_layer(
        self, document: Document, found: Sequence[tuple[Instance, InstancePrediction]], fresh: NewId
    ) -> Layer:
        """Make a layer of what was predicted: spans in text order, one event a trigger."""
        made = to_characters(found, fresh)
        scheme = self.vocabulary.events if self.vocabulary.relations else EventScheme()
        layer = Layer(self.layer, made.spans, made.relations)
        if scheme.trigger_labels:
            layer = restore(made.spans, made.relations, scheme, self.layer, fresh)
        relations = number_relations(layer.relations, fresh)
        if not made.attributes:
            return replace(layer, relations=relations)
        pairs = zip(layer.relations, relations, strict=True)
        ids = {predicted.id: numbered.id for predicted, numbered in pairs}
        return replace(
            layer, relations=relations, attributes=self._to_attributes(made, layer, ids, fresh)
        )

    def _to_attributes(
        self, made: DocumentPrediction, layer: Layer, ids: Mapping[str, str], fresh: NewId
    ) -> tuple[Attribute, ...]:
        """Make attributes of marks; those of relations that became arguments are lost."""
        events = {event.trigger: event.id for event in layer.events}
        spans = {span.id for span in layer.spans}
        said = []
        for target, name, value, sure in made.attributes:
            place = target if target in spans else ids.get(target)
            if name in self.vocabulary.attributes.events:
                place = events.get(target, target)
            if place is not None:
                said.append(attributes.attribute(name, value, place, sure, fresh))
        return tuple(said)

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""
        return score(gold, predicted, self.layer)

    def metrics(self, report: Report) -> MetricValues:
        """Return F1 of spans and of relations; the first is the one to choose a model by."""
        every = self.all_metrics(report)
        return {name: every[name] for name in self.metric_names}

    def all_metrics(self, report: Report) -> MetricValues:
        """Return all that may be watched."""
        spans, relations = report.spans.micro.f1, report.relations.micro.f1
        return {"mean": (spans + relations) / 2, "spans": spans, "relations": relations}

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of spans, and of relations where it learns any, that train did not have."""
        scheme = collect(document[self.layer] for document in documents)
        labels: set[str] = set()
        for document in documents:
            spans, relations = project(document[self.layer], scheme)
            labels |= {span.label for span in spans} - {*self.vocabulary.spans, UNKNOWN_LABEL}
            if self.vocabulary.relations:
                labels |= {each.label for each in relations} - set(self.vocabulary.relations)
        return labels


def predict_heads(
    head: SpanRelation,
    view: SpanInputs,
    chosen: PredictedSpans,
    types: Float[Tensor, "kept type"],
    relatable: Callable[[Tensor, PredictedSpans], Tensor],
) -> PredictedRelations:
    """Let each span choose one head, where one scores above none (SpanRel's head loss).

    ``relatable`` is the task's: which pairs there are to choose from.
    """
    found = [PredictedRelations()]
    score_pairs = head.pair_scorer(view, chosen.bounds, types)
    for every in head.pair_generator.iter_by_tail(
        group_of(chosen.bounds, view.pair_groups), MAX_PAIRS
    ):
        pairs = relatable(every, chosen)
        if not len(pairs):
            continue
        assert head.pairs is not None, "a head without pairs has none to choose"
        scores = score_pairs(pairs)[:, : head.pairs.labels]
        best, sure = select_heads(scores, pairs[:, 1], len(chosen.bounds), dummy=True)
        rows = best[best >= 0]
        labels = scores[rows, 1:].argmax(-1) + 1
        found.append(PredictedRelations(pairs[rows], labels, sure[best >= 0]))
    return concatenate(found)


def concatenate(found: Sequence[PredictedRelations]) -> PredictedRelations:
    """Return all links as one; the first of ``found`` may be on another device, empty as it is."""
    parts = [each for each in found if len(each.pairs)] or found[:1]
    values = [each.attribute_values for each in parts if each.attribute_values is not None]
    sure = [each.value_probs for each in parts if each.value_probs is not None]
    return PredictedRelations(
        torch.cat([each.pairs for each in parts]),
        torch.cat([each.labels for each in parts]),
        torch.cat([each.scores for each in parts]),
        torch.cat(values) if values else None,
        torch.cat(sure) if sure else None,
    )


def attribute_sizes(values: Values) -> AttributeSizes:
    """Return the columns of attributes."""
    return AttributeSizes(tuple(1 + len(each) for each in values.values()))


def _attribute_values(
    layer: Layer, known: Values, ids: Sequence[str]
) -> tuple[tuple[int, ...], ...] | None:
    """The values of some annotations' attributes; None where there are no attributes to learn."""
    if not known:
        return None
    rows = attributes.rows(layer, known)
    return tuple(rows.get(key, (0,) * len(known)) for key in ids)
