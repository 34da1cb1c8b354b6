"""Parts of span-relation tasks: reading gold from a layer, building heads, metrics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxtyping import Int
from torch import Tensor

from spanloom.annotation import attributes
from spanloom.annotation.attributes import Values
from spanloom.annotation.events import collect, project
from spanloom.annotation.partial_labels import UNKNOWN_LABEL, annotated_labels
from spanloom.data.instances import TokenizedDocument
from spanloom.document import Document, Layer
from spanloom.metrics.report import Report, score
from spanloom.nn.antecedents import AntecedentSearch, CoarseAntecedents
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.candidates import Candidates, Pruner, ScoredSpans, text_order
from spanloom.nn.feedforward import FEEDFORWARDS
from spanloom.nn.head_selection import PredicateSelector
from spanloom.nn.losses import HardNegativesLoss, PairLoss, SpanLoss, all_spans_loss, label_loss
from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.pairs import BasePairScorer, PairFeatures, PairScorer, PairSizes
from spanloom.nn.product_pairs import ProductPairScorer
from spanloom.nn.refinement import MentionRefinement
from spanloom.nn.span_decoding import BestSpans, SpanSelector
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.span_relation_parts import PairParts, SpanParts
from spanloom.nn.spans import CoarseSpanScorer, SpanAttention, SpanScorer
from spanloom.tasks._base import HeadInputSpec, MetricValues, TrainDocuments
from spanloom.tasks._spans import SpanGold, word_bounds
from spanloom.tasks._vocabulary import (
    SelectedSpanOptions,
    SpanHeadOptions,
    SpanOptions,
    Vocabulary,
)
from spanloom.tokenization import Bounds

_MAX_WIDTH_EMBEDDINGS = 64

GoldPairs = dict[tuple[int, int], tuple[int, str]]  # label id and relation id by span indices


@dataclass(frozen=True, slots=True)
class GoldSpans:
    """Read gold from a layer: its spans and relations, by their labels."""

    def prepare(self, layer: Layer) -> Layer:
        """Return the layer in the form that is learnt."""
        return layer

    def encode(
        self,
        document: Document,
        name: str,
        tokenized: TokenizedDocument,
        vocabulary: Vocabulary,
        stand_in: str | None = None,
    ) -> SpanGold:
        """Express the layer ``name`` over words; of several labels on the same words the first.

        A label that train does not have is encoded as ``stand_in``, left out if that is None.
        """
        layer = self.prepare(document[name])
        bounds_of = word_bounds(layer, tokenized.words)
        label_to_id = {label: index for index, label in enumerate(vocabulary.spans, 1)}
        label_to_id[UNKNOWN_LABEL] = 0
        unseen = None if stand_in is None else label_to_id[stand_in]
        label_at: dict[Bounds, tuple[int, str]] = {}  # with the id of the span that has it
        for span in sorted(layer.spans, key=lambda span: span.label == UNKNOWN_LABEL):
            label = label_to_id.get(span.label, unseen)
            if span.id in bounds_of and label is not None:
                label_at.setdefault(bounds_of[span.id], (label, span.id))
        order = {bounds: index for index, bounds in enumerate(sorted(label_at))}
        span_index = {id: order[bounds] for id, bounds in bounds_of.items() if bounds in order}
        pairs = dict(sorted(self.pairs(layer, span_index, vocabulary).items()))
        scheme, span_ids = vocabulary.attributes, [label_at[bounds][1] for bounds in order]
        annotated = annotated_labels(document, name)
        return SpanGold(
            tuple((*bounds, label_at[bounds][0]) for bounds in order),
            tuple((*ends, label) for ends, (label, _) in pairs.items()),
            _attribute_values(layer, scheme.spans, span_ids),
            _attribute_values(layer, scheme.relations, [id for _, id in pairs.values()]),
            None if annotated is None else (True, *self._are_annotated(vocabulary, annotated)),
            self.clusters(layer, span_index, len(order)),
        )

    def label_parts(self, label: str) -> Sequence[str]:
        """Return the labels of the layer that a learnt label stands for."""
        return (label,)

    def _are_annotated(self, vocabulary: Vocabulary, annotated: frozenset[str]) -> Iterator[bool]:
        """Yield whether each label of the vocabulary was annotated."""
        for label in vocabulary.spans:
            yield annotated.issuperset(self.label_parts(label))

    def clusters(
        self, layer: Layer, span_index: Mapping[str, int], num_spans: int
    ) -> tuple[tuple[int, ...], ...]:
        """Return the clusters of each span, whose members are all pairs; by default none."""
        return ()

    def pairs(
        self, layer: Layer, span_index: Mapping[str, int], vocabulary: Vocabulary
    ) -> GoldPairs:
        """Return the relation between any two spans; of several the first is kept."""
        label_to_id = {label: index for index, label in enumerate(vocabulary.relations, 1)}
        pairs: GoldPairs = {}
        for relation in project(layer, vocabulary.events)[1] if label_to_id else ():
            head, tail = span_index.get(relation.head), span_index.get(relation.tail)
            if relation.label in label_to_id and head is not None and tail is not None:
                pairs.setdefault((head, tail), (label_to_id[relation.label], relation.id))
        return pairs

    def given(self, layer: Layer) -> Layer:
        """Return the part of the gold layer that is input."""
        return Layer(layer.name, layer.spans)

    def stand_in(self, vocabulary: Vocabulary) -> str:
        """Return the label that given spans are read with if train does not have theirs."""
        return vocabulary.spans[0]

    def written_label(self, label: str) -> str:
        """Return what is written of a learnt label of a given span."""
        return label

    def with_given_labels(self, layer: Layer, given: Layer, vocabulary: Vocabulary) -> Layer:
        """Return the predicted layer with the labels of given spans that train does not have."""
        known = {*vocabulary.spans}
        unseen = {
            span.fragments: self.written_label(span.label)
            for span in reversed(self.prepare(given).spans)
            if span.label not in known
        }
        if not unseen:
            return layer
        written = self.written_label(self.stand_in(vocabulary))
        spans = (
            replace(span, label=unseen[span.fragments])
            if span.label == written and span.fragments in unseen
            else span
            for span in layer.spans
        )
        return replace(layer, spans=tuple(spans))

    def unseen_labels(self, layers: Sequence[Layer], vocabulary: Vocabulary) -> set[str]:
        """Return labels of spans, and of relations if any are learnt, that train did not have."""
        scheme = collect(layers)
        known = {part for label in vocabulary.spans for part in self.label_parts(label)}
        labels: set[str] = set()
        for layer in layers:
            spans, relations = project(layer, scheme)
            labels |= {span.label for span in spans} - known - {UNKNOWN_LABEL}
            if vocabulary.relations:
                labels |= {relation.label for relation in relations} - {*vocabulary.relations}
        return labels


@dataclass(frozen=True, slots=True)
class SpanMetrics:
    """F1 of spans and of relations; the first of ``names`` selects the best model."""

    names: tuple[str, ...]

    def compute(
        self, gold: Sequence[Document], predicted: Sequence[Document], layer: str
    ) -> Report:
        """Score a layer."""
        return score(gold, predicted, layer)

    def values(self, report: Report) -> MetricValues:
        """Return all metrics that ``names`` may name."""
        spans, relations = report.spans.micro.f1, report.relations.micro.f1
        return {"mean_f1": (spans + relations) / 2, "span_f1": spans, "relation_f1": relations}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadParts:
    """The parts of a span-relation head, and the options that do not follow from the vocabulary.

    ``pair_scorer`` builds the pair scorer from its sizes and ``pair_features``. Without
    ``predicts_none`` each candidate has a label. With ``coarse_spans_per_word`` a coarse scorer
    keeps that many spans per word, and with ``keep_sentences`` those of whole sentences. With an
    ``inference_order`` above 1 mentions read their antecedents so often, less one.
    """

    options: SpanHeadOptions
    boundary_context: bool = False
    coarse_spans_per_word: float | None = None
    keep_sentences: bool = False
    predicts_none: bool = True
    pruner: Pruner = Pruner()
    span_loss: SpanLoss = all_spans_loss
    pair_scorer: Callable[[PairSizes, PairFeatures], BasePairScorer] = PairScorer
    pair_features: PairFeatures = PairFeatures()
    pair_generator: PairGenerator = PairGenerator()
    pair_loss: PairLoss = label_loss
    predicate_selector: PredicateSelector | None = None
    antecedent_search: AntecedentSearch | None = None
    inference_order: int = 1

    def build(self, spec: HeadInputSpec, vocabulary: Vocabulary, *, coarse: bool) -> SpanRelation:
        """Build the head; ``coarse`` says whether it has a coarse scorer."""
        options = self.options
        pair_sizes = self._pair_sizes(spec, vocabulary)
        # random weights follow from the order: attention, spans, pairs, coarse scorer
        spans = SpanParts(
            Candidates(vocabulary.max_span_width),
            self._attention(spec),
            self._span_scorer(pair_sizes, vocabulary),
            self.span_loss,
            pruner=self.pruner,
            reads_tokens=options.span_content == "trunk",
            attends_tokens=options.span_attention == "trunk",
        )
        pairs = self._pair_parts(pair_sizes) if vocabulary.relations else None
        if coarse:
            spans = replace(spans, coarse_scorer=self._coarse_scorer(pair_sizes))
        dropout = options.dropout if options.input_dropout is None else options.input_dropout
        return SpanRelation(spans, pairs, dropout=dropout)

    def _attention(self, spec: HeadInputSpec) -> SpanAttention | None:
        """Return a new attention; None where the span layer has one."""
        if spec.span_dim is not None:
            return None
        reads_trunk = self.options.span_attention == "trunk"
        return SpanAttention(spec.token_dim if reads_trunk else spec.word_dim)

    def _pair_sizes(self, spec: HeadInputSpec, vocabulary: Vocabulary) -> PairSizes:
        options = self.options
        num_widths = min(vocabulary.max_span_width, _MAX_WIDTH_EMBEDDINGS)
        return PairSizes(
            word_dim=spec.word_dim,
            num_types=1 + len(vocabulary.spans),
            num_labels=1 + len(vocabulary.relations),
            num_width_embeddings=num_widths if options.width_embedding else 0,
            hidden_size=options.hidden_size if spec.span_dim is None else spec.span_dim,
            dropout=options.dropout,
            attribute_sizes=_attribute_sizes(vocabulary.attributes.relations),
            token_dim=spec.token_dim if options.span_content == "trunk" else None,
            feedforward=FEEDFORWARDS[options.perceptron],
            span_dim=spec.span_dim,
        )

    def _span_scorer(self, sizes: PairSizes, vocabulary: Vocabulary) -> SpanScorer:
        attribute_sizes = _attribute_sizes(vocabulary.attributes.spans)
        num_columns = sizes.num_types + attribute_sizes.columns
        projection = (
            sizes.projection(boundary_context=self.boundary_context)
            if sizes.span_dim is None
            else None
        )
        return SpanScorer(
            projection,
            sizes.feedforward(sizes.hidden_size, num_columns, sizes.dropout),
            num_labels=sizes.num_types,
            attribute_sizes=attribute_sizes,
            predicts_none=self.predicts_none,
        )

    def _pair_parts(self, sizes: PairSizes) -> PairParts:
        scorer = self.pair_scorer(sizes, self.pair_features)
        parts = self.pair_generator, self.pair_loss, self.predicate_selector
        refinement = None
        if self.inference_order > 1:
            refinement = MentionRefinement(sizes, self.inference_order)
        return PairParts(scorer, *parts, self._coarse_antecedents(sizes), refinement)

    def _coarse_antecedents(self, sizes: PairSizes) -> CoarseAntecedents | None:
        search = self.antecedent_search
        if search is None:
            return None
        if sizes.span_dim is not None:
            return search.build_shared(sizes.span_dim)
        return search.build(sizes.word_dim, sizes.num_width_embeddings)

    def _coarse_scorer(self, sizes: PairSizes) -> CoarseSpanScorer:
        assert self.coarse_spans_per_word is not None, "a coarse scorer has a number of spans"
        return CoarseSpanScorer(
            sizes.word_dim,
            num_width_embeddings=sizes.num_width_embeddings,
            spans_per_word=self.coarse_spans_per_word,
            keep_sentences=self.keep_sentences,
            token_dim=sizes.token_dim,
        )


def head_parts(options: SpanOptions) -> HeadParts:
    """Return the parts that follow from a span task's options."""
    ratio = options.hard_negatives_per_word
    return HeadParts(
        options=options,
        boundary_context=options.boundary_context,
        coarse_spans_per_word=options.coarse_spans_per_word,
        span_loss=all_spans_loss if ratio == "all" else HardNegativesLoss(Pruner(ratio)),
    )


