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

from spanloom.data.readings import Reading, Sentences
from spanloom.data.units import Cut, Unit
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.forms.chains import JOINT, parted
from spanloom.forms.joint import joint
from spanloom.forms.nesting import nests
from spanloom.metrics.counts import total
from spanloom.metrics.report import Report, score
from spanloom.nn.candidates import rows
from spanloom.nn.span_relation import (
    Leads,
    Prune,
    SpanRelation,
    View,
    in_order,
    run_of,
)
from spanloom.structs.selection import disjoint, laminar
from spanloom.tasks._base import Figures, Ground, Train, labels_of
from spanloom.tasks._inventory import SpanOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import PAIRS, SpanRelationTask, joined, slots
from spanloom.tasks._spans import Found, Gold, Labels, placed, share
from spanloom.tensors import Batch, Chosen, Linked, SpanTargets, Vectors
from spanloom.words import Bounds


class PredicateOptions(SpanOptions):
    """Options of predicates and their arguments."""

    paper: ClassVar[Mapping[str, float]] = {"width": 30, "prune": 0.3}

    prune: float = Field(1.0, gt=0, description="spans looked at as arguments, times n words")
    predicates: float = Field(
        0.4, gt=0, description="spans looked at as predicates in training, times n words"
    )
    given: bool = Field(False, description="gold predicates are given, arguments are predicted")


