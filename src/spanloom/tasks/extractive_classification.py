"""Texts, or pairs of texts, of one class each: the name of the class is extracted (SpEx-BERT).

All classes are written in natural language, behind the first of two texts or in the place of one
(section 3, table 1).
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from spanloom.annotation.text_pairs import Classification
from spanloom.data.instance_readers import ChoiceReader, InstanceReader
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments, labels_of
from spanloom.tasks._classification import (
    SingleLabelMixin,
    TextOptions,
    text_vocabulary,
)
from spanloom.tasks._span_extraction import (
    FAMILY,
    ExtractiveChoiceTask,
    merge_vocabularies,
)

_SAMPLE = Document(
    "The film is slow , very slow .",
    (Layer(MAIN, (Span("T1", "not-good", ((0, 30),)),)),),
    "sample",
)


class ChoiceOptions(TextOptions):
    """Options of choices."""

    verbalizer: dict[str, Annotated[str, Field(pattern=r"\S")]] | None = Field(
        None, description="what is written for each label; null: the label, - and _ as blanks"
    )


@dataclass(frozen=True, slots=True)
class ExtractiveClassificationTask(SingleLabelMixin, ExtractiveChoiceTask):
    """Select one of the labels of train."""

    labels: tuple[str, ...]

    def index_of(self, gold: Classification) -> int | None:
        """Return the index of a label, None for an unknown one."""
        return self.labels.index(gold.label) if gold.label in self.labels else None

    def label_at(self, row: int) -> Classification:
        """Return the label at an index."""
        return Classification(self.labels[row])


def default_text(label: str) -> str:
    """Return a label as it is read: hyphens and underscores as spaces."""
    return label.translate({ord("-"): " ", ord("_"): " "}).strip() or label


def _infer_vocabulary(options: ChoiceOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    vocabulary = text_vocabulary(options, layer, train)
    return {**vocabulary, "labels": sorted({*vocabulary["labels"], *(options.verbalizer or ())})}


def _build(setup: TaskSetup[ChoiceOptions]) -> ExtractiveClassificationTask:
    options = setup.options
    labels = labels_of(setup.name, setup.vocabulary["labels"])
    texts = options.verbalizer or {}
    reading = InstanceReader(
        ChoiceReader(tuple(texts.get(label) or default_text(label) for label in labels))
    )
    return ExtractiveClassificationTask(
        setup.name,
        setup.layer,
        reading,
        options.dropout,
        bool(setup.vocabulary["text_pairs"]),
        labels,
    )


KIND = TaskType(
    ChoiceOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    FAMILY,
    merge_vocabularies,
    example_unit="text",
)
