"""What ``entities`` and ``relations`` share: labelled spans and pairs of them, in a sentence."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from spanloom.config.options import Options
from spanloom.data.units import Unit
from spanloom.document import Document, Layer, Relation, Span
from spanloom.forms.events import EventScheme, collect, project, restore
from spanloom.forms.nesting import nests
from spanloom.metrics.report import Report, score
from spanloom.nn.pairs import PairScorer, squares
from spanloom.nn.span_relation import Prune, SpanRelation, View, in_order, sentence_of
from spanloom.nn.spans import SpanAttention, SpanScorer
from spanloom.structs.selection import disjoint, laminar
from spanloom.tasks._base import Found, Gold
from spanloom.tensors import Batch, Chosen, Linked, Loss, SpanTargets
from spanloom.words import Bounds

_COVERED = 998  # of 1,000 of train's spans: the width a model looks at where the recipe names none
_WIDEST = 30
_PAIRS = 262_144  # made and scored at a time; a sentence as long as a book has many more


class SpanOptions(Options):
    """Options of every span task; what is null is collected from train."""

    width: int | None = Field(None, ge=1, le=1000, description="widest span, in words")
    nested: bool | None = Field(None, description="whether spans may nest")
    size: int = Field(256, ge=8, le=4096, description="units of the perceptrons")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")
    negatives: Literal["all"] | float = Field(
        "all", description="negative spans in the loss: all, or the hardest so many times n"
    )


class RelationOptions(SpanOptions):
    """Options of tasks with relations."""

    prune: float = Field(0.5, gt=0, description="spans kept for pairs, times the sentence's words")
    keep: int | None = Field(None, ge=1, description="spans kept for pairs, whatever the length")
    given: bool = Field(False, description="gold spans are given, only relations are predicted")


@dataclass(frozen=True, slots=True)
class Inventory:
    """Labels and limits, collected from train alone."""

    spans: tuple[str, ...]
    relations: tuple[str, ...]
    events: EventScheme
    width: int
    nested: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for the saved recipe."""
        return {
            "spans": list(self.spans),
            "relations": list(self.relations),
            "triggers": sorted(self.events.trigger_labels),
            "roles": sorted(self.events.roles),
            "role_relations": sorted(self.events.relations),
            "width": self.width,
            "nested": self.nested,
        }


def inventory(data: Mapping[str, Any]) -> Inventory:
    """Read back what ``to_dict`` wrote."""
    named = (frozenset(data[key]) for key in ("triggers", "roles", "role_relations"))
    labels = tuple(data["spans"]), tuple(data["relations"])
    return Inventory(*labels, EventScheme(*named), int(data["width"]), bool(data["nested"]))


def collect_inventory(
    options: SpanOptions, train: Sequence[tuple[Layer, Sequence[Bounds]]], *, relations: bool
) -> Inventory:
    """Collect labels, widths and nesting; ``train`` pairs each document's layer with its words."""
    scheme = collect(layer for layer, _ in train)
    spans = Counter(span.label for layer, _ in train for span in layer.spans)
    pairs: Counter[str] = Counter()
    if relations:
        for layer, _ in train:
            pairs.update(relation.label for relation in project(layer, scheme)[1])
    placed = [_placed(layer, words) for layer, words in train]
    width = options.width or _width([b - a for each in placed for a, b in each.values()])
    nested = options.nested
    if nested is None:
        nested = nests(each.values() for each in placed)
    return Inventory(tuple(sorted(spans)), tuple(sorted(pairs)), scheme, width, nested)


