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

from spanloom.data.readings import Reading, Sentences
from spanloom.data.units import Cut, Unit
from spanloom.document import MAIN, Document, Fragment, Layer, Relation, Span
from spanloom.metrics.dependencies import Report, score
from spanloom.nn.arc_pairs import ArcPairs
from spanloom.nn.arcs import UNKNOWN, ArcLabels, Arcs, Tree
from spanloom.structs import mst
from spanloom.tasks._across import remark
from spanloom.tasks._base import Figures, Fresh, Ground, Kind, LayerTask, Train, labels_of
from spanloom.tasks._spans import (
    Found,
    Gold,
    Labels,
    in_parts,
    labelled,
    placed,
    share,
    spans_and_relations,
)
from spanloom.tasks.pos import WordOptions
from spanloom.tensors import Batch, Chosen, Linked, Loss, Vectors
from spanloom.words import Bounds

Scorer = Tree | ArcPairs
WORD = "word"  # the label of spans that only stand for words
_BESIDE = ("parataxis", "dep")  # how treebanks call what is joined by nothing else
_UNFIT = -1e4  # the score of a root's label elsewhere; finite, so that there always is a tree

_SAMPLE = Document(
    "She wrote letters .\nBob slept .",
    (
        Layer(
            MAIN,
            labelled(
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

    decoder: Literal["tree", "projective", "greedy"] = Field(
        "tree", description="tree (best with one root) | projective | greedy (best head a word)"
    )
    loss: Literal["head", "pairwise"] = Field(
        "head", description="head (each word chooses one) | pairwise (all pairs, as in SpanRel)"
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
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("las", "uas")

    @property
    def learns(self) -> tuple[str, ...]:
        """Heads and labels, or pairs."""
        return ("pairs",) if self.options.loss == "pairwise" else ("arcs", "labels")

    def head(self, ground: Ground) -> Scorer:
        """Make the scorers of arcs and labels."""
        size, dropout = self.options.size, self.options.dropout
        if self.options.loss == "pairwise":
            return ArcPairs(ground.dim, labels=len(self.labels), size=size, dropout=dropout)
        labels = ArcLabels(ground.dim, labels=len(self.labels), size=size, dropout=dropout)
        return Tree(Arcs(ground.dim, size=size, dropout=dropout), labels)

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Express a layer over words; a relation of spans that are no words is missed."""
        layer = document[self.layer]
        rows = {key: a for key, (a, b) in placed(layer, cut.words).items() if b == a + 1}
        known = {label: row for row, label in enumerate(self.labels, 1)}
        pairs = {
            rows[each.tail]: (rows[each.head], known[each.label])
            for each in layer.relations
            if each.head in rows and each.tail in rows and each.label in known
        }
        return Gold(
            tuple((word, word + 1, 1) for word in sorted(rows.values())),
            tuple((head, tail, label) for tail, (head, label) in pairs.items()),
        )

    def remarks(
        self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Gold]
    ) -> list[str]:
        """Say what is learnt, and what sentences take away."""
        return remark(self.name, self.layer, train, whole, gold)

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> TreeTargets:
        """Return each word's head; one outside its unit is not known."""
        bases = list(accumulate((len(unit.forms) for unit in units), initial=0))
        heads = torch.full((bases[-1],), UNKNOWN)
        labels = torch.zeros(bases[-1], dtype=torch.long)
        for base, unit in zip(bases, units, strict=False):
            inside = range(unit.first, unit.first + len(unit.forms))
            for head, tail, label in gold[unit.document].pairs:
                if head in inside and tail in inside:
                    heads[tail - unit.first + base] = head - unit.first + base
                    labels[tail - unit.first + base] = label
        return TreeTargets(heads, labels)

    def loss(
        self, head: Scorer, vectors: Vectors, batch: Batch, targets: TreeTargets
    ) -> dict[str, Loss]:
        """Return the losses of heads and labels."""
        return head.loss(vectors.words, batch.sentences, targets.heads, targets.labels)

    def predict(
        self,
        head: Scorer,
        vectors: Vectors,
        batch: Batch,
        units: Sequence[Unit],
        given: None,
    ) -> Iterator[Found]:
        """Choose the best tree of each sentence, then the label of each arc."""
        words = vectors.words
        heads, sure = self._heads(head, words, batch.sentences)
        row = torch.arange(len(words), device=words.device)
        arcs = torch.stack([heads.to(words.device), row], dim=1)
        scores = head.labels(words, arcs)
        rooted = torch.tensor([each in self.roots for each in self.labels], device=scores.device)
        fits = rooted[None] == (arcs[:, 0] == arcs[:, 1])[:, None]
        named = scores.masked_fill(~fits, _UNFIT).argmax(-1) + 1
        ones = torch.ones(len(words))
        every = Chosen(torch.stack([row, row + 1], dim=1), torch.ones_like(row), ones)
        yield from share(units, every, Linked(arcs, named, sure), Labels((WORD,), self.labels))

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

    def write(self, document: Document, found: Sequence[tuple[Unit, Found]], fresh: Fresh) -> Layer:
        """Make a layer of words and relations.

        Of a long sentence in parts the first one's root heads the others', side by side.
        """
        spans, relations = spans_and_relations(found, fresh)
        heads = _above(spans, relations, in_parts(found))
        tree = (
            replace(each, label=self._beside, head=heads[each.tail]) if each.tail in heads else each
            for each in relations
        )
        return Layer(self.layer, tuple(spans), tuple(tree))

    @property
    def _beside(self) -> str:
        """The label of an arc between two trees that stand side by side."""
        known = {label.lower(): label for label in reversed(self.labels)}
        return next((known[each] for each in _BESIDE if each in known), self.labels[0])

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score arcs, with labels and without."""
        return score(gold, predicted, self.layer)

    def figures(self, report: Report) -> Figures:
        """Return F1 of labelled arcs and of arcs."""
        return {"las": report.las.micro.f1, "uas": report.uas.micro.f1}

    def unknown(self, documents: Sequence[Document]) -> set[str]:
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
    "tree": mst.spanning,
    "projective": mst.projective,
    "greedy": mst.greedy,
}


def _collect(options: TreeOptions, layer: str, train: Train) -> dict[str, Any]:
    arcs = [each for document, _ in train for each in document[layer].relations]
    roots, others = Counter[str](), Counter[str]()
    for each in arcs:
        (roots if each.head == each.tail else others)[each.label] += 1
    return {
        "relations": sorted(roots | others),
        "roots": sorted(label for label in roots if roots[label] > others[label]),
    }


def _make(
    name: str,
    layer: str,
    options: TreeOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> DependencyTask:
    return DependencyTask(
        name,
        layer,
        Reading(Sentences()),
        options,
        labels_of(name, collected["relations"]),
        frozenset(collected["roots"]),
        _DECODERS[options.decoder],
    )


KIND = Kind(TreeOptions, _collect, _make, _SAMPLE)
