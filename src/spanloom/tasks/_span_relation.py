"""What ``entities`` and ``relations`` share: labelled spans and pairs of them, in a sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from spanloom.data.units import Cut, Unit
from spanloom.document import Attribute, Document, Layer
from spanloom.errors import DataError
from spanloom.forms import attributes
from spanloom.forms.attributes import Values
from spanloom.forms.events import EventScheme, collect, project, restore
from spanloom.forms.looked_for import UNSURE, looked_for
from spanloom.metrics.report import Report, score
from spanloom.nn.attributes import Slots
from spanloom.nn.choices import choose
from spanloom.nn.pairs import Beside, Pairing, PairScorer
from spanloom.nn.span_relation import Prune, SpanRelation, View, in_order, run_of
from spanloom.nn.spans import Gate, SpanAttention, SpanScorer
from spanloom.structs.selection import disjoint, laminar
from spanloom.tasks._across import remark
from spanloom.tasks._base import Figures, Fresh, Ground, LayerTask, Train, labels_of
from spanloom.tasks._inventory import LIMIT, Inventory, SpanOptions
from spanloom.tasks._spans import Found, Gold, Written, lay, placed, share, written
from spanloom.tensors import Batch, Chosen, Linked, Loss, SpanTargets, Vectors
from spanloom.words import Bounds

_WIDTHS = 64  # widths with a vector of their own
PAIRS = 262_144  # made and scored at a time; a sentence as long as a book has many more


@dataclass(frozen=True, slots=True)
class SpanRelationTask(LayerTask):
    """Entities, and relations where the inventory has any."""

    options: SpanOptions
    inventory: Inventory
    prune: Prune = Prune()
    given: bool = False

    def __post_init__(self) -> None:
        """Raise ``DataError`` where there is no label, or a width that no recipe may ask for."""
        labels_of(self.name, self.inventory.spans)
        if self.given:
            labels_of(self.name, self.inventory.relations)
        if not 1 <= self.inventory.width <= LIMIT:
            width = self.inventory.width
            raise DataError(f"task {self.name!r}: expected a width of 1 to {LIMIT}, got {width}")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its own layer, where gold spans are given."""
        return (self.layer,) if self.given else ()

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        if self.given:
            return ("relations",)
        return ("mean", "spans", "relations") if self.inventory.relations else ("spans",)

    @property
    def learns(self) -> tuple[str, ...]:
        """Spans unless they are given, pairs where there are relations."""
        scheme = self.inventory.attributes
        gate = ("gate",) if self.gated else ()
        spans = ("spans", *gate, *(("attributes",) if scheme.spans else ()))
        pairs = ("pairs", "pair_attributes") if scheme.relations else ("pairs",)
        learnt = pairs if self.inventory.relations else ()
        return learnt if self.given else (*spans, *learnt)

    def head(self, ground: Ground) -> SpanRelation:
        """Make the span-relation head."""
        made = SpanRelation(
            SpanAttention(ground.dim),
            self.span_scorer(ground.dim),
            self.pair_scorer(ground.dim) if self.inventory.relations else None,
            width=self.inventory.width,
            prune=self.prune,
            confusing=None if self.options.negatives == "all" else self.options.negatives,
            dropout=self.options.dropout,
            pairing=self.pairing,
        )
        if self.gated:
            assert self.options.gate is not None, "a gate without a ratio"
            widths = min(self.inventory.width, _WIDTHS)
            ratio, whole = self.options.gate, self.rooted
            made.gate = Gate(ground.dim, widths=widths, ratio=ratio, whole=whole)
        return made

    @property
    def gated(self) -> bool:
        """Whether a gate stands before its spans: not where they are given, or all have labels."""
        return self.options.gate is not None and not self.given and self.options.negatives != 0

    @property
    def rooted(self) -> bool:
        """Whether each sentence as a whole is a span, so that a gate may not leave it out."""
        return False

    @property
    def pairing(self) -> Pairing:
        """Which spans form pairs, and how those are learnt."""
        return Pairing()

    @property
    def beside(self) -> Beside:
        """What pairs read beside their ends."""
        return Beside()

    def span_scorer(self, dim: int) -> SpanScorer:
        """Make what scores spans over word vectors of size ``dim``."""
        return SpanScorer(
            dim,
            labels=1 + len(self.inventory.spans),
            widths=min(self.inventory.width, _WIDTHS),
            size=self.options.size,
            dropout=self.options.dropout,
            slots=slots(self.inventory.attributes.spans),
            outside=self.options.around,
        )

    def pair_scorer(self, dim: int) -> PairScorer:
        """Make what scores pairs over word vectors of size ``dim``."""
        return PairScorer(
            dim,
            types=1 + len(self.inventory.spans),
            labels=1 + len(self.inventory.relations),
            widths=min(self.inventory.width, _WIDTHS),
            size=self.options.size,
            dropout=self.options.dropout,
            slots=slots(self.inventory.attributes.relations),
            beside=self.beside,
        )

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Express a layer over words; of several labels on the same bounds the first stays."""
        layer = document[self.layer]
        there = placed(layer, cut.words)
        known = {label: row for row, label in enumerate(self.inventory.spans, 1)} | {UNSURE: 0}
        at: dict[Bounds, int] = {}
        for span in sorted(layer.spans, key=lambda each: each.label == UNSURE):
            if span.id in there and span.label in known:
                at.setdefault(there[span.id], known[span.label])
        order = {bounds: row for row, bounds in enumerate(sorted(at))}
        where = {key: order[bounds] for key, bounds in there.items() if bounds in order}
        spans = tuple((*bounds, at[bounds]) for bounds in order)
        pairs = self.gold_pairs(layer, where)
        names = {row: key for key, row in reversed(list(where.items()))}
        scheme = self.inventory.attributes
        values = _values(layer, scheme.spans, [names[row] for row in range(len(spans))])
        return Gold(
            spans,
            tuple((*ends, label) for ends, (label, _) in pairs.items()),
            values,
            _values(layer, scheme.relations, [key for _, key in pairs.values()]),
            self._looked(document),
        )

    def _looked(self, document: Document) -> tuple[bool, ...] | None:
        """Whether "none" and each label were looked for; None where all were."""
        known = looked_for(document, self.layer)
        if known is None:
            return None
        return (True, *(label in known for label in self.inventory.spans))

    def gold_pairs(
        self, layer: Layer, where: Mapping[str, int]
    ) -> dict[tuple[int, int], tuple[int, str]]:
        """Return label and id of the relation between any two spans; of several the first stays."""
        known = {label: row for row, label in enumerate(self.inventory.relations, 1)}
        found: dict[tuple[int, int], tuple[int, str]] = {}
        if known:
            for each in project(layer, self.inventory.events)[1]:
                if each.label in known and each.head in where and each.tail in where:
                    ends = where[each.head], where[each.tail]
                    found.setdefault(ends, (known[each.label], each.id))
        return found

    def remarks(
        self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Gold]
    ) -> list[str]:
        """Say what is learnt, and what sentences take away."""
        return remark(self.name, self.layer, train, whole, gold)

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> SpanTargets:
        """Lay the gold of some units flat, as ``collate`` lays their words."""
        return lay(units, gold)

    def reach(self, batch: Batch) -> Int[Tensor, "run 2"]:
        """Return the runs of words within which spans form pairs."""
        return batch.sentences

    def loss(
        self, head: SpanRelation, vectors: Vectors, batch: Batch, targets: SpanTargets
    ) -> dict[str, Loss]:
        """Return the span loss and the pair loss, where the task learns them."""
        return head.loss(self.view(head, vectors, batch, targets), targets, given=self.given)

    def view(
        self, head: SpanRelation, vectors: Vectors, batch: Batch, targets: SpanTargets | None
    ) -> View:
        """Return what the head reads; ``targets`` are those to learn, or what is given."""
        return head.view(vectors.words, batch.sentences, self.reach(batch))

    def predict(
        self,
        head: SpanRelation,
        vectors: Vectors,
        batch: Batch,
        units: Sequence[Unit],
        given: SpanTargets | None,
    ) -> Iterator[Found]:
        """Choose spans that fit together, then label the pairs of them."""
        view = self.view(head, vectors, batch, given)
        if given is not None and self.given:
            types = F.one_hot(given.labels, 1 + len(self.inventory.spans)).float()
            sure = torch.ones(len(given.labels), device=types.device)
            chosen = Chosen(given.bounds, given.labels, sure)
        else:
            chosen, types = self.spans(head, view)
        yield from share(units, *self.related(head, view, chosen, types), self.inventory.labels)

    def related(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> tuple[Chosen, Linked]:
        """Return the chosen spans and the relations between them."""
        return chosen, Linked() if head.pairs is None else self.links(head, view, chosen, types)

    def spans(self, head: SpanRelation, view: View) -> tuple[Chosen, Float[Tensor, "kept type"]]:
        """Choose spans; return them and their label probabilities."""
        bounds = head.candidates(view.sentences)
        columns = [1 + len(self.inventory.spans)]
        scores, marks = head.score_spans(view).float().tensor_split(columns, dim=-1)
        rows = self.select(head, view, bounds, scores)
        types = scores[rows].softmax(-1)
        best, labels = types[:, 1:].max(-1)
        values = slots(self.inventory.attributes.spans).best(marks[rows])
        return Chosen(bounds[rows], labels + 1, best, *values), types

    def select(
        self,
        head: SpanRelation,
        view: View,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of the best set without overlap, or without crossing, in the order of the text."""
        gain = scores[:, 1:].amax(-1) - scores[:, 0]
        ahead = in_order(bounds, gain > 0)
        pairs = [(a, b) for a, b in bounds[ahead].tolist()]
        best = laminar if self.inventory.nested else disjoint
        kept = best(pairs, gain[ahead].tolist())
        return ahead[torch.tensor(kept, dtype=torch.long, device=ahead.device)]

    def relatable(self, pairs: Int[Tensor, "pair 2"], chosen: Chosen) -> Int[Tensor, "some 2"]:
        """Return those of some pairs of chosen spans that may be related: here all."""
        return pairs

    def links(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> Linked:
        """Label every pair of chosen spans that may be related."""
        found = [Linked()]
        score_pairs = head.pair_scorer(view, chosen.bounds, types)
        for every in head.pairing.squares(run_of(chosen.bounds, view.reach), PAIRS):
            pairs = self.relatable(every, chosen)
            scores = score_pairs(pairs).float()
            scores, marks = scores.tensor_split([1 + len(self.inventory.relations)], dim=-1)
            best, labels = scores.softmax(-1).max(-1)
            real = labels > 0
            values = slots(self.inventory.attributes.relations).best(marks[real])
            found.append(Linked(pairs[real], labels[real], best[real], *values))
        return joined(found)

    def write(self, document: Document, found: Sequence[tuple[Unit, Found]], fresh: Fresh) -> Layer:
        """Make a layer of what was predicted: spans in text order, one event a trigger."""
        made = written(found, fresh)
        scheme = self.inventory.events if self.inventory.relations else EventScheme()
        layer = restore(made.spans, made.relations, scheme, self.layer, fresh)
        ids = {each.id: fresh("R") for each in layer.relations}
        relations = tuple(replace(each, id=ids[each.id]) for each in layer.relations)
        return replace(layer, relations=relations, attributes=self._said(made, layer, ids, fresh))

    def _said(
        self, made: Written, layer: Layer, ids: Mapping[str, str], fresh: Fresh
    ) -> tuple[Attribute, ...]:
        """Make attributes of marks; those of relations that became arguments are lost."""
        events = {event.trigger: event.id for event in layer.events}
        spans = {span.id for span in layer.spans}
        said = []
        for target, name, value, sure in made.marks:
            place = target if target in spans else ids.get(target)
            if name in self.inventory.attributes.events:
                place = events.get(target, target)
            if place is not None:
                said.append(attributes.attribute(name, value, place, sure, fresh))
        return tuple(said)

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""
        return score(gold, predicted, self.layer)

    def figures(self, report: Report) -> Figures:
        """Return F1 of spans and of relations; the first is the one to choose a model by."""
        every = self.every_figure(report)
        return {name: every[name] for name in self.watched}

    def every_figure(self, report: Report) -> Figures:
        """Return all that may be watched."""
        spans, relations = report.spans.micro.f1, report.relations.micro.f1
        return {"mean": (spans + relations) / 2, "spans": spans, "relations": relations}

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of spans, and of relations where it learns any, that train did not have."""
        scheme = collect(document[self.layer] for document in documents)
        labels: set[str] = set()
        for document in documents:
            spans, relations = project(document[self.layer], scheme)
            labels |= {span.label for span in spans} - {*self.inventory.spans, UNSURE}
            if self.inventory.relations:
                labels |= {each.label for each in relations} - set(self.inventory.relations)
        return labels


def choices(
    head: SpanRelation,
    view: View,
    chosen: Chosen,
    types: Float[Tensor, "kept type"],
    relatable: Callable[[Tensor, Chosen], Tensor],
) -> Linked:
    """Let each span choose one head, where one scores above none (SpanRel's head loss).

    ``relatable`` is the task's: which pairs there are to choose from.
    """
    found = [Linked()]
    score_pairs = head.pair_scorer(view, chosen.bounds, types)
    for every in head.pairing.by_tail(run_of(chosen.bounds, view.reach), PAIRS):
        pairs = relatable(every, chosen)
        if not len(pairs):
            continue
        assert head.pairs is not None, "a head without pairs has none to choose"
        scores = score_pairs(pairs)[:, : head.pairs.labels]
        best, sure = choose(scores, pairs[:, 1], len(chosen.bounds), dummy=True)
        rows = best[best >= 0]
        labels = scores[rows, 1:].argmax(-1) + 1
        found.append(Linked(pairs[rows], labels, sure[best >= 0]))
    return joined(found)


def joined(found: Sequence[Linked]) -> Linked:
    """Return all links as one; the first of ``found`` may be on another device, empty as it is."""
    parts = [each for each in found if len(each.ends)] or found[:1]
    values = [each.values for each in parts if each.values is not None]
    sure = [each.sure for each in parts if each.sure is not None]
    return Linked(
        torch.cat([each.ends for each in parts]),
        torch.cat([each.labels for each in parts]),
        torch.cat([each.scores for each in parts]),
        torch.cat(values) if values else None,
        torch.cat(sure) if sure else None,
    )


def slots(values: Values) -> Slots:
    """Return the columns of attributes."""
    return Slots(tuple(1 + len(each) for each in values.values()))


def _values(layer: Layer, known: Values, ids: Sequence[str]) -> tuple[tuple[int, ...], ...] | None:
    """The values of some annotations' attributes; None where there are no attributes to learn."""
    if not known:
        return None
    rows = attributes.rows(layer, known)
    return tuple(rows.get(key, (0,) * len(known)) for key in ids)
