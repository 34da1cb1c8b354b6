"""Predicates and their arguments: semantic roles, open IE, opinions (SpanRel, table 2b).

A predicate, or an opinion's expression, is the head of relations to its arguments, labelled with
roles. A span that is argument and predicate at once has a joint label. Arguments are not selected
as spans first: any of a sentence's K most probable spans may be one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from spanloom.annotation.nesting import has_nesting
from spanloom.annotation.unary_chains import JOINER, expand_unary, merge_spans
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.metrics.counts import total
from spanloom.metrics.report import Report, score
from spanloom.nn.candidates import Pruner
from spanloom.nn.head_selection import PredicateSelector
from spanloom.nn.predicate_decoding import PredicateDecoder
from spanloom.tasks._base import MetricValues, TaskSetup, TrainDocuments
from spanloom.tasks._span_parts import (
    PAIR_SCORERS,
    GoldSpans,
    SpanMetrics,
    head_parts,
    prepare_layers,
)
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import Labels, word_bounds
from spanloom.tasks._vocabulary import (
    PredicateOptions,
    Vocabulary,
    infer_span_vocabulary,
    labels_of,
    read_vocabulary,
)

OptionsT = TypeVar("OptionsT", bound=PredicateOptions)


@dataclass(frozen=True, slots=True)
class GoldPredicates(GoldSpans):
    """Predicates and arguments; spans on the same words have one joint label.

    ``name_of`` maps a label of the layer to the task's name for it. ``predicate_labels`` and
    ``argument_labels`` are such names. ``argument_label_of`` has the name of the tail by relation
    label.
    """

    name_of: Callable[[str], str]
    predicate_labels: frozenset[str]
    argument_labels: frozenset[str]
    argument_label_of: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of written spans."""
        return tuple(sorted(self.predicate_labels | set(self.argument_label_of.values())))

    def prepare(self, layer: Layer) -> Layer:
        """Return the layer with spans on the same words merged."""
        return merge_spans(layer, self.name_of)

    def given(self, layer: Layer) -> Layer:
        """Return the predicates."""
        spans = (
            span for span in layer.spans if self.name_of(span.label) not in self.argument_labels
        )
        return Layer(layer.name, tuple(spans))

    def stand_in(self, vocabulary: Vocabulary) -> str:
        """Return the label that predicates are read with if train does not have theirs."""
        return next(label for label in vocabulary.spans if self.joint_names(label))

    def written_label(self, label: str) -> str:
        """Return the name of the predicate, the first of several."""
        return next(iter(self.joint_names(label)), expand_unary(label)[0])

    def unseen_labels(self, layers: Sequence[Layer], vocabulary: Vocabulary) -> set[str]:
        """Return names of spans, and roles, that train did not have."""
        names = {self.name_of(span.label) for layer in layers for span in layer.spans}
        roles = {relation.label for layer in layers for relation in layer.relations}
        return (names - set(self.names)) | (roles - set(vocabulary.relations))

    def joint_names(self, label: str) -> list[str]:
        """Return the names of predicates that a joint label is made of."""
        return sorted(self.predicate_labels.intersection(expand_unary(label)))

    def selector(self, labels: Sequence[str], options: PredicateOptions) -> PredicateSelector:
        """Return the selector of spans whose label, of these joint ones, is of a predicate."""
        names = ("", *labels)
        predicate_names = [self.joint_names(name) for name in names]
        id_of = {name: index for index, name in enumerate(names)}
        return PredicateSelector(
            tuple(index for index, joint in enumerate(predicate_names) if joint),
            tuple(
                id_of.get(joint[0], index) if joint else 0
                for index, joint in enumerate(predicate_names)
            ),
            Pruner(options.predicate_spans_per_word),
            options.gold_predicates,
        )


@dataclass(frozen=True, slots=True)
class PredicateMetrics(SpanMetrics):
    """F1 of roles, and of predicates; labels of gold are compared by the task's names."""

    gold: GoldPredicates

    def compute(
        self, gold: Sequence[Document], predicted: Sequence[Document], layer: str
    ) -> Report:
        """Score predicates, arguments and roles."""
        return score([self._renamed(document, layer) for document in gold], predicted, layer)

    def _renamed(self, document: Document, name: str) -> Document:
        if not document.has_layer(name):
            return document
        layer, name_of = document[name], self.gold.name_of
        spans = tuple(replace(span, label=name_of(span.label)) for span in layer.spans)
        return document.with_layer(replace(layer, spans=spans))

    def values(self, report: Report) -> MetricValues:
        """Return F1 of roles, and of predicates."""
        by_label = report.spans.by_label.items()
        predicates = total(n for label, n in by_label if label not in self.gold.argument_labels)
        return {"relation_f1": report.relations.micro.f1, "predicate_f1": predicates.f1}