@dataclass(frozen=True, slots=True)
class PredicateTask(SpanRelationTask):
    """Spans that lead, and what they lead to.

    ``name_of`` says what a label of the layer is called here, ``leading`` which names are those of
    spans that lead, ``led`` those of spans that do not; ``tails`` are the names of spans that a
    relation leads to, by its label.
    """

    name_of: Callable[[str], str] = str
    leading: frozenset[str] = frozenset()
    tails: Mapping[str, str] = field(default_factory=dict)
    led: frozenset[str] = frozenset()
    leads: Prune = Prune()

    def __post_init__(self) -> None:
        """Raise ``DataError`` also where nothing leads, or a relation leads to nothing named."""
        SpanRelationTask.__post_init__(self)
        labels_of(self.name, self.inventory.relations)
        if not self.lead.columns:
            raise DataError(f"task {self.name!r}: expected a span that leads, train has none")
        lacking = sorted(set(self.inventory.relations).difference(self.tails))
        if lacking:
            raise DataError(f"task {self.name!r}: no name for what {lacking[0]!r} leads to")

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("relations",) if self.given else ("relations", "predicates")

    @property
    def learns(self) -> tuple[str, ...]:
        """Spans and pairs, whether predicates are given or not."""
        gate = ["gate"] if self.gated else []
        marks = ["attributes"] if self.inventory.attributes.spans else []
        return ("spans", *gate, *marks, "pairs")

    def head(self, ground: Ground) -> SpanRelation:
        """Make the span-relation head, in which few spans lead."""
        made = SpanRelationTask.head(self, ground)
        made.leads = self.lead
        return made

    @property
    def lead(self) -> Leads:
        """Which labels lead, as rows of the inventory plus one."""
        names = ("", *self.inventory.spans)
        own = [sorted(self.leading.intersection(parted(name))) for name in names]
        columns = tuple(row for row, leading in enumerate(own) if leading)
        row_of = {name: row for row, name in enumerate(names)}
        alone = (row_of.get(each[0], row) if each else 0 for row, each in enumerate(own))
        return Leads(columns, tuple(alone), self.leads)

    def bared(self, document: Document) -> Document:
        """Return the bare document, with its predicates where these are given, and no more."""
        bare = document.bare(self.inputs)
        if not self.given:
            return bare
        spans = bare[self.layer].spans
        leading = tuple(span for span in spans if self.name_of(span.label) not in self.led)
        return bare.with_layer(Layer(self.layer, leading))

    def told(self, document: Document, cut: Cut) -> Gold | None:
        """Express given predicates; one of a label that train does not have is like any other."""
        if not self.given:
            return None
        bared, some = self.bared(document), min(self.leading)
        spans = (
            span if self.name_of(span.label) in self.leading else replace(span, label=some)
            for span in bared[self.layer].spans
        )
        return self.gold(bared.with_layer(Layer(self.layer, tuple(spans))), cut)

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Express a layer over words, spans on the same words as one."""
        layer = joint(document[self.layer], self.name_of)
        return SpanRelationTask.gold(self, document.with_layer(layer), cut)

    def remarks(
        self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Gold]
    ) -> list[str]:
        """Say what is learnt, spans on the same words counted once."""
        return SpanRelationTask.remarks(self, united(train, self.layer, self.name_of), whole, gold)

    def predict(
        self,
        head: SpanRelation,
        vectors: Vectors,
        batch: Batch,
        units: Sequence[Unit],
        given: SpanTargets | None,
    ) -> Iterator[Found]:
        """Choose what leads, then what it leads to."""
        view = head.view(vectors.words, batch.sentences)
        bounds = head.candidates(view.sentences)
        columns = [1 + len(self.inventory.spans)]
        scores, marks = head.score_spans(view).float().tensor_split(columns, dim=-1)
        if given is None:
            first = self._first(bounds, scores, view)
        else:
            bounds, told = self._with(bounds, view, given)
            more = len(bounds) - len(scores)
            scores, marks = F.pad(scores, (0, 0, 0, more)), F.pad(marks, (0, 0, 0, more))
            scores, first = self.lead.told(scores, told), told > 0
        kept = in_order(bounds, head.keep(scores, bounds, view.reach) | first)
        types, able = scores[kept].softmax(-1), first[kept]
        linked = self._leading_to(head, view, bounds[kept], types, able)
        marked = slots(self.inventory.attributes.spans).best(marks[kept])
        yield from share(
            units, *self._named(bounds[kept], types, able, marked, linked), self.labels
        )

    def _with(
        self, bounds: Int[Tensor, "span 2"], view: View, given: SpanTargets
    ) -> tuple[Int[Tensor, "more 2"], Int[Tensor, " more"]]:
        """Return the candidates and what is given beside, and the label of what is given."""
        row = rows(given.bounds, view.sentences, self.inventory.width)
        wide = row < 0
        told = torch.zeros(len(bounds), dtype=torch.long, device=bounds.device)
        told[row[~wide]] = given.labels[~wide]
        return torch.cat([bounds, given.bounds[wide]]), torch.cat([told, given.labels[wide]])

    def _first(
        self, bounds: Int[Tensor, "span 2"], scores: Float[Tensor, "span label"], view: View
    ) -> Bool[Tensor, " span"]:
        """Say which candidates lead: the best set that fits together, at most one a word."""
        odds = self.lead.odds(scores)
        gain = odds[:, 1] - odds[:, 0]
        likely = Prune(1.0).keep(odds, bounds, view.reach)
        ahead = in_order(bounds, (gain > 0) & likely)
        best = laminar if self.inventory.nested else disjoint
        kept = best([(a, b) for a, b in bounds[ahead].tolist()], gain[ahead].tolist())
        first = torch.zeros(len(bounds), dtype=torch.bool, device=bounds.device)
        first[ahead[torch.tensor(kept, dtype=torch.long, device=ahead.device)]] = True
        return first

    def _leading_to(
        self,
        head: SpanRelation,
        view: View,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        able: Bool[Tensor, " kept"],
    ) -> Linked:
        """Return the roles that pay most of those whose arguments do not overlap, a predicate."""
        found = [Linked()]
        score_pairs = head.pair_scorer(view, bounds, types)
        for pairs in head.pairing.squares(run_of(bounds, view.reach), PAIRS, able):
            scores = score_pairs(pairs).float()
            likely, labels = scores[:, 1:].max(-1)
            gain = likely - scores[:, 0]
            there = (gain > 0).nonzero()[:, 0]
            pairs, labels, gain = pairs[there], labels[there] + 1, gain[there]
            apart = bounds[pairs[:, 1]] + pairs[:, :1] * (int(bounds.max()) + 1)
            best = disjoint([(a, b) for a, b in apart.tolist()], gain.tolist())
            rows_of = torch.tensor(best, dtype=torch.long, device=pairs.device)
            sure = scores[there].softmax(-1).amax(-1)
            found.append(Linked(pairs[rows_of], labels[rows_of], sure[rows_of]))
        return joined(found)

    def _named(
        self,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        able: Bool[Tensor, " kept"],
        marked: tuple[Int[Tensor, "kept attribute"], Float[Tensor, "kept attribute"]],
        linked: Linked,
    ) -> tuple[Chosen, Linked]:
        """Return what leads, then what is led to, once a name; links are between these rows."""
        names = self.labels.spans
        columns = torch.tensor(self.lead.columns, device=types.device)
        called = [names.index(self._own(each)) + 1 for each in self.lead.columns]
        led = [0, *(names.index(self.tails[each]) + 1 for each in self.inventory.relations)]
        heads = able.nonzero()[:, 0]
        best = types[heads][:, columns].argmax(-1)
        ends = linked.ends[:, 1] * (len(names) + 1) + columns.new_tensor(led)[linked.labels]
        tails, place = ends.unique(return_inverse=True)
        rows, labels = tails // (len(names) + 1), tails % (len(names) + 1)
        every = torch.cat([heads, rows])
        sure = torch.cat([types[heads][:, columns].sum(-1), 1 - types[rows, 0]])
        values, certain = (each[every] for each in marked)
        values[len(heads) :] = 0  # attributes are of what leads
        chosen = Chosen(
            bounds[every],
            torch.cat([columns.new_tensor(called)[best], labels]),
            sure,
            values,
            certain,
        )
        head_of = able.cumsum(0) - 1
        moved = torch.stack([head_of[linked.ends[:, 0]], place + len(heads)], dim=1)
        return chosen, replace(linked, ends=moved)

    @property
    def labels(self) -> Labels:
        """The names of what is written: of spans that lead, and of those that are led to."""
        names = tuple(sorted(self.leading | set(self.tails.values())))
        attributes = self.inventory.attributes
        return Labels(names, self.inventory.relations, attributes.spans)

    def _own(self, column: int) -> str:
        """The name of what leads among those that a label is made of."""
        return min(self.leading.intersection(parted(self.inventory.spans[column - 1])))

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score predicates, arguments and roles; labels of gold by the names that are learnt."""
        return score([self._renamed(each) for each in gold], predicted, self.layer)

    def _renamed(self, document: Document) -> Document:
        if not document.has(self.layer):
            return document
        layer = document[self.layer]
        spans = tuple(replace(each, label=self.name_of(each.label)) for each in layer.spans)
        return document.with_layer(replace(layer, spans=spans))

    def every_figure(self, report: Report) -> Figures:
        """Return F1 of roles, and of predicates."""
        leading = total(n for label, n in report.spans.by_label.items() if label in self.leading)
        return {"relations": report.relations.micro.f1, "predicates": leading.f1}

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """Return names of what leads, and roles, that train did not have."""
        layers = [document[self.layer] for document in documents]
        known = self.leading | set(self.tails.values())
        names = {self.name_of(span.label) for layer in layers for span in layer.spans}
        roles = {each.label for layer in layers for each in layer.relations}
        return (names - known) | (roles - set(self.inventory.relations))


