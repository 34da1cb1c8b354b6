"""Texts, or pairs of texts, of one class each: a linear layer on what opens them (BERT on GLUE)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from spanloom.config.options import Options
from spanloom.data.readings import Reading, Whole
from spanloom.data.units import Cut, Unit
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.forms.parts import judge, judged
from spanloom.nn.label import UNKNOWN, Label
from spanloom.tasks._base import Fresh, Ground, Kind, LayerTask, Train, labels_of
from spanloom.tasks._extract import openings
from spanloom.tasks._judged import Gold, Judging, OneLabel, have_parts, labels_said
from spanloom.tensors import Batch, Loss, Vectors

Found = tuple[str, float]  # a label and its probability

_SAMPLE = Document(
    "The film is slow , very slow .",
    (Layer(MAIN, (Span("T1", "negative", ((0, 30),)),)),),
    "sample",
)


class LabelOptions(Options):
    """Options of labels of texts."""

    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the head")


@dataclass(frozen=True, slots=True)
class LabelTargets:
    """The row of each unit's label, ``UNKNOWN`` for one that is not learnt from."""

    rows: Int[Tensor, " unit"]

    def to(self, device: torch.device) -> "LabelTargets":
        """Return the same targets on another device."""
        return LabelTargets(self.rows.to(device))


@dataclass(frozen=True, slots=True)
class LabelTask(OneLabel, Judging, LayerTask):
    """One of its ``labels``; the head knows ``every`` label of the tasks that share it."""

    dropout: float
    labels: tuple[str, ...]
    every: tuple[str, ...]
    parts: bool

    @property
    def learns(self) -> tuple[str, ...]:
        """The label."""
        return ("label",)

    def head(self, ground: Ground) -> Label:
        """Make the linear layer."""
        return Label(ground.dim, labels=len(self.every), dropout=self.dropout)

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Find the label among all that the head knows."""
        said = judged(document, self.layer)
        known = said is not None and said.label in self.labels
        return Gold(self.every.index(said.label) if said is not None and known else None)

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> LabelTargets:
        """Return the label of each unit's document."""
        rows = [gold[unit.document].row for unit in units]
        return LabelTargets(torch.tensor([UNKNOWN if row is None else row for row in rows]))

    def loss(
        self, head: Label, vectors: Vectors, batch: Batch, targets: LabelTargets
    ) -> dict[str, Loss]:
        """Return the loss of the labels."""
        return {"label": head.loss(openings(vectors), targets.rows)}

    def predict(
        self, head: Label, vectors: Vectors, batch: Batch, units: Sequence[Unit], given: Any
    ) -> Iterator[Found]:
        """Choose the likeliest of the task's own labels."""
        own = [label in self.labels for label in self.every]
        read = openings(vectors)
        rows, chances = head.best(read, torch.tensor(own, device=read.device))
        for row, chance in zip(rows.tolist(), chances.tolist(), strict=True):
            yield self.every[row], chance

    def write(self, document: Document, found: Sequence[tuple[Unit, Found]], fresh: Fresh) -> Layer:
        """Say the label of the text; of no text nothing."""
        if not document.text.strip():
            return Layer(self.layer)
        ((_, (label, chance)),) = found
        return judge(document, self.layer, label, None, fresh, chance)


def _collect(options: LabelOptions, layer: str, train: Train) -> dict[str, Any]:
    return {"labels": sorted(labels_said(layer, train)), "parts": have_parts(train)}


def _unite(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"labels": sorted({label for each in collected for label in each["labels"]})}


def _make(
    name: str,
    layer: str,
    options: LabelOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> LabelTask:
    labels, every = labels_of(name, collected["labels"]), tuple(united["labels"])
    both = bool(collected["parts"])
    return LabelTask(name, layer, Reading(Whole()), options.dropout, labels, every, both)


KIND = Kind(LabelOptions, _collect, _make, _SAMPLE, "labels", _unite)
