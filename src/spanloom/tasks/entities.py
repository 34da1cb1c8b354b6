"""Named entities and their like: labelled spans, flat or nested as the data needs."""

from collections.abc import Mapping
from typing import Any

from spanloom.data.readings import Reading, Sentences
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.tasks._base import Kind, Train
from spanloom.tasks._inventory import SpanOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import SpanRelationTask

_SAMPLE = Document(
    "Ada Lovelace met Bob in London .\nShe wrote .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "person", ((0, 12),)),
                Span("T2", "person", ((17, 20),)),
                Span("T3", "place", ((24, 30),)),
            ),
        ),
    ),
    "sample",
)


def _collect(options: SpanOptions, layer: str, train: Train) -> dict[str, Any]:
    return collect_inventory(options, layer, train, relations=False).to_dict()


def _make(
    name: str,
    layer: str,
    options: SpanOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> SpanRelationTask:
    return SpanRelationTask(name, layer, Reading(Sentences()), options, inventory(collected))


KIND = Kind(SpanOptions, _collect, _make, _SAMPLE, partial=True)
