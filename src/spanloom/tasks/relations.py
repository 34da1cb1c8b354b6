"""Entities and the relations between them, end to end, or relations of given entities.

Events are trigger spans with relations to their arguments, in training and in scoring; what is
written has one event a trigger. With ``one`` a sentence has one relation, as in SemEval-2010 task
8: whichever pair of its K likeliest spans (SpanRel, appendix C), or of those given, scores best.
What is ``outside`` is learnt, so that it can be told from relations, and is none: it is neither
written nor scored, with ``one`` nor are its ends. So a sentence may come out with nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.data.readings import Reading, Sentences
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.metrics.counts import macro
from spanloom.metrics.report import Report
from spanloom.nn.choices import ChoiceLoss, One
from spanloom.nn.pairs import Pairing
from spanloom.nn.span_relation import Prune, SpanRelation, View, in_order, run_of
from spanloom.tasks._base import Figures, Kind, Train, labels_of
from spanloom.tasks._inventory import RelationOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import PAIRS, SpanRelationTask, choices
from spanloom.tasks._written import LabelPairs, inside, related_labels, without_label
from spanloom.tensors import Chosen, Linked

_SAMPLE = Document(
    "Mix the warm buffer .\nAdd 5 ml .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "Action", ((0, 3),)),
                Span("T2", "Modifier", ((8, 12),)),
                Span("T3", "Reagent", ((13, 19),)),
                Span("T4", "Action", ((22, 25),)),
                Span("T5", "Amount", ((26, 30),)),
            ),
            (Relation("R1", "Mod-Link", "T3", "T2"),),
            (
                Event("E1", "Action", "T1", (Argument("Acts-on", "T3"),)),
                Event("E2", "Action", "T4", (Argument("Count", "T5"),)),
            ),
        ),
    ),
    "sample",
)


class PairOptions(RelationOptions):
    """Options of relations."""

    one: bool = Field(
        False, description="each sentence has one relation, which it chooses by the head loss"
    )
    loss: Literal["pairwise", "head"] = Field(
        "pairwise", description="pairwise (each pair by itself) | head (each span has one at most)"
    )
    outside: str | None = Field(
        None,
        description="a label that is no relation: learnt, not written, not scored; "
        "the mean F1 of all others decides",
    )
    entity_pair_labels: LabelPairs | None = Field(
        None,
        min_length=1,
        description="labels of head and tail that may be related, as [[e1, e2]]; null: any",
    )
    span_threshold: float = Field(
        0, ge=0, lt=1, description="least score of a span that is written or may be an end"
    )


@dataclass(frozen=True, slots=True)
class RelationTask(SpanRelationTask):
    """Spans and relations: any number of a sentence's, or ``one``."""

    one: bool = False
    outside: str | None = None
    heads: bool = False
    entity_pair_labels: LabelPairs | None = None
    span_threshold: float = 0

    def __post_init__(self) -> None:
        """Raise ``DataError`` also where relations are asked of a corpus that has none."""
        SpanRelationTask.__post_init__(self)
        known = self.inventory.relations
        if self.one or self.outside is not None:
            labels_of(self.name, known)
        if self.outside is not None and self.outside not in known:
            choices = ", ".join(known)
            said = f"expected a relation outside all, got {self.outside!r}"
            raise DataError(f"task {self.name!r}: {said}; relations are {choices}")
        for label in {each for pair in self.entity_pair_labels or () for each in pair}:
            if label not in self.inventory.spans:
                choices = ", ".join(self.inventory.spans)
                said = f"entity_pair_labels: expected labels of spans, got {label!r}"
                raise DataError(f"task {self.name!r}: {said}; spans are {choices}")

    @property
    def unwritten(self) -> frozenset[str]:
        """The label that is no relation."""
        return frozenset() if self.outside is None else frozenset({self.outside})

    @property
    def pairing(self) -> Pairing:
        """Which spans form pairs, and by which of SpanRel's losses they are learnt (section 3).

        With ``one`` the sentence chooses among all its pairs and labels, as each span does by the
        head loss.
        """
        if self.one:
            return Pairing(one=True, loss=ChoiceLoss(dummy=False))
        return Pairing(loss=ChoiceLoss(dummy=True)) if self.heads else Pairing()

    def links(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> Linked:
        """Label all pairs of chosen spans, or let each of them choose a head."""
        if self.heads:
            return choices(head, view, chosen, types, self.relatable)
        return SpanRelationTask.links(self, head, view, chosen, types)

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        plain = super(RelationTask, self).watched
        return plain if self.outside is None else ("macro", *plain)

    def select(
        self,
        head: SpanRelation,
        view: View,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of chosen spans; where a sentence has one relation, those that are pruned to."""
        if self.one:
            rows = in_order(bounds, head.keep(scores, bounds, view.reach))
        else:
            rows = SpanRelationTask.select(self, head, view, bounds, scores)
        sure = scores[rows].softmax(-1)[:, 1:].amax(-1)
        return rows[sure >= self.span_threshold]

    def relatable(self, pairs: Int[Tensor, "pair 2"], chosen: Chosen) -> Int[Tensor, "some 2"]:
        """Return the pairs whose labels may be related."""
        if self.entity_pair_labels is None:
            return pairs
        table = related_labels(self.inventory.spans, self.entity_pair_labels).to(pairs.device)
        head, tail = chosen.labels[pairs].unbind(1)
        return pairs[table[head, tail]]

    def related(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> tuple[Chosen, Linked]:
        """Return spans and relations: with ``one`` that of each sentence, and its two ends."""
        if self.one:
            chosen, linked = self._best(head, view, chosen, types)
        else:
            chosen, linked = SpanRelationTask.related(self, head, view, chosen, types)
        if self.outside is None:
            return chosen, linked
        label = 1 + self.inventory.relations.index(self.outside)
        return without_label(chosen, linked, label, ends=self.ends_alone)

    def _best(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> tuple[Chosen, Linked]:
        """Return the best relation of each sentence, and its two ends, or all that were given."""
        run = run_of(chosen.bounds, view.reach)
        score_pairs = head.pair_scorer(view, chosen.bounds, types)
        best = One.nothing(len(view.reach), run.device)
        for every in head.pairing.squares(run, PAIRS):
            pairs = self.relatable(every, chosen)
            if len(pairs):
                scores = score_pairs(pairs)[:, : 1 + len(self.inventory.relations)].float()
                best = best.or_one_of(pairs, scores, head.pairing.owner(pairs, run))
        pairs, labels, sure = best.there()
        if not self.ends_alone:
            return chosen, Linked(pairs, labels, sure)
        ends, place = pairs.unique(return_inverse=True)
        return chosen.rows(ends), Linked(place, labels, sure)

    @property
    def ends_alone(self) -> bool:
        """Whether its only spans are ends of relations."""
        return self.one and not self.given

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer, what is no relation left out of it."""
        sides = gold, predicted
        if self.outside is not None:
            mine = self.layer, self.outside
            gold, predicted = (
                [inside(each, *mine, ends=self.ends_alone) for each in side] for side in sides
            )
        return super(RelationTask, self).measure(gold, predicted)

    def every_figure(self, report: Report) -> Figures:
        """Return all that may be watched: the mean over labels that are relations, too."""
        every = super(RelationTask, self).every_figure(report)
        return {"macro": macro(report.relations.by_label).f1, **every}


def _collect(options: PairOptions, layer: str, train: Train) -> dict[str, Any]:
    found = collect_inventory(options, layer, train, relations=True)
    if options.one or options.loss == "head":  # what is chosen carries no attributes
        found = replace(found, attributes=replace(found.attributes, relations={}))
    return found.to_dict()


def _make(
    name: str,
    layer: str,
    options: PairOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> RelationTask:
    return RelationTask(
        name,
        layer,
        Reading(Sentences()),
        options,
        inventory(collected),
        Prune(options.prune, options.keep),
        options.given,
        one=options.one,
        outside=options.outside,
        heads=options.loss == "head",
        entity_pair_labels=options.entity_pair_labels,
        span_threshold=options.span_threshold,
    )


KIND = Kind(PairOptions, _collect, _make, _SAMPLE)
