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

from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding import mst
from spanloom.document import MAIN, Document, Fragment, Layer, Relation, Span
from spanloom.metrics.dependencies import Report, score
from spanloom.nn.dependency_arcs import UNKNOWN, ArcLabeler, ArcScorer, DependencyHead
from spanloom.nn.dependency_pairs import ArcPairs
from spanloom.tasks._across import coverage_notes
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    MetricValues,
    NewId,
    TaskType,
    TrainDocuments,
    labels_of,
)
from spanloom.tasks._spans import (
    InstancePrediction,
    Labels,
    SpanGold,
    fragments_of_long_sentences,
    number_spans,
    spans_and_relations,
    split_by_instance,
    word_bounds,
)
from spanloom.tasks.pos import WordOptions
from spanloom.tensors import Batch, HeadInputs, Loss, PredictedRelations, PredictedSpans
from spanloom.tokenization import Bounds

Scorer = DependencyHead | ArcPairs
WORD = "word"  # the label of spans that only stand for words
_BESIDE = ("parataxis", "dep")  # how treebanks call what is joined by nothing else
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


class TreeOptions(WordOptions):
    """Options of dependency trees."""

    decoder: Literal["mst", "projective", "greedy"] = Field(
        "mst", description="mst (best tree with one root) | projective | greedy (best head a word)"
    )
    loss: Literal["head-selection", "pairwise"] = Field(
        "head-selection",
        description="head-selection (each word chooses one) | pairwise (all pairs, as in SpanRel)",
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
    decode: mst.Decoder

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("las", "uas")

    @property
    def loss_names(self) -> tuple[str, ...]:
        """Heads and labels, or pairs."""
        return ("pairs",) if self.options.loss == "pairwise" else ("arcs", "labels")

    def build_head(self, ground: HeadInputSpec) -> Scorer:
        """Make the scorers of arcs and labels."""
        size, dropout = self.options.hidden_size, self.options.dropout
        if self.options.loss == "pairwise":
            return ArcPairs(
                ground.word_dim, num_labels=len(self.labels), hidden_size=size, dropout=dropout
            )
        labels = ArcLabeler(
            ground.word_dim, num_labels=len(self.labels), hidden_size=size, dropout=dropout
        )
        return DependencyHead(ArcScorer(ground.word_dim, hidden_size=size, dropout=dropout), labels)

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> SpanGold:
        """Express a layer over words; a relation of spans that are no words is missed."""
        layer = document[self.layer]
        rows = {key: a for key, (a, b) in word_bounds(layer, cut.words).items() if b == a + 1}
        known = {label: row for row, label in enumerate(self.labels, 1)}
        pairs = {
            rows[each.tail]: (rows[each.head], known[each.label])
            for each in layer.relations
            if each.head in rows and each.tail in rows and each.label in known
        }
        return SpanGold(
            tuple((word, word + 1, 1) for word in sorted(rows.values())),
            tuple((head, tail, label) for tail, (head, label) in pairs.items()),
        )

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, SpanGold]
    ) -> list[str]:
        """Say what is learnt, and what sentences take away."""
        return coverage_notes(self.name, self.layer, train, whole, gold)

    def collate_targets(
        self, units: Sequence[Instance], gold: Mapping[int, SpanGold]
    ) -> TreeTargets:
        """Return each word's head; one outside its unit is not known."""
        bases = list(accumulate((len(unit.tokens) for unit in units), initial=0))
        heads = torch.full((bases[-1],), UNKNOWN)
        labels = torch.zeros(bases[-1], dtype=torch.long)
        for base, unit in zip(bases, units, strict=False):
            inside = range(unit.first_word, unit.first_word + len(unit.tokens))
            for head, tail, label in gold[unit.document].pairs:
                if head in inside and tail in inside:
                    heads[tail - unit.first_word + base] = head - unit.first_word + base
                    labels[tail - unit.first_word + base] = label
        return TreeTargets(heads, labels)

    def loss(
        self, head: Scorer, vectors: HeadInputs, batch: Batch, targets: TreeTargets
    ) -> dict[str, Loss]:
        """Return the losses of heads and labels."""
        return head.loss(vectors.word_vectors, batch.sentences, targets.heads, targets.labels)

    def predict(
        self,
        head: Scorer,
        vectors: HeadInputs,
        batch: Batch,
        units: Sequence[Instance],
        given: None,
    ) -> Iterator[InstancePrediction]:
        """Choose the best tree of each sentence, then the label of each arc."""
        words = vectors.word_vectors
        heads, sure = self._heads(head, words, batch.sentences)
        row = torch.arange(len(words), device=words.device)
        arcs = torch.stack([heads.to(words.device), row], dim=1)
        scores = head.labels(words, arcs)
        rooted = torch.tensor([each in self.roots for each in self.labels], device=scores.device)
        fits = rooted[None] == (arcs[:, 0] == arcs[:, 1])[:, None]
        named = scores.masked_fill(~fits, _UNFIT).argmax(-1) + 1
        ones = torch.ones(len(words))
        every = PredictedSpans(torch.stack([row, row + 1], dim=1), torch.ones_like(row), ones)
        yield from split_by_instance(
            units, every, PredictedRelations(arcs, named, sure), Labels((WORD,), self.labels)
        )

    def _heads(
        self, head: Scorer, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> tuple[Int[Tensor, " word"], Float[Tensor, " word"]]:
        """Return each word's head and how likely it is."""
        heads = torch.zeros(len(words), dtype=torch.long)
        sure = torch.zeros(len(words))
        for places, lengths, scores in head.arcs(words, runs):
            likely = scores.log_softmax(1).cpu()
            firsts, sizes = places[:, 0].tolist(), lengths.tolist()
            for table, first, n in zip(likely, firsts, sizes, strict=True):
                found = torch.from_numpy(self.decode(table[:n, :n].double().numpy()))
                heads[first : first + n] = found + first
                sure[first : first + n] = table[found, torch.arange(n)].exp()
        return heads, sure

    def to_layer(
        self, document: Document, found: Sequence[tuple[Instance, InstancePrediction]], fresh: NewId
    ) -> Layer:
        """Make a layer of words and relations.

        Of a long sentence in parts the first one's root heads the others', side by side.
        """
        spans, relations = spans_and_relations(found, fresh)
        heads = _above(spans, relations, fragments_of_long_sentences(found))
        if not heads:
            return Layer(self.layer, spans, relations)
        tree = (
            replace(each, label=self._beside, head=heads[each.tail]) if each.tail in heads else each
            for each in relations
        )
        return Layer(self.layer, spans, tuple(tree))

    @property
    def _beside(self) -> str:
        """The label of an arc between two trees that stand side by side."""
        known = {label.lower(): label for label in reversed(self.labels)}
        return next((known[each] for each in _BESIDE if each in known), self.labels[0])

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score arcs, with labels and without."""
        return score(gold, predicted, self.layer)

    def metrics(self, report: Report) -> MetricValues:
        """Return F1 of labelled arcs and of arcs."""
        return {"las": report.las.micro.f1, "uas": report.uas.micro.f1}

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of arcs that train did not have."""
        arcs = (each for document in documents for each in document[self.layer].relations)
        return {each.label for each in arcs} - set(self.labels)


def _above(
    spans: Sequence[Span], relations: Sequence[Relation], sentences: Sequence[Sequence[Fragment]]
) -> dict[str, str]:
    """What heads the root of each part of a long sentence but the first, by ids of words."""
    if not sentences:
        return {}
    starts = [start for parts in sentences for start, _ in parts]
    firsts = [row for parts in sentences for row in range(len(parts))]
    ends = [end for parts in sentences for _, end in parts]
    at = {span.id: span.start for span in spans}
    roots: dict[int, str] = {}  # of parts that have one
    for each in relations:
        row = bisect_right(starts, at[each.tail]) - 1
        if each.head == each.tail and row >= 0 and at[each.tail] < ends[row]:
            roots.setdefault(row, each.tail)
    tops = {row: roots.get(row - firsts[row]) for row in roots if firsts[row]}
    return {roots[row]: top for row, top in tops.items() if top is not None}


_DECODERS: dict[str, mst.Decoder] = {
    "mst": mst.chu_liu_edmonds,
    "projective": mst.eisner,
    "greedy": mst.greedy_heads,
}


def _infer_vocabulary(options: TreeOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    arcs = [each for document, _ in train for each in document[layer].relations]
    roots, others = Counter[str](), Counter[str]()
    for each in arcs:
        (roots if each.head == each.tail else others)[each.label] += 1
    return {
        "relation_labels": sorted(roots | others),
        "roots": sorted(label for label in roots if roots[label] > others[label]),
    }


def _build(
    name: str,
    layer: str,
    options: TreeOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> DependencyTask:
    return DependencyTask(
        name,
        layer,
        InstanceReader(SentenceReader()),
        options,
        labels_of(name, collected["relation_labels"]),
        frozenset(collected["roots"]),
        _DECODERS[options.decoder],
    )


KIND = TaskType(TreeOptions, _infer_vocabulary, _build, _SAMPLE)
