"""Entities and the relations between them, end to end, or relations of given entities.

Events are trigger spans with relations to their arguments, in training and in scoring; what is
written has one event a trigger.
"""

from collections.abc import Mapping
from typing import Any

from spanloom.data.readings import Reading, Sentences
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span
from spanloom.nn.span_relation import Prune
from spanloom.tasks._base import Kind, Train
from spanloom.tasks._inventory import RelationOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import SpanRelationTask

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


def _collect(options: RelationOptions, layer: str, train: Train) -> dict[str, Any]:
    return collect_inventory(options, layer, train, relations=True).to_dict()


def _make(
    name: str,
    layer: str,
    options: RelationOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> SpanRelationTask:
    prune = Prune(options.prune, options.keep)
    reading = Reading(Sentences())
    return SpanRelationTask(
        name, layer, reading, options, inventory(collected), prune, options.given
    )


KIND = Kind(RelationOptions, _collect, _make, _SAMPLE)
