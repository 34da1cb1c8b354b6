"""What ``roles``, ``openie`` and ``opinions`` share: spans that lead others (SpanRel, table 2b).

A predicate, or an opinion's expression, leads to its arguments by relations labelled with roles. A
span that is argument and predicate at once has a joint label. Arguments need not be found as spans
by themselves: whatever of a sentence's K likeliest spans a predicate leads to is one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from spanloom.annotation.nesting import has_nesting
from spanloom.annotation.unary_chains import JOINER, expand_unary, merge_spans
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding.span_selection import max_weight_disjoint, max_weight_nested
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.metrics.counts import total
from spanloom.metrics.report import Report, score
from spanloom.nn.candidates import rows
from spanloom.nn.span_relation import (
    PredicateSelector,
    Pruner,
    SpanInputs,
    SpanRelation,
    group_of,
    text_order,
)
from spanloom.tasks._base import HeadInputSpec, MetricValues, TrainDocuments, labels_of
from spanloom.tasks._span_relation import MAX_PAIRS, SpanRelationTask, attribute_sizes, concatenate
from spanloom.tasks._spans import (
    InstancePrediction,
    Labels,
    SpanGold,
    split_by_instance,
    word_bounds,
)
from spanloom.tasks._vocabulary import SpanOptions, infer_span_vocabulary, read_vocabulary
from spanloom.tensors import Batch, HeadInputs, PredictedRelations, PredictedSpans, SpanTargets
from spanloom.tokenization import Bounds


class PredicateOptions(SpanOptions):
    """Options of predicates and their arguments."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {
        "max_span_width": 30,
        "argument_spans_per_word": 0.3,
    }

    argument_spans_per_word: float = Field(
        1.0, gt=0, description="spans looked at as arguments, times n words"
    )
    predicate_spans_per_word: float = Field(
        0.4, gt=0, description="spans looked at as predicates in training, times n words"
    )
    gold_predicates: bool = Field(
        False, description="gold predicates are given, arguments are predicted"
    )


