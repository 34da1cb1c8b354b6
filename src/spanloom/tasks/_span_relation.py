"""The span-relation task: labelled spans, and relations between them, made of parts.

Kinds differ by the parts that they hand in: how gold is read from a layer (``GoldSpans``), what the
head is made of (``HeadParts``), how scores are decoded (``nn.span_decoding``), and what is measured
(``SpanMetrics``).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from spanloom.annotation.events import restore
from spanloom.annotation_columns import SCORE_DECIMALS
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import Attribute, Document, Layer
from spanloom.errors import DataError
from spanloom.nn.span_decoding import Decoder, SpanPairDecoder
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.spans import SpanInputs
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    Measure,
    NewId,
    TrainDocuments,
)
from spanloom.tasks._coverage import span_coverage_notes
from spanloom.tasks._document_prediction import DocumentPrediction, number_relations, to_characters
from spanloom.tasks._span_parts import GoldSpans, HeadParts, SpanMetrics
from spanloom.tasks._span_shapes import Shape, written_relations
from spanloom.tasks._spans import (
    InstancePrediction,
    Labels,
    SpanGold,
    collate_gold,
    split_by_instance,
)
from spanloom.tasks._teaching import TeacherHead
from spanloom.tasks._vocabulary import LIMIT, Vocabulary, labels_of
from spanloom.tensors import Batch, HeadInputs, Losses, SpanTargets
from spanloom.tokenization import Bounds


@dataclass(frozen=True, slots=True)
class SpanRelationTask(LayerTask):
    """Spans, and relations if the vocabulary has any.

    ``label_names`` are those of decoded labels; None if they are the vocabulary's. With
    ``is_given`` some of the gold layer is input; with ``gold_spans`` this is all spans, so they are
    not learnt. With ``across_sentences`` spans of one instance form pairs. ``can_be_given`` tells
    whether relations can be predicted between given spans though spans were learnt. ``shapes`` turn
    predictions back into the annotation that ``gold`` was read from.
    """

    vocabulary: Vocabulary
    parts: HeadParts
    decoder: Decoder
    gold: GoldSpans = GoldSpans()
    measure: Measure = SpanMetrics(("span_f1",))
    label_names: Labels | None = None
    is_given: bool = False
    gold_spans: bool = False
    across_sentences: bool = False
    can_be_given: bool = False
    unwritten: frozenset[str] = frozenset()
    decisions: Mapping[str, str] = field(default_factory=dict)
    shapes: Sequence[Shape] = ()

    def __post_init__(self) -> None:
        """Raise ``DataError`` if there is no label, or a width that no recipe may ask for."""
        labels_of(self.name, self.vocabulary.spans)
        if self.gold_spans:
            labels_of(self.name, self.vocabulary.relations)
        if not 1 <= self.vocabulary.max_span_width <= LIMIT:
            width = self.vocabulary.max_span_width
            raise DataError(f"task {self.name!r}: expected a width of 1 to {LIMIT}, got {width}")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its own layer, if a part of it is input."""
        return (self.layer,) if self.is_given else ()

    @property
    def has_coarse_scorer(self) -> bool:
        """Whether coarse scores prune spans; they do not if some spans are input."""
        return self.parts.coarse_spans_per_word is not None and not self.is_given

    @property
    def loss_names(self) -> tuple[str, ...]:
        """Spans unless they are given, pairs if there are relations."""
        scheme = self.vocabulary.attributes
        gate = ("coarse",) if self.has_coarse_scorer else ()
        spans = ("span", *gate, *(("span_attribute",) if scheme.spans else ()))
        pairs = ("relation", "relation_attribute") if scheme.relations else ("relation",)
        learnt = pairs if self.vocabulary.relations else ()
        return learnt if self.gold_spans else (*spans, *learnt)

    def written_vocabulary(self, vocabulary: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return labels of spans one by one, where several are learnt as one, without fragments."""
        learnt = self.vocabulary
        parts = (part for label in learnt.spans for part in self.gold.label_parts(label))
        written = {"span_labels": [*dict.fromkeys(parts)]}
        return {**vocabulary, **written, "relation_labels": written_relations(learnt)}

    def build_head(self, spec: HeadInputSpec) -> SpanRelation:
        """Build the span-relation head."""
        return self.parts.build(spec, self.vocabulary, coarse=self.has_coarse_scorer)

    def without_gold(self, document: Document) -> Document:
        """Return the unannotated document, with the input part of its layer."""
        bare = document.unannotated(self.inputs)
        return bare.with_layer(self.gold.given(bare[self.layer])) if self.is_given else bare

    def with_gold_inputs(self) -> Any:
        """Return the task that is given the spans of its layer, where it can be.

        Pairs read the head's own scores of these spans, as they did in training.
        """
        if self.is_given or not self.can_be_given or not isinstance(self.decoder, SpanPairDecoder):
            return self
        decoder = replace(self.decoder, gold_spans=True, scores_given=True)
        return replace(self, is_given=True, gold_spans=True, decoder=decoder)

    def encode_given(self, document: Document, tokenized: TokenizedDocument) -> SpanGold | None:
        """Express the input part of the layer over words; None if nothing is input."""
        if not self.is_given:
            return None
        bare, stand_in = self.without_gold(document), self.gold.stand_in(self.vocabulary)
        return self.gold.encode(bare, self.layer, tokenized, self.vocabulary, stand_in)

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> SpanGold:
        """Express a layer over words; of several labels on the same words the first is kept."""
        return self.gold.encode(document, self.layer, tokenized, self.vocabulary)

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, SpanGold],
    ) -> list[str]:
        """Report what is learnt, and what sentence bounds cut off."""
        return span_coverage_notes(
            self.name,
            self.layer,
            train,
            full_sentences,
            gold,
            self.gold.prepare,
            across_sentences=self.across_sentences,
            max_span_width=None if self.gold_spans else self.vocabulary.max_span_width,
        )

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, SpanGold]
    ) -> SpanTargets:
        """Collate the gold of a batch of instances; bounds are those of the batch's words."""
        return collate_gold(instances, gold)

    def loss(
        self, head: SpanRelation, vectors: HeadInputs, batch: Batch, targets: SpanTargets
    ) -> Losses:
        """Return the losses of what the task learns."""
        inputs = self.span_inputs(head, vectors, batch, targets)
        return (head.given_spans_loss if self.gold_spans else head.loss)(inputs, targets)

    @property
    def soft_labels(self) -> tuple[str, ...] | None:
        """The labels of spans, unless these are given; relations are learnt from gold alone."""
        return None if self.gold_spans else self.vocabulary.spans

    def soft_loss(
        self,
        head: SpanRelation,
        vectors: HeadInputs,
        batch: Batch,
        targets: SpanTargets,
        teacher: TeacherHead,
    ) -> Losses:
        """Return the loss of the labels of spans."""
        inputs = self.span_inputs(head, vectors, batch, targets)
        teacher_inputs = self.span_inputs(teacher.head, teacher.vectors, batch, targets)
        return {"span": head.soft_loss(inputs, teacher.head, teacher_inputs)}

    def output_biases(self, head: SpanRelation) -> Sequence[nn.Parameter]:
        """Return the biases of spans, of pairs and of the coarse scorer, as far as it learns them.

        Nearly all candidates are "none".
        """
        return head.output_biases(given_spans=self.gold_spans)

    def span_inputs(
        self, head: SpanRelation, vectors: HeadInputs, batch: Batch, targets: SpanTargets | None
    ) -> SpanInputs:
        """Return the inputs of the head; ``targets`` are gold or given annotations."""
        groups = batch.instances if self.across_sentences else batch.sentences
        features = None if targets is None else targets.features
        tokens, shared = vectors.token_vectors, vectors.span_vectors
        return head.span_inputs(
            vectors.word_vectors, batch.sentences, groups, features, tokens, shared
        )

    def predict(
        self,
        head: SpanRelation,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: SpanTargets | None,
    ) -> Iterator[InstancePrediction]:
        """Decode spans and relations, and yield those of each instance."""
        spans, relations = self.decoder(head, self.span_inputs(head, vectors, batch, given), given)
        names = self.vocabulary.labels if self.label_names is None else self.label_names
        yield from split_by_instance(instances, spans, relations, names)

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, InstancePrediction]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer of the predictions: spans in text order, one event per trigger.

        A trigger has several events only where the event scheme divides their arguments.
        """
        prediction = to_characters(predictions, new_id)
        layer = Layer(self.layer, prediction.spans, prediction.relations)
        if self.is_given:
            given = self.without_gold(document)[self.layer]
            layer = self.gold.with_given_labels(layer, given, self.vocabulary)
        if prediction.attributes:
            layer = replace(layer, attributes=_draft_attributes(prediction))
        for shape in reversed(self.shapes):
            layer = shape.restore(layer, new_id)
        drafts, scheme = layer.attributes, self.vocabulary.events
        if self.vocabulary.relations and scheme.trigger_labels:
            layer = restore(layer.spans, layer.relations, scheme, self.layer, new_id)
        relations = number_relations(layer.relations, new_id)
        if not drafts:
            return replace(layer, relations=relations)
        pairs = zip(layer.relations, relations, strict=True)
        ids = {predicted.id: numbered.id for predicted, numbered in pairs}
        return replace(
            layer, relations=relations, attributes=self._to_attributes(drafts, layer, ids, new_id)
        )

    def _to_attributes(
        self, drafts: Sequence[Attribute], layer: Layer, ids: Mapping[str, str], new_id: NewId
    ) -> tuple[Attribute, ...]:
        """Return attributes; those of relations that became arguments of events are lost."""
        events: dict[str, list[str]] = {}
        for event in layer.events:
            events.setdefault(event.trigger, []).append(event.id)
        targets = {span.id: span.id for span in layer.spans} | dict(ids)
        decoded = []
        for draft in drafts:
            target = targets.get(draft.target)
            owners = [] if target is None else [target]
            if draft.label in self.vocabulary.attributes.events:
                owners = events.get(draft.target, [draft.target])
            decoded += [replace(draft, id=new_id("A"), target=owner) for owner in owners]
        return tuple(decoded)

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return the labels in the documents' layers that train did not have."""
        return self.gold.unseen_labels([doc[self.layer] for doc in documents], self.vocabulary)


def _draft_attributes(prediction: DocumentPrediction) -> tuple[Attribute, ...]:
    """Return the attributes of predictions, whose ids are not final."""
    return tuple(
        Attribute(f"A{row}", name, target, value or None, round(prob, SCORE_DECIMALS))
        for row, (target, name, value, prob) in enumerate(prediction.attributes)
    )
