"""Dependency trees: each word chooses its head, and a root chooses itself (SpanRel, table 2).

A layer has a span a word, and a relation from each head to its dependent; the root's is from itself
to itself.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.config.options import Options
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding import mst
from spanloom.document import MAIN, Document, Fragment, Layer, Relation, Span
from spanloom.metrics.dependencies import score
from spanloom.nn.dependency_arcs import UNKNOWN, ArcLabeler, ArcScorer, DependencyHead
from spanloom.nn.dependency_pairs import ArcPairs
from spanloom.nn.feedforward import FEEDFORWARDS
from spanloom.nn.product_pairs import ProductArcLabeler
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    Metrics,
    NewId,
    TaskSetup,
    TaskType,
    TrainDocuments,
)
from spanloom.tasks._coverage import span_coverage_notes
from spanloom.tasks._document_prediction import fragments_of_long_sentences, spans_and_relations
from spanloom.tasks._spans import (
    InstancePrediction,
    Labels,
    SpanGold,
    number_spans,
    split_by_instance,
    within,
    word_bounds,
)
from spanloom.tasks._teaching import TeacherHead
from spanloom.tasks._vocabulary import labels_of
from spanloom.tensors import Batch, HeadInputs, Losses, PredictedRelations, PredictedSpans
from spanloom.tokenization import Bounds

Scorer = DependencyHead | ArcPairs
WORD = "word"  # the label of spans that only stand for words
_JOIN_LABELS = ("parataxis", "dep")  # of loosely joined clauses, in treebanks
_UNFIT = -1e4  # the score of a root's label elsewhere; finite, so that there always is a tree

_SAMPLE = Document(
    "She wrote letters .\nBob slept .",
    (
        Layer(
            MAIN,
            number_spans(
                (WORD, 0, 3),
                (WORD, 4, 9),
                (WORD, 10, 17),
                (WORD, 18, 19),
                (WORD, 20, 23),
                (WORD, 24, 29),
                (WORD, 30, 31),
            ),
            (
                Relation("R1", "nsubj", "T2", "T1"),
                Relation("R2", "root", "T2", "T2"),
                Relation("R3", "obj", "T2", "T3"),
                Relation("R4", "punct", "T2", "T4"),
                Relation("R5", "nsubj", "T6", "T5"),
                Relation("R6", "root", "T6", "T6"),
                Relation("R7", "punct", "T6", "T7"),
            ),
        ),
    ),
    "sample",
)


class TreeOptions(Options):
    """Options of dependency trees.

    SpanRel as written (section 3): the pairwise loss, greedy heads, the pair scorer ``spanrel``
    over contents of the trunk, plain perceptrons.
    """

    hidden_size: int = Field(256, ge=8, le=4096, description="units of the perceptron")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")
    decoder: Literal["mst", "projective", "greedy"] = Field(
        "mst", description="mst (best tree with one root) | projective | greedy (best head a word)"
    )
    loss: Literal["head-selection", "pairwise"] = Field(
        "head-selection",
        description="head-selection (each word chooses one) | pairwise (all pairs, as in SpanRel)",
    )
    pair_scorer: Literal["projected", "spanrel"] = Field(
        "projected",
        description="of labels: projected (product of projected words) | "
        "spanrel (product of the words' vectors)",
    )
    span_content: Literal["level", "trunk"] = Field(
        "level", description="level | trunk: trunk joins its vectors to those of the level"
    )
    perceptron: Literal["normed", "plain"] = Field(
        "normed", description="normed (layer norm, GELU) | plain (ReLU)"
    )


@dataclass(frozen=True, slots=True)
class TreeTargets:
    """Each word's head, ``UNKNOWN`` where there is none to learn, and the label of its arc."""

    heads: Int[Tensor, " word"]
    labels: Int[Tensor, " word"]

    def to(self, device: torch.device) -> "TreeTargets":
        """Return the same targets on another device."""
        return TreeTargets(self.heads.to(device), self.labels.to(device))