@dataclass(frozen=True, slots=True)
class PredicateTask(SpanRelationTask):
    """Spans that lead, and what they lead to.

    ``name_of`` says what a label of the layer is called here, ``leading`` which names are those of
    spans that lead, ``led`` those of spans that do not; ``tails`` are the names of spans that a
    relation leads to, by its label.
    """

    name_of: Callable[[str], str] = str
    predicate_labels: frozenset[str] = frozenset()
    argument_label_of: Mapping[str, str] = field(default_factory=dict)
    argument_labels: frozenset[str] = frozenset()
    predicate_pruner: Pruner = Pruner()

    def __post_init__(self) -> None:
        """Raise ``DataError`` also where nothing leads, or a relation leads to nothing named."""
        SpanRelationTask.__post_init__(self)
        labels_of(self.name, self.vocabulary.relations)
        if not self.predicate_selector.label_ids:
            raise DataError(f"task {self.name!r}: expected a span that leads, train has none")
        lacking = sorted(set(self.vocabulary.relations).difference(self.argument_label_of))
        if lacking:
            raise DataError(f"task {self.name!r}: no name for what {lacking[0]!r} leads to")

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("relation_f1",) if self.gold_given else ("relation_f1", "predicate_f1")

    @property
    def loss_names(self) -> tuple[str, ...]:
        """Spans and pairs, whether predicates are given or not."""
        gate = ["coarse"] if self.has_coarse_scorer else []
        marks = ["span_attribute"] if self.vocabulary.attributes.spans else []
        return ("span", *gate, *marks, "relation")

    def build_head(self, ground: HeadInputSpec) -> SpanRelation:
        """Make the span-relation head, in which few spans lead."""
        made = SpanRelationTask.build_head(self, ground)
        made.predicate_selector = self.predicate_selector
        return made

    @property
    def predicate_selector(self) -> PredicateSelector:
        """Which labels lead, as rows of the inventory plus one."""
        names = ("", *self.vocabulary.spans)
        own = [sorted(self.predicate_labels.intersection(expand_unary(name))) for name in names]
        columns = tuple(row for row, leading in enumerate(own) if leading)
        row_of = {name: row for row, name in enumerate(names)}
        alone = (row_of.get(each[0], row) if each else 0 for row, each in enumerate(own))
        return PredicateSelector(columns, tuple(alone), self.predicate_pruner)

    def without_gold(self, document: Document) -> Document:
        """Return the bare document, with its predicates where these are given, and no more."""
        bare = document.unannotated(self.inputs)
        if not self.gold_given:
            return bare
        spans = bare[self.layer].spans
        leading = tuple(
            span for span in spans if self.name_of(span.label) not in self.argument_labels
        )
        return bare.with_layer(Layer(self.layer, leading))

    def encode_given(self, document: Document, cut: TokenizedDocument) -> SpanGold | None:
        """Express given predicates; one of a label that train does not have is like any other."""
        if not self.gold_given:
            return None
        bared, some = self.without_gold(document), min(self.predicate_labels)
        spans = (
            span if self.name_of(span.label) in self.predicate_labels else replace(span, label=some)
            for span in bared[self.layer].spans
        )
        return self.encode_gold(bared.with_layer(Layer(self.layer, tuple(spans))), cut)

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> SpanGold:
        """Express a layer over words, spans on the same words as one."""
        layer = merge_spans(document[self.layer], self.name_of)
        return SpanRelationTask.encode_gold(self, document.with_layer(layer), cut)

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, SpanGold]
    ) -> list[str]:
        """Say what is learnt, spans on the same words counted once."""
        return SpanRelationTask.coverage_notes(
            self, merge_train_spans(train, self.layer, self.name_of), whole, gold
        )

    def predict(
        self,
        head: SpanRelation,
        vectors: HeadInputs,
        batch: Batch,
        units: Sequence[Instance],
        given: SpanTargets | None,
    ) -> Iterator[InstancePrediction]:
        """Choose what leads, then what it leads to."""
        view = head.span_inputs(vectors.word_vectors, batch.sentences)
        bounds = head.candidates(view.sentences)
        columns = [1 + len(self.vocabulary.spans)]
        scores, marks = head.score_spans(view).float().tensor_split(columns, dim=-1)
        if given is None:
            first = self._select_predicates(bounds, scores, view)
        else:
            bounds, told = self._add_given(bounds, view, given)
            more = len(bounds) - len(scores)
            scores, marks = F.pad(scores, (0, 0, 0, more)), F.pad(marks, (0, 0, 0, more))
            scores, first = self.predicate_selector.force_gold(scores, told), told > 0
        kept = text_order(bounds, head.keep(scores, bounds, view.pair_groups) | first)
        types, able = scores[kept].softmax(-1), first[kept]
        linked = self._select_arguments(head, view, bounds[kept], types, able)
        marked = attribute_sizes(self.vocabulary.attributes.spans).best(marks[kept])
        yield from split_by_instance(
            units, *self._name_spans(bounds[kept], types, able, marked, linked), self.written_labels
        )

    def _add_given(
        self, bounds: Int[Tensor, "span 2"], view: SpanInputs, given: SpanTargets
    ) -> tuple[Int[Tensor, "more 2"], Int[Tensor, " more"]]:
        """Return the candidates and what is given beside, and the label of what is given."""
        row = rows(given.bounds, view.sentences, self.vocabulary.max_span_width)
        wide = row < 0
        told = torch.zeros(len(bounds), dtype=torch.long, device=bounds.device)
        told[row[~wide]] = given.labels[~wide]
        return torch.cat([bounds, given.bounds[wide]]), torch.cat([told, given.labels[wide]])

    def _select_predicates(
        self, bounds: Int[Tensor, "span 2"], scores: Float[Tensor, "span label"], view: SpanInputs
    ) -> Bool[Tensor, " span"]:
        """Say which candidates lead: the best set that fits together, at most one a word."""
        odds = self.predicate_selector.predicate_scores(scores)
        gain = odds[:, 1] - odds[:, 0]
        likely = Pruner(1.0).keep(odds, bounds, view.pair_groups)
        ahead = text_order(bounds, (gain > 0) & likely)
        best = max_weight_nested if self.vocabulary.nested else max_weight_disjoint
        kept = best([(a, b) for a, b in bounds[ahead].tolist()], gain[ahead].tolist())
        first = torch.zeros(len(bounds), dtype=torch.bool, device=bounds.device)
        first[ahead[torch.tensor(kept, dtype=torch.long, device=ahead.device)]] = True
        return first

    def _select_arguments(
        self,
        head: SpanRelation,
        view: SpanInputs,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        able: Bool[Tensor, " kept"],
    ) -> PredictedRelations:
        """Return the roles that pay most of those whose arguments do not overlap, a predicate."""
        found = [PredictedRelations()]
        score_pairs = head.pair_scorer(view, bounds, types)
        for pairs in head.pair_generator.iter_by_head(
            group_of(bounds, view.pair_groups), MAX_PAIRS, able
        ):
            scores = score_pairs(pairs).float()
            likely, labels = scores[:, 1:].max(-1)
            gain = likely - scores[:, 0]
            there = (gain > 0).nonzero()[:, 0]
            pairs, labels, gain = pairs[there], labels[there] + 1, gain[there]
            apart = bounds[pairs[:, 1]] + pairs[:, :1] * (int(bounds.max()) + 1)
            best = max_weight_disjoint([(a, b) for a, b in apart.tolist()], gain.tolist())
            rows_of = torch.tensor(best, dtype=torch.long, device=pairs.device)
            sure = scores[there].softmax(-1).amax(-1)
            found.append(PredictedRelations(pairs[rows_of], labels[rows_of], sure[rows_of]))
        return concatenate(found)

    def _name_spans(
        self,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        able: Bool[Tensor, " kept"],
        marked: tuple[Int[Tensor, "kept attribute"], Float[Tensor, "kept attribute"]],
        linked: PredictedRelations,
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return what leads, then what is led to, once a name; links are between these rows."""
        names = self.written_labels.spans
        columns = torch.tensor(self.predicate_selector.label_ids, device=types.device)
        called = [
            names.index(self._predicate_label(each)) + 1
            for each in self.predicate_selector.label_ids
        ]
        led = [
            0,
            *(names.index(self.argument_label_of[each]) + 1 for each in self.vocabulary.relations),
        ]
        heads = able.nonzero()[:, 0]
        best = types[heads][:, columns].argmax(-1)
        ends = linked.pairs[:, 1] * (len(names) + 1) + columns.new_tensor(led)[linked.labels]
        tails, place = ends.unique(return_inverse=True)
        rows, labels = tails // (len(names) + 1), tails % (len(names) + 1)
        every = torch.cat([heads, rows])
        sure = torch.cat([types[heads][:, columns].sum(-1), 1 - types[rows, 0]])
        values, certain = (each[every] for each in marked)
        values[len(heads) :] = 0  # attributes are of what leads
        chosen = PredictedSpans(
            bounds[every],
            torch.cat([columns.new_tensor(called)[best], labels]),
            sure,
            values,
            certain,
        )
        head_of = able.cumsum(0) - 1
        moved = torch.stack([head_of[linked.pairs[:, 0]], place + len(heads)], dim=1)
        return chosen, replace(linked, pairs=moved)

    @property
    def written_labels(self) -> Labels:
        """The names of what is written: of spans that lead, and of those that are led to."""
        names = tuple(sorted(self.predicate_labels | set(self.argument_label_of.values())))
        attributes = self.vocabulary.attributes
        return Labels(names, self.vocabulary.relations, attributes.spans)

    def _predicate_label(self, column: int) -> str:
        """The name of what leads among those that a label is made of."""
        return min(
            self.predicate_labels.intersection(expand_unary(self.vocabulary.spans[column - 1]))
        )

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score predicates, arguments and roles; labels of gold by the names that are learnt."""
        return score([self._with_task_labels(each) for each in gold], predicted, self.layer)

    def _with_task_labels(self, document: Document) -> Document:
        if not document.has_layer(self.layer):
            return document
        layer = document[self.layer]
        spans = tuple(replace(each, label=self.name_of(each.label)) for each in layer.spans)
        return document.with_layer(replace(layer, spans=spans))

    def all_metrics(self, report: Report) -> MetricValues:
        """Return F1 of roles, and of predicates."""
        leading = total(
            n for label, n in report.spans.by_label.items() if label in self.predicate_labels
        )
        return {"relation_f1": report.relations.micro.f1, "predicate_f1": leading.f1}

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return names of what leads, and roles, that train did not have."""
        layers = [document[self.layer] for document in documents]
        known = self.predicate_labels | set(self.argument_label_of.values())
        names = {self.name_of(span.label) for layer in layers for span in layer.spans}
        roles = {each.label for layer in layers for each in layer.relations}
        return (names - known) | (roles - set(self.vocabulary.relations))


def merge_train_spans(
    train: TrainDocuments, layer: str, name_of: Callable[[str], str]
) -> TrainDocuments:
    """Return the documents with spans on the same words as one, those without the layer too."""
    return [
        (each.with_layer(merge_spans(each[layer], name_of)) if each.has_layer(layer) else each, cut)
        for each, cut in train
    ]


def infer_vocabulary(
    options: PredicateOptions,
    layer: str,
    train: TrainDocuments,
    name_of: Callable[[str], str],
    led: Sequence[str],
) -> dict[str, Any]:
    """Collect names, roles and limits; spans of the names ``led`` lead to no others, all else do.

    ``nested`` is whether those nest that lead.
    """
    for label in {name_of(span.label) for each, _ in train for span in each[layer].spans}:
        if JOINER in label:
            raise DataError(f"layer {layer!r}: expected labels without blanks, got {label!r:.60}")
    documents = merge_train_spans(train, layer, name_of)
    found = infer_span_vocabulary(options, layer, documents, relations=True)
    if options.nested is None:
        layers = ((_predicates_of(each[layer], led), cut.words) for each, cut in documents)
        found = replace(found, nested=has_nesting(word_bounds(*each).values() for each in layers))
    tails = _argument_labels(documents, layer, led)
    names = {name for label in found.spans for name in expand_unary(label)}
    return {
        **found.to_dict(),
        "predicate_labels": sorted(names.difference(led)),
        "argument_label_of": {
            name: [r for r in found.relations if tails[r] == name] for name in led
        },
    }


def _predicates_of(layer: Layer, led: Sequence[str]) -> Layer:
    """The spans that lead, alone."""
    spans = (span for span in layer.spans if set(expand_unary(span.label)).difference(led))
    return Layer(layer.name, tuple(spans))


def _argument_labels(train: TrainDocuments, layer: str, led: Sequence[str]) -> dict[str, str]:
    """What each relation leads to, most often."""
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    for document, _ in train:
        names = {span.id: expand_unary(span.label) for span in document[layer].spans}
        for each in document[layer].relations:
            ends[each.label].update(name for name in names.get(each.tail, ()) if name in led)
    usual = led[0]
    return {
        label: max(seen, key=lambda name: (seen[name], name), default=usual)
        for label, seen in ends.items()
    }


def build(
    name: str,
    layer: str,
    options: PredicateOptions,
    found: Mapping[str, Any],
    name_of: Callable[[str], str],
) -> PredicateTask:
    """Make a task of what ``collected`` returned."""
    return PredicateTask(
        name,
        layer,
        InstanceReader(SentenceReader()),
        options,
        read_vocabulary(found),
        Pruner(options.argument_spans_per_word),
        options.gold_predicates,
        name_of=name_of,
        predicate_labels=frozenset(found["predicate_labels"]),
        argument_label_of={
            relation: name for name, each in found["argument_label_of"].items() for relation in each
        },
        argument_labels=frozenset(found["argument_label_of"]),
        predicate_pruner=Pruner(options.predicate_spans_per_word),
    )
