"""Dependency trees: each word chooses its head, and a root chooses itself (SpanRel, table 2).

A layer has a span a word, and a relation from each head to its dependent; the root's is from itself
to itself.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.data.readings import Reading, Sentences
from spanloom.data.units import Cut, Unit, shorten
from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.forms.events import EventScheme
from spanloom.nn.choices import ChoiceLoss
from spanloom.nn.pairs import Pairing
from spanloom.nn.span_relation import SpanRelation, View, run_of
from spanloom.nn.spans import SpanAttention
from spanloom.structs import mst
from spanloom.tasks._base import Fresh, Ground, Kind, Train
from spanloom.tasks._span_relation import PAIRS, Inventory, SpanRelationTask
from spanloom.tasks._spans import Found, Gold, Labels, labelled, placed, share, spans_and_relations
from spanloom.tasks.pos import WordOptions
from spanloom.tensors import Batch, Chosen, Linked, SpanTargets, Vectors

WORD = "word"  # the label of spans that only stand for words
_UNFIT = -1e4  # the score of a root's label elsewhere; finite, so that there always is a tree
LONGEST = 256  # words of a tree; a longer sentence is decoded in parts

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


@dataclass(frozen=True, slots=True)
class DependencyTask(SpanRelationTask):
    """All words are spans; pairs of words, of which each dependent chooses one, make the tree.

    ``roots`` are the labels of roots: no other arc has them, and no root has another.
    """

    decode: mst.Decoder = mst.spanning
    roots: frozenset[str] = frozenset()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Words are no input: they are found in the text."""
        return ()

    @property
    def pairing(self) -> Pairing:
        """Every word with every other and itself."""
        return Pairing(itself=True, loss=ChoiceLoss(dummy=False))

    def head(self, ground: Ground) -> SpanRelation:
        """Make a head that scores pairs alone."""
        return SpanRelation(
            SpanAttention(ground.dim),
            None,
            self.pair_scorer(ground.dim),
            width=1,
            prune=self.prune,
            confusing=None,
            dropout=self.options.dropout,
            pairing=self.pairing,
        )

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Express a layer over words; a relation of spans that are no words is missed."""
        layer = document[self.layer]
        rows = {key: a for key, (a, b) in placed(layer, cut.words).items() if b == a + 1}
        known = {label: row for row, label in enumerate(self.inventory.relations, 1)}
        pairs = {
            rows[each.tail]: (rows[each.head], known[each.label])
            for each in layer.relations
            if each.head in rows and each.tail in rows and each.label in known
        }
        words = sorted(rows.values())
        return Gold(
            tuple((word, word + 1, 1) for word in words),
            tuple((head, tail, label) for tail, (head, label) in pairs.items()),
        )

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> SpanTargets:
        """Return all words of the batch as spans, and the relations between them."""
        pairs: list[tuple[int, int, int]] = []
        bases = list(accumulate((len(unit.forms) for unit in units), initial=0))
        for base, unit in zip(bases, units, strict=False):
            inside = range(unit.first, unit.first + len(unit.forms))
            shift = base - unit.first
            pairs += [
                (head + shift, tail + shift, label)
                for head, tail, label in gold[unit.document].pairs
                if head in inside and tail in inside
            ]
        every = _words(bases[-1], torch.device("cpu"))
        return SpanTargets(
            every.bounds, every.labels, torch.tensor(pairs, dtype=torch.long).reshape(-1, 3)
        )

    def reach(self, batch: Batch) -> Int[Tensor, "run 2"]:
        """Return the sentences, long ones in parts."""
        lengths = batch.sentences[:, 1] - batch.sentences[:, 0]
        if not len(lengths) or int(lengths.max()) <= LONGEST:
            return batch.sentences
        runs = shorten([(a, b) for a, b in batch.sentences.tolist()], LONGEST)
        return torch.tensor(runs, device=lengths.device)

    def predict(
        self,
        head: SpanRelation,
        vectors: Vectors,
        batch: Batch,
        units: Sequence[Unit],
        given: SpanTargets | None,
    ) -> Iterator[Found]:
        """Choose the best tree of each sentence."""
        view = head.view(vectors.words, batch.sentences, self.reach(batch))
        every = _words(len(vectors.words), vectors.words.device)
        types = torch.nn.functional.one_hot(every.labels, 2).float()
        linked = self.links(head, view, every, types)
        yield from share(units, every, linked, Labels((WORD,), self.inventory.relations))

    def links(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> Linked:
        """Decode a tree a run; a pair's score is its best label's."""
        best, labels = [], []
        rooted = torch.tensor([each in self.roots for each in self.inventory.relations])
        for pairs in head.pairing.squares(run_of(chosen.bounds, view.reach), PAIRS):
            scores = head.score_pairs(view, chosen.bounds, types, pairs)[:, 1:].float()
            is_root = pairs[:, 0] == pairs[:, 1]
            fits = rooted.to(scores.device)[None] == is_root[:, None]
            top, label = scores.masked_fill(~fits, _UNFIT).max(-1)
            best.append(top.cpu())
            labels.append(label.cpu())
        if not best:
            return Linked()
        return _trees(torch.cat(best), torch.cat(labels), view.reach.cpu(), self.decode)

    def write(self, document: Document, found: Sequence[tuple[Unit, Found]], fresh: Fresh) -> Layer:
        """Make a layer of words and relations."""
        spans, relations = spans_and_relations(found, fresh)
        made = (Relation(fresh("R"), r.label, r.head, r.tail, score=r.score) for r in relations)
        return Layer(self.layer, tuple(spans), tuple(made))


def _words(count: int, device: torch.device) -> Chosen:
    """All words as spans."""
    first = torch.arange(count, device=device)
    sure = torch.ones(count, device=device)
    return Chosen(torch.stack([first, first + 1], dim=1), torch.ones_like(first), sure)


def _trees(
    best: Float[Tensor, " pair"],
    labels: Int[Tensor, " pair"],
    runs: Int[Tensor, "run 2"],
    decode: mst.Decoder,
) -> Linked:
    """Each run's pairs stand together, by head and then by dependent."""
    ends, named, scores, done = [], [], [], 0
    for start, end in runs.tolist():
        n = end - start
        table = best[done : done + n * n].view(n, n)
        likely = table.log_softmax(0)
        heads = torch.from_numpy(decode(likely.double().numpy()))
        words = torch.arange(n)
        ends.append(torch.stack([heads, words], dim=1) + start)
        named.append(labels[done : done + n * n].view(n, n)[heads, words] + 1)
        scores.append(likely[heads, words].exp())
        done += n * n
    return Linked(torch.cat(ends), torch.cat(named), torch.cat(scores))


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
    labels = Inventory((WORD,), tuple(collected["relations"]), EventScheme(), 1, nested=False)
    return DependencyTask(
        name,
        layer,
        Reading(Sentences()),
        options.spans(),
        labels,
        given=True,
        decode=_DECODERS[options.decoder],
        roots=frozenset(collected["roots"]),
    )


KIND = Kind(TreeOptions, _collect, _make, _SAMPLE)
