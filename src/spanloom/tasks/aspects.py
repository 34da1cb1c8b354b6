"""Aspect-based sentiment: terms and how they are spoken of (SpanRel, table 2).

A layer has spans labelled with a polarity. End to end they are entities; with ``given`` the terms
are gold and their polarities are not, and what counts is how many are right (SemEval-2014, task 4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from spanloom.data.readings import Reading, Sentences
from spanloom.data.units import Cut, Unit
from spanloom.document import MAIN, Document, Layer
from spanloom.forms.aspects import TERM
from spanloom.forms.attributes import AttributeScheme
from spanloom.metrics.report import Report
from spanloom.nn.span_relation import SpanRelation
from spanloom.tasks._base import Figures, Kind, Train
from spanloom.tasks._inventory import SpanOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import Found, Gold, Labels, labelled, share
from spanloom.tensors import Batch, Chosen, Linked, SpanTargets, Vectors

_SAMPLE = Document(
    "The soup was cold but the old waiter kind .\nNice view .",
    (
        Layer(
            MAIN,
            labelled(("negative", 4, 8), ("positive", 26, 36), ("positive", 49, 53)),
        ),
    ),
    "sample",
)


class AspectOptions(SpanOptions):
    """Options of aspects."""

    given: bool = Field(False, description="gold terms are given, polarities are predicted")


@dataclass(frozen=True, slots=True)
class AspectTask(SpanRelationTask):
    """Terms and their polarities, or polarities of given ``terms``."""

    terms: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its own layer, where terms are given."""
        return (self.layer,) if self.terms else ()

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("accuracy",) if self.terms else ("spans",)

    def bared(self, document: Document) -> Document:
        """Return the bare document, with its terms where these are given, polarities hidden."""
        bare = document.bare(self.inputs)
        if not self.terms:
            return bare
        terms = tuple(replace(span, label=TERM) for span in bare[self.layer].spans)
        return bare.with_layer(Layer(self.layer, terms))

    def told(self, document: Document, cut: Cut) -> Gold | None:
        """Express where given terms stand; any polarity will do, none is read."""
        if not self.terms:
            return None
        layer, some = self.bared(document)[self.layer], self.inventory.spans[0]
        spans = tuple(replace(span, label=some) for span in layer.spans)
        return self.gold(document.with_layer(Layer(self.layer, spans)), cut)

    def predict(
        self,
        head: SpanRelation,
        vectors: Vectors,
        batch: Batch,
        units: Sequence[Unit],
        given: SpanTargets | None,
    ) -> Iterator[Found]:
        """Choose terms with polarities, or the polarity of each given term."""
        if given is None:
            yield from SpanRelationTask.predict(self, head, vectors, batch, units, given)
            return
        view = head.view(vectors.words, batch.sentences)
        scores = head.spans.some(view.words, view.weights, given.bounds, view.beside)
        best, labels = scores[:, 1 : head.spans.labels].softmax(-1).max(-1)
        chosen = Chosen(given.bounds, labels + 1, best)
        yield from share(units, chosen, Linked(), Labels(self.inventory.spans))

    def every_figure(self, report: Report) -> Figures:
        """Return F1 of terms with polarities, and the share of gold terms that are right."""
        return {"spans": report.spans.micro.f1, "accuracy": report.spans.micro.recall}


def _collect(options: AspectOptions, layer: str, train: Train) -> dict[str, Any]:
    found = collect_inventory(options, layer, train, relations=False)
    return replace(found, attributes=AttributeScheme({}, {})).to_dict()


def _make(
    name: str,
    layer: str,
    options: AspectOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> AspectTask:
    chosen = options.model_copy(update={"negatives": 0.0}) if options.given else options
    reading = Reading(Sentences())
    return AspectTask(name, layer, reading, chosen, inventory(collected), terms=options.given)


KIND = Kind(AspectOptions, _collect, _make, _SAMPLE)