@dataclass(frozen=True, slots=True)
class SpanRelationTask:
    """Entities, and relations where the inventory has any."""

    name: str
    layer: str
    options: SpanOptions
    inventory: Inventory
    prune: Prune = Prune()
    given: bool = False

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        if self.given:
            return ("relations",)
        return ("mean", "spans", "relations") if self.inventory.relations else ("spans",)

    @property
    def learns(self) -> tuple[str, ...]:
        """Spans unless they are given, pairs where there are relations."""
        pairs = ("pairs",) if self.inventory.relations else ()
        return pairs if self.given else ("spans", *pairs)

    def head(self, dim: int) -> SpanRelation:
        """Make the span-relation head over word vectors of size ``dim``."""
        options, labels = self.options, 1 + len(self.inventory.spans)
        width, size, dropout = self.inventory.width, options.size, options.dropout
        pairs = None
        if self.inventory.relations:
            pairs = PairScorer(
                dim,
                types=labels,
                labels=1 + len(self.inventory.relations),
                widths=width,
                size=size,
                dropout=dropout,
            )
        return SpanRelation(
            SpanAttention(dim),
            SpanScorer(dim, labels=labels, widths=width, size=size, dropout=dropout),
            pairs,
            width=width,
            prune=self.prune,
            confusing=None if options.negatives == "all" else options.negatives,
            dropout=dropout,
        )

    def gold(self, layer: Layer, words: Sequence[Bounds]) -> Gold:
        """Express a layer over words; of several labels on the same bounds the first stays."""
        placed = _placed(layer, words)
        known = {label: row for row, label in enumerate(self.inventory.spans, 1)}
        at: dict[Bounds, int] = {}
        for span in layer.spans:
            if span.id in placed and span.label in known:
                at.setdefault(placed[span.id], known[span.label])
        order = {bounds: row for row, bounds in enumerate(sorted(at))}
        where = {key: order[bounds] for key, bounds in placed.items() if bounds in order}
        spans = tuple((*bounds, at[bounds]) for bounds in order)
        return Gold(spans, self._gold_pairs(layer, where))

    def _gold_pairs(
        self, layer: Layer, where: Mapping[str, int]
    ) -> tuple[tuple[int, int, int], ...]:
        known = {label: row for row, label in enumerate(self.inventory.relations, 1)}
        labels: dict[tuple[int, int], int] = {}
        if known:
            for each in project(layer, self.inventory.events)[1]:
                if each.label in known and each.head in where and each.tail in where:
                    labels.setdefault((where[each.head], where[each.tail]), known[each.label])
        return tuple((*ends, label) for ends, label in labels.items())

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> SpanTargets:
        """Lay the gold of some units flat, as ``collate`` lays their words.

        A span that leaves its unit is left out, with its relations.
        """
        bounds: list[tuple[int, int]] = []
        labels: list[int] = []
        pairs: list[tuple[int, int, int]] = []
        bases = accumulate((len(unit.forms) for unit in units), initial=0)
        for base, unit in zip(bases, units, strict=False):
            mine, end = gold[unit.document], unit.first + len(unit.forms)
            first = bisect_left(mine.spans, (unit.first,))
            last = bisect_left(mine.spans, (end,))
            whole = [row for row in range(first, last) if mine.spans[row][1] <= end]
            place = {row: len(bounds) + n for n, row in enumerate(whole)}
            shift = base - unit.first
            bounds += [(mine.spans[row][0] + shift, mine.spans[row][1] + shift) for row in whole]
            labels += [mine.spans[row][2] for row in whole]
            pairs += [
                (place[i], place[j], label)
                for i, j, label in mine.pairs
                if i in place and j in place
            ]
        return SpanTargets(
            torch.tensor(bounds, dtype=torch.long).reshape(-1, 2),
            torch.tensor(labels, dtype=torch.long),
            torch.tensor(pairs, dtype=torch.long).reshape(-1, 3),
        )

    def loss(
        self, head: SpanRelation, vectors: Tensor, batch: Batch, targets: SpanTargets
    ) -> dict[str, Loss]:
        """Return the span loss and the pair loss, where the task learns them."""
        return head.loss(head.view(vectors, batch.sentences), targets, given=self.given)

    def predict(
        self, head: SpanRelation, vectors: Tensor, batch: Batch, given: SpanTargets | None
    ) -> tuple[Chosen, Linked]:
        """Choose spans that fit together, then label every pair of them in a sentence."""
        view = head.view(vectors, batch.sentences)
        if given is not None:
            types = F.one_hot(given.labels, 1 + len(self.inventory.spans)).float()
            sure = torch.ones(len(given.labels), device=types.device)
            chosen = Chosen(given.bounds, given.labels, sure)
        else:
            bounds = head.candidates(batch.sentences)
            scores = head.score_spans(view).float()
            rows = self._choose(bounds, scores)
            types = scores[rows].softmax(-1)
            best, labels = types.max(-1)
            chosen = Chosen(bounds[rows], labels, best)
        return chosen, self._link(head, view, chosen, types)

    def _choose(
        self, bounds: Int[Tensor, "span 2"], scores: Float[Tensor, "span label"]
    ) -> Int[Tensor, " kept"]:
        """Rows of the best set without overlap, or without crossing, in the order of the text."""
        gain = scores[:, 1:].amax(-1) - scores[:, 0]
        ahead = in_order(bounds, gain > 0)
        pairs = [(a, b) for a, b in bounds[ahead].tolist()]
        select = laminar if self.inventory.nested else disjoint
        kept = select(pairs, gain[ahead].tolist())
        return ahead[torch.tensor(kept, dtype=torch.long, device=ahead.device)]

    def _link(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> Linked:
        if head.pairs is None:
            return Linked()
        found = [Linked()]
        for pairs in squares(sentence_of(chosen.bounds, view.sentences), _PAIRS):
            scores = head.score_pairs(view, chosen.bounds, types, pairs).float().softmax(-1)
            best, labels = scores.max(-1)
            real = labels > 0
            found.append(Linked(pairs[real], labels[real], best[real]))
        return _joined(found)

    def label(self, chosen: Chosen, linked: Linked) -> tuple[list[str], list[str]]:
        """Return the labels of what was predicted, as strings."""
        spans = [self.inventory.spans[row - 1] for row in chosen.labels.tolist()]
        return spans, [self.inventory.relations[row - 1] for row in linked.labels.tolist()]

    def write(self, found: Found, fresh: Callable[[str], str]) -> Layer:
        """Make a layer of what was predicted: spans in text order, one event a trigger."""
        order = sorted(range(len(found.spans)), key=lambda row: found.spans[row][:3])
        ids = {row: fresh("T") for row in order}
        spans = [
            Span(ids[row], found.spans[row][2], (found.spans[row][:2],), found.spans[row][3])
            for row in order
        ]
        links = sorted(found.links, key=lambda link: (found.spans[link[0]], found.spans[link[1]]))
        relations = [
            Relation("", label, ids[i], ids[j], score=score)  # an event's arguments need no id
            for i, j, label, score in links
        ]
        scheme = self.inventory.events if self.inventory.relations else EventScheme()
        layer = restore(spans, relations, scheme, self.layer, fresh)
        return replace(
            layer, relations=tuple(replace(each, id=fresh("R")) for each in layer.relations)
        )

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""
        return score(gold, predicted, self.layer)

    def figures(self, report: Report) -> dict[str, float]:
        """Return F1 of spans and of relations; the first is the one to choose a model by."""
        spans, relations = report.spans.micro.f1, report.relations.micro.f1
        every = {"mean": (spans + relations) / 2, "spans": spans, "relations": relations}
        return {name: every[name] for name in self.watched}


def _joined(found: Sequence[Linked]) -> Linked:
    """Return all links as one; the first of ``found`` may be on another device, empty as it is."""
    parts = [each for each in found if len(each.ends)] or found[:1]
    return Linked(
        torch.cat([each.ends for each in parts]),
        torch.cat([each.labels for each in parts]),
        torch.cat([each.scores for each in parts]),
    )


def _placed(layer: Layer, words: Sequence[Bounds]) -> dict[str, Bounds]:
    """Return word bounds of the spans that stand on word borders in one piece, by id."""
    starts = {start: row for row, (start, _) in enumerate(words)}
    ends = {end: row for row, (_, end) in enumerate(words, 1)}
    found = {}
    for span in layer.spans:
        if len(span.fragments) == 1:
            a, b = starts.get(span.start), ends.get(span.end)
            if a is not None and b is not None and a < b:
                found[span.id] = (a, b)
    return found


def _width(widths: list[int]) -> int:
    """Return the least width that covers nearly all."""
    if not widths:
        return 1
    uncovered = (1000 - _COVERED) * len(widths) // 1000
    return min(sorted(widths)[-1 - uncovered], _WIDEST)
