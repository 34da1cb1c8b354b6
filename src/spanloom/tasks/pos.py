"""A label for every word, as spans of one word (SpanRel, table 2: parts of speech)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.config.options import Options
from spanloom.data.readings import Reading, Sentences
from spanloom.document import MAIN, Document, Layer
from spanloom.nn.span_relation import SpanRelation, View, in_order
from spanloom.tasks._base import Kind, Train
from spanloom.tasks._inventory import SpanOptions, collect_inventory, inventory
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import labelled

_SAMPLE = Document(
    "She wrote long letters .\nBob slept .",
    (
        Layer(
            MAIN,
            labelled(
                ("PRON", 0, 3),
                ("VERB", 4, 9),
                ("ADJ", 10, 14),
                ("NOUN", 15, 22),
                ("PUNCT", 23, 24),
                ("PROPN", 25, 28),
                ("VERB", 29, 34),
                ("PUNCT", 35, 36),
            ),
        ),
    ),
    "sample",
)


class WordOptions(Options):
    """Options of tasks that label every word."""

    size: int = Field(256, ge=8, le=4096, description="units of the perceptron")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")

    def spans(self) -> SpanOptions:
        """Return the same as options of spans of one word, each of which has a label."""
        return SpanOptions(
            width=1,
            nested=False,
            size=self.size,
            dropout=self.dropout,
            attributes=True,
            limits="train",
            gate=None,
            around=False,
            negatives="all",
        ).model_copy(update={"negatives": 0.0})


@dataclass(frozen=True, slots=True)
class WordTask(SpanRelationTask):
    """Every word is a span, and "none" is no label."""

    def select(
        self,
        head: SpanRelation,
        view: View,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """All words, in the order of the text."""
        return in_order(bounds, torch.ones(len(bounds), dtype=torch.bool, device=bounds.device))


def _collect(options: WordOptions, layer: str, train: Train) -> dict[str, Any]:
    return collect_inventory(options.spans(), layer, train, relations=False).to_dict()


def _make(
    name: str,
    layer: str,
    options: WordOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> WordTask:
    return WordTask(name, layer, Reading(Sentences()), options.spans(), inventory(collected))


KIND = Kind(WordOptions, _collect, _make, _SAMPLE)