@dataclass(frozen=True, slots=True)
class DependencyTask(LayerTask):
    """Words choose their heads; the best tree of a sentence is decoded, and its arcs are labelled.

    ``roots`` are the labels of roots: no other arc has them, and no root has another.
    """

    options: TreeOptions
    labels: tuple[str, ...]
    roots: frozenset[str]
    decode: mst.RunDecoder

    measure = Metrics(
        ("las", "uas"),
        score,
        lambda report: {"las": report.las.micro.f1, "uas": report.uas.micro.f1},
    )

    @property
    def loss_names(self) -> tuple[str, ...]:
        """Heads and labels, or pairs."""
        return ("relation",) if self.options.loss == "pairwise" else ("arcs", "labels")

    def build_head(self, spec: HeadInputSpec) -> Scorer:
        """Build the scorers of arcs and labels."""
        options, is_pairwise = self.options, self.options.loss == "pairwise"
        dim = spec.word_dim + (spec.token_dim if options.span_content == "trunk" else 0)
        labels = _LABELERS[options.pair_scorer](
            dim,
            num_labels=len(self.labels) + is_pairwise,
            hidden_size=options.hidden_size,
            dropout=options.dropout,
            feedforward=FEEDFORWARDS[options.perceptron],
        )
        if is_pairwise:
            return ArcPairs(labels)
        arcs = ArcScorer(dim, hidden_size=options.hidden_size, dropout=options.dropout)
        return DependencyHead(arcs, labels)

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> SpanGold:
        """Express a layer over words; a relation of spans that are no words is missed."""
        layer = document[self.layer]
        bounds = word_bounds(layer, tokenized.words)
        word_of = {id: start for id, (start, end) in bounds.items() if end == start + 1}
        label_to_id = {label: index for index, label in enumerate(self.labels, 1)}
        pairs = {
            word_of[arc.tail]: (word_of[arc.head], label_to_id[arc.label])
            for arc in layer.relations
            if arc.head in word_of and arc.tail in word_of and arc.label in label_to_id
        }
        return SpanGold(
            tuple((word, word + 1, 1) for word in sorted(word_of.values())),
            tuple(sorted((head, tail, label) for tail, (head, label) in pairs.items())),
        )

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, SpanGold],
    ) -> list[str]:
        """Report what is learnt, and what sentence bounds cut off."""
        by_span = {index: _pairs_of_spans(document) for index, document in gold.items()}
        return span_coverage_notes(self.name, self.layer, train, full_sentences, by_span)

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, SpanGold]
    ) -> TreeTargets:
        """Return each word's head; a head outside the instance is unknown."""
        bases = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
        heads = torch.full((bases[-1],), UNKNOWN)
        labels = torch.zeros(bases[-1], dtype=torch.long)
        for base, instance in zip(bases, instances, strict=False):
            first, end = instance.first_word, instance.first_word + len(instance.tokens)
            for head, tail, label in within(gold[instance.document].pairs, (first,), (end,)):
                if first <= tail < end:
                    heads[tail - instance.first_word + base] = head - instance.first_word + base
                    labels[tail - instance.first_word + base] = label
        return TreeTargets(heads, labels)

    def loss(self, head: Scorer, vectors: HeadInputs, batch: Batch, targets: TreeTargets) -> Losses:
        """Return the losses of heads and labels."""
        words = self._word_vectors(vectors)
        return head.loss(words, batch.sentences, targets.heads, targets.labels)

    @property
    def soft_labels(self) -> tuple[str, ...] | None:
        """The labels of arcs; None with the pairwise loss, where no head is more likely."""
        return None if self.options.loss == "pairwise" else self.labels

    def soft_loss(
        self,
        head: Scorer,
        vectors: HeadInputs,
        batch: Batch,
        targets: TreeTargets,
        teacher: TeacherHead,
    ) -> Losses:
        """Return the losses of heads and of the labels of arcs."""
        assert isinstance(head, DependencyHead), "pairwise losses have no soft labels"
        words, teacher_words = self._word_vectors(vectors), self._word_vectors(teacher.vectors)
        return head.soft_loss(words, batch.sentences, teacher.head, teacher_words)

    def _word_vectors(self, vectors: HeadInputs) -> Float[Tensor, "word dim"]:
        """Return the vectors that the head reads: each word's content and its level's vector."""
        if self.options.span_content == "level":
            return vectors.word_vectors
        assert vectors.token_vectors is not None, "the trunk's vectors come with those of levels"
        return torch.cat([vectors.token_vectors, vectors.word_vectors], dim=-1)

    def predict(
        self,
        head: Scorer,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: None,
    ) -> Iterator[InstancePrediction]:
        """Choose the best tree of each sentence, then the label of each arc."""
        words = self._word_vectors(vectors)
        heads, probs = self._heads(head, words, batch.sentences)
        index = torch.arange(len(words), device=words.device)
        arcs = torch.stack([heads.to(words.device), index], dim=1)
        scores = head.labels(words, arcs)
        is_root = torch.tensor([label in self.roots for label in self.labels], device=scores.device)
        is_allowed = is_root[None] == (arcs[:, 0] == arcs[:, 1])[:, None]
        # where no label is allowed, as where train has none of a root, the likeliest of all is
        labels = (scores.float() + _UNFIT * ~is_allowed).argmax(-1) + 1
        ones = torch.ones(len(words))
        spans = PredictedSpans(torch.stack([index, index + 1], dim=1), torch.ones_like(index), ones)
        yield from split_by_instance(
            instances, spans, PredictedRelations(arcs, labels, probs), Labels((WORD,), self.labels)
        )

    def _heads(
        self, head: Scorer, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> tuple[Int[Tensor, " word"], Float[Tensor, " word"]]:
        """Return each word's head and its probability."""
        heads = torch.zeros(len(words), dtype=torch.long)
        probs = torch.zeros(len(words))
        for indices, lengths, scores in head.arcs(words, runs):
            log_probs, indices = scores.log_softmax(1).cpu(), indices.cpu()
            decoded = torch.from_numpy(self.decode(log_probs.numpy(), lengths.cpu().numpy()))
            is_word = torch.arange(indices.shape[1]) < lengths.cpu()[:, None]
            rows = indices[is_word]
            heads[rows] = (decoded + indices[:, :1])[is_word]
            probs[rows] = log_probs.gather(1, decoded[:, None])[:, 0][is_word].exp()
        return heads, probs

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, InstancePrediction]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer of words and relations.

        The root of a long sentence's first part becomes the head of the other parts' roots.
        """
        spans, relations = spans_and_relations(predictions, new_id)
        heads = _heads_of_parts(spans, relations, fragments_of_long_sentences(predictions))
        if not heads:
            return Layer(self.layer, spans, relations)
        tree = (
            replace(arc, label=self._join_label, head=heads[arc.tail]) if arc.tail in heads else arc
            for arc in relations
        )
        return Layer(self.layer, spans, tuple(tree))

    @property
    def _join_label(self) -> str:
        """Return the label of an arc that joins the trees of a sentence's parts."""
        by_lower = {label.lower(): label for label in reversed(self.labels)}
        usual = (by_lower[label] for label in _JOIN_LABELS if label in by_lower)
        return next(usual, self.labels[0])

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of arcs that train did not have."""
        arcs = (arc for document in documents for arc in document[self.layer].relations)
        return {arc.label for arc in arcs} - set(self.labels)


def _pairs_of_spans(gold: SpanGold) -> SpanGold:
    """Return gold whose pairs are of spans, as elsewhere, where not every word has one."""
    span_of = {word: row for row, (word, _, _) in enumerate(gold.spans)}
    pairs = ((span_of[head], span_of[tail], label) for head, tail, label in gold.pairs)
    return replace(gold, pairs=tuple(pairs))


def _heads_of_parts(
    spans: Sequence[Span], relations: Sequence[Relation], sentences: Sequence[Sequence[Fragment]]
) -> dict[str, str]:
    """Return the new head of the root of each later part of a long sentence, by word ids."""
    if not sentences:
        return {}
    starts = [start for parts in sentences for start, _ in parts]
    index_in_sentence = [index for parts in sentences for index in range(len(parts))]
    ends = [end for parts in sentences for _, end in parts]
    start_of = {span.id: span.start for span in spans}
    roots: dict[int, str] = {}  # by part; not every part has one
    for arc in relations:
        part = bisect_right(starts, start_of[arc.tail]) - 1
        if arc.head == arc.tail and part >= 0 and start_of[arc.tail] < ends[part]:
            roots.setdefault(part, arc.tail)
    heads = {
        part: roots.get(part - index_in_sentence[part]) for part in roots if index_in_sentence[part]
    }
    return {roots[part]: head for part, head in heads.items() if head is not None}


_LABELERS: dict[str, type[ArcLabeler] | type[ProductArcLabeler]] = {
    "projected": ArcLabeler,
    "spanrel": ProductArcLabeler,
}
_DECODERS: dict[str, mst.RunDecoder] = {
    "mst": mst.chu_liu_edmonds_runs,
    "projective": mst.eisner_runs,
    "greedy": mst.greedy_runs,
}


def _infer_vocabulary(options: TreeOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    roots, others = Counter[str](), Counter[str]()
    for arc in (arc for document, _ in train for arc in document[layer].relations):
        (roots if arc.head == arc.tail else others)[arc.label] += 1
    return {
        "relation_labels": sorted(roots | others),
        "roots": sorted(label for label in roots if roots[label] > others[label]),
    }


def _build(setup: TaskSetup[TreeOptions]) -> DependencyTask:
    options = setup.options
    return DependencyTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader()),
        options,
        labels_of(setup.name, setup.vocabulary["relation_labels"]),
        frozenset(setup.vocabulary["roots"]),
        _DECODERS[options.decoder],
    )


KIND = TaskType(TreeOptions, _infer_vocabulary, _build, _SAMPLE)