PAIR_SCORERS: dict[str, Callable[[PairSizes, PairFeatures], BasePairScorer]] = {
    "projected": PairScorer,
    "spanrel": ProductPairScorer,
}


def span_selector(options: SelectedSpanOptions, *, nested: bool) -> SpanSelector:
    """Return the part that selects spans by their scores."""
    return labeled_spans if options.span_decoding == "greedy" else BestSpans(nested)


def labeled_spans(spans: ScoredSpans) -> Int[Tensor, " kept"]:
    """Return the indices of all spans whose best label is not "none", overlapping or not."""
    return text_order(spans.bounds, spans.margin > 0)


def prepare_layers(
    train: TrainDocuments, layer: str, prepare: Callable[[Layer], Layer]
) -> TrainDocuments:
    """Return the documents with prepared layers, those without the layer unchanged."""
    return [
        (doc.with_layer(prepare(doc[layer])) if doc.has_layer(layer) else doc, tokenized)
        for doc, tokenized in train
    ]


def _attribute_sizes(values: Values) -> AttributeSizes:
    """Return the number of score columns of each attribute: its values and "absent"."""
    return AttributeSizes(tuple(1 + len(choices) for choices in values.values()))


def _attribute_values(
    layer: Layer, values: Values, ids: Sequence[str]
) -> tuple[tuple[int, ...], ...] | None:
    """Return the attribute value ids of some annotations; None if no attributes are learnt."""
    if not values:
        return None
    by_id = attributes.rows(layer, values)
    return tuple(by_id.get(id, (0,) * len(values)) for id in ids)
