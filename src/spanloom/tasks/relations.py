"""Entities and the relations between them, end to end, or relations of given entities.

Events are trigger spans with relations to their arguments, in training and in scoring; what is
written has one event a trigger. With ``one`` a sentence has one relation, as in SemEval-2010 task
8: whichever pair of its K likeliest spans (SpanRel, appendix C), or of those given, scores best.
"""

from collections.abc import Mapping
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
        None, description="a label that is no relation: the mean F1 of all others decides"
    )


@dataclass(frozen=True, slots=True)
class RelationTask(SpanRelationTask):
    """Spans and relations: any number of a sentence's, or ``one``."""

    one: bool = False
    outside: str | None = None
    heads: bool = False

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
            return choices(head, view, chosen, types)
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
        if not self.one:
            return SpanRelationTask.select(self, head, view, bounds, scores)
        return in_order(bounds, head.keep(scores, bounds, view.reach))

    def related(
        self, head: SpanRelation, view: View, chosen: Chosen, types: Float[Tensor, "kept type"]
    ) -> tuple[Chosen, Linked]:
        """Return spans and relations: with ``one`` that of each sentence, and its two ends."""
        if not self.one:
            return SpanRelationTask.related(self, head, view, chosen, types)
        run = run_of(chosen.bounds, view.reach)
        score_pairs = head.pair_scorer(view, chosen.bounds, types)
        best = One.nothing(len(view.reach), run.device)
        for pairs in head.pairing.squares(run, PAIRS):
            if len(pairs):
                scores = score_pairs(pairs)[:, : 1 + len(self.inventory.relations)].float()
                best = best.or_one_of(pairs, scores, head.pairing.owner(pairs, run))
        pairs, labels, sure = best.there()
        ends, place = pairs.unique(return_inverse=True)
        return chosen.rows(ends), Linked(place, labels, sure)

    def every_figure(self, report: Report) -> Figures:
        """Return all that may be watched: the mean over labels that are relations, too."""
        counts = report.relations.by_label
        inside = {label: n for label, n in counts.items() if label != self.outside}
        every = super(RelationTask, self).every_figure(report)
        return {"macro": macro(inside).f1, **every}


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
    )


KIND = Kind(PairOptions, _collect, _make, _SAMPLE)