def united(train: Train, layer: str, name_of: Callable[[str], str]) -> Train:
    """Return the documents with spans on the same words as one, those without the layer too."""
    return [
        (each.with_layer(joint(each[layer], name_of)) if each.has(layer) else each, cut)
        for each, cut in train
    ]


def collected(
    options: PredicateOptions,
    layer: str,
    train: Train,
    name_of: Callable[[str], str],
    led: Sequence[str],
) -> dict[str, Any]:
    """Collect names, roles and limits; spans of the names ``led`` lead to no others, all else do.

    ``nested`` is whether those nest that lead.
    """
    for label in {name_of(span.label) for each, _ in train for span in each[layer].spans}:
        if JOINT in label:
            raise DataError(f"layer {layer!r}: expected labels without blanks, got {label!r:.60}")
    documents = united(train, layer, name_of)
    found = collect_inventory(options, layer, documents, relations=True)
    if options.nested is None:
        layers = ((_leading(each[layer], led), cut.words) for each, cut in documents)
        found = replace(found, nested=nests(placed(*each).values() for each in layers))
    tails = _tails(documents, layer, led)
    names = {name for label in found.spans for name in parted(label)}
    return {
        **found.to_dict(),
        "leading": sorted(names.difference(led)),
        "tails": {name: [r for r in found.relations if tails[r] == name] for name in led},
    }


def _leading(layer: Layer, led: Sequence[str]) -> Layer:
    """The spans that lead, alone."""
    spans = (span for span in layer.spans if set(parted(span.label)).difference(led))
    return Layer(layer.name, tuple(spans))


def _tails(train: Train, layer: str, led: Sequence[str]) -> dict[str, str]:
    """What each relation leads to, most often."""
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    for document, _ in train:
        names = {span.id: parted(span.label) for span in document[layer].spans}
        for each in document[layer].relations:
            ends[each.label].update(name for name in names.get(each.tail, ()) if name in led)
    usual = led[0]
    return {
        label: max(seen, key=lambda name: (seen[name], name), default=usual)
        for label, seen in ends.items()
    }


def make(
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
        Reading(Sentences()),
        options,
        inventory(found),
        Prune(options.prune),
        options.given,
        name_of=name_of,
        leading=frozenset(found["leading"]),
        tails={relation: name for name, each in found["tails"].items() for relation in each},
        led=frozenset(found["tails"]),
        leads=Prune(options.predicates),
    )
