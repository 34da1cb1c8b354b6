"""Texts, or pairs of texts, of one class each: what the class is called is extracted (SpEx-BERT).

All classes are written in natural language, behind the first of two texts or in the place of one
(section 3, table 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from spanloom.data.readings import Choosing, Reading
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.forms.parts import Judgement
from spanloom.tasks._base import Kind, Train, labels_of
from spanloom.tasks._extract import FAMILY, ChoosingTask, ExtractOptions, unite
from spanloom.tasks._judged import OneLabel, have_parts, labels_said

_SAMPLE = Document(
    "The film is slow , very slow .",
    (Layer(MAIN, (Span("T1", "not-good", ((0, 30),)),)),),
    "sample",
)


class ChoiceOptions(ExtractOptions):
    """Options of choices."""

    choices: dict[str, Annotated[str, Field(pattern=r"\S")]] | None = Field(
        None, description="what is written for each label; null: the label, - and _ as blanks"
    )


@dataclass(frozen=True, slots=True)
class ChoiceTask(OneLabel, ChoosingTask):
    """One of the labels that train has."""

    labels: tuple[str, ...]

    def row(self, said: Judgement) -> int | None:
        """Return the row of a label."""
        return self.labels.index(said.label) if said.label in self.labels else None

    def judgement(self, row: int) -> Judgement:
        """Return a label."""
        return Judgement(self.labels[row])


def written(label: str) -> str:
    """Return a label as it is read: signs between words as blanks."""
    return label.translate({ord("-"): " ", ord("_"): " "}).strip() or label


def _collect(options: ChoiceOptions, layer: str, train: Train) -> dict[str, Any]:
    labels = labels_said(layer, train) | {*(options.choices or ())}
    return {"labels": sorted(labels), "parts": have_parts(train)}


def _make(
    name: str,
    layer: str,
    options: ChoiceOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> ChoiceTask:
    labels = labels_of(name, collected["labels"])
    texts = options.choices or {}
    reading = Reading(Choosing(tuple(texts.get(label) or written(label) for label in labels)))
    return ChoiceTask(name, layer, reading, options.dropout, bool(collected["parts"]), labels)


KIND = Kind(ChoiceOptions, _collect, _make, _SAMPLE, FAMILY, unite)