def infer_vocabulary(
    options: PredicateOptions,
    layer: str,
    train: TrainDocuments,
    name_of: Callable[[str], str],
    argument_labels: Sequence[str],
) -> dict[str, Any]:
    """Return names, roles and limits; spans are predicates unless named by ``argument_labels``.

    ``nested`` says whether predicates nest.
    """
    for label in {name_of(span.label) for document, _ in train for span in document[layer].spans}:
        if JOINER in label:
            raise DataError(f"layer {layer!r}: expected labels without blanks, got {label!r:.60}")
    documents = prepare_layers(train, layer, lambda source: merge_spans(source, name_of))
    vocabulary = infer_span_vocabulary(options, layer, documents, relations=True)
    if options.nested is None:
        vocabulary = replace(vocabulary, nested=_nests(documents, layer, argument_labels))
    label_of = _argument_labels(documents, layer, argument_labels)
    names = {name for label in vocabulary.spans for name in expand_unary(label)}
    return {
        **vocabulary.to_dict(),
        "predicate_labels": sorted(names.difference(argument_labels)),
        "argument_label_of": {
            name: [role for role in vocabulary.relations if label_of[role] == name]
            for name in argument_labels
        },
    }


def _nests(train: TrainDocuments, name: str, argument_labels: Sequence[str]) -> bool:
    """Return whether predicates nest."""
    layers = (
        (
            [s for s in doc[name].spans if set(expand_unary(s.label)).difference(argument_labels)],
            tokenized,
        )
        for doc, tokenized in train
    )
    predicates = (
        word_bounds(Layer(name, tuple(spans)), tokenized.words) for spans, tokenized in layers
    )
    return has_nesting(bounds.values() for bounds in predicates)


def _argument_labels(
    train: TrainDocuments, layer: str, argument_labels: Sequence[str]
) -> dict[str, str]:
    """Return the most frequent argument label at the tail of each relation label."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for document, _ in train:
        names = {span.id: expand_unary(span.label) for span in document[layer].spans}
        for relation in document[layer].relations:
            tail_names = names.get(relation.tail, ())
            counts[relation.label].update(name for name in tail_names if name in argument_labels)
    return {
        label: max(count, key=lambda name: (count[name], name), default=argument_labels[0])
        for label, count in counts.items()
    }


def build(setup: TaskSetup[OptionsT], name_of: Callable[[str], str]) -> SpanRelationTask:
    """Build a task from an inferred vocabulary; ``name_of`` is as in ``GoldPredicates``.

    Raises ``DataError`` if it has no label, no predicate, or no name for the tail of a relation.
    """
    options, vocabulary = setup.options, read_vocabulary(setup.vocabulary)
    gold = _gold_predicates(setup.vocabulary, name_of)
    selector = gold.selector(vocabulary.spans, options)
    _check(setup.name, vocabulary, gold, selector)
    decisions = {"predicate": "predicate_f1", "relation": "relation_f1"}
    if options.gold_predicates:
        del decisions["predicate"]
    return SpanRelationTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader()),
        vocabulary,
        replace(
            head_parts(options),
            pruner=Pruner(options.argument_spans_per_word),
            pair_scorer=PAIR_SCORERS[options.pair_scorer],
            predicate_selector=selector,
        ),
        _decoder(setup, vocabulary, gold, selector),
        gold,
        PredicateMetrics(tuple(reversed(decisions.values())), gold),
        Labels(gold.names, vocabulary.relations, vocabulary.attributes.spans),
        is_given=options.gold_predicates,
        decisions=decisions,
    )


def _gold_predicates(
    vocabulary: Mapping[str, Any], name_of: Callable[[str], str]
) -> GoldPredicates:
    by_tail = vocabulary["argument_label_of"]
    return GoldPredicates(
        name_of,
        frozenset(vocabulary["predicate_labels"]),
        frozenset(by_tail),
        {relation: tail for tail, relations in by_tail.items() for relation in relations},
    )


def _check(
    name: str, vocabulary: Vocabulary, gold: GoldPredicates, selector: PredicateSelector
) -> None:
    labels_of(name, vocabulary.spans)
    if not selector.label_ids:
        raise DataError(f"task {name!r}: expected a span that is a predicate, train has none")
    for role in labels_of(name, vocabulary.relations):
        if role not in gold.argument_label_of:
            raise DataError(f"task {name!r}: no label for the arguments of {role!r}")


def _decoder(
    setup: TaskSetup[OptionsT],
    vocabulary: Vocabulary,
    gold: GoldPredicates,
    selector: PredicateSelector,
) -> PredicateDecoder:
    predicates = (gold.joint_names(vocabulary.spans[id - 1])[0] for id in selector.label_ids)
    arguments = (gold.argument_label_of[role] for role in vocabulary.relations)
    return PredicateDecoder(
        vocabulary.nested,
        tuple(gold.names.index(predicate) + 1 for predicate in predicates),
        (0, *(gold.names.index(argument) + 1 for argument in arguments)),
        setup.bias("predicate"),
        setup.bias("relation"),
    )
