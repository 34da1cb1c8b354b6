"""Texts, or pairs of texts, of one class each: the name of the class is extracted (SpEx-BERT).

All classes are written in natural language, behind the first of two texts or in the place of one
(section 3, table 1). What is written comes from the recipe, else from the card of the dataset.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from spanloom.annotation.text_pairs import Classification
from spanloom.corpora.card import LabelPrompt
from spanloom.data.instance_readers import ChoiceReader, InstanceReader
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.tasks._base import Metrics, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._classification import (
    LabelOptions,
    SingleLabelMixin,
    label_measure,
    text_vocabulary,
)
from spanloom.tasks._span_extraction import (
    FAMILY,
    ChoiceProbs,
    ExtractiveChoiceTask,
    SelectionOptions,
    TokenBounds,
    independent_probs,
    merge_vocabularies,
)
from spanloom.tasks._vocabulary import labels_of
from spanloom.tokenization import Bounds

_SAMPLE = Document(
    "The film is slow , very slow .",
    (Layer(MAIN, (Span("T1", "not-good", ((0, 30),)),)),),
    "sample",
)


class ChoiceOptions(SelectionOptions, LabelOptions):
    """Options of choices."""

    verbalizer: dict[str, Annotated[str, Field(pattern=r"\S")]] | None = Field(
        None,
        description="what is written for each label; null: what the card of its dataset says, else "
        "the label, - and _ as blanks",
    )
    prompt: str | None = Field(
        None,
        description='the text of all choices, as "negative or positive?", in which each is found; '
        "null: that of the card, else one choice after the other",
    )
    texts: Literal["separate", "joined"] = Field(
        "separate",
        description="separate | joined: of two texts, the first stands with the choices, or both "
        "are the prompt",
    )


@dataclass(frozen=True, slots=True)
class ExtractiveClassificationTask(SingleLabelMixin, ExtractiveChoiceTask):
    """Select one of the labels of train."""

    labels: tuple[str, ...]
    is_independent: bool = False
    measure: Metrics = SingleLabelMixin.measure

    def index_of(self, gold: Classification) -> int | None:
        """Return the index of a label, None for an unknown one."""
        return self.labels.index(gold.label) if gold.label in self.labels else None

    def label_at(self, row: int) -> Classification:
        """Return the label at an index."""
        return Classification(self.labels[row])

    def choice_probs(self, words: TokenBounds, choices: Sequence[Bounds]) -> ChoiceProbs:
        """Return the probability of each choice, of one alone where both ends are independent."""
        if self.is_independent:
            return independent_probs(words, choices)
        return ExtractiveChoiceTask.choice_probs(self, words, choices)

    def with_labels(
        self, labels: Sequence[str], *, as_question: bool = True
    ) -> "ExtractiveClassificationTask":
        """Return the task with other labels, which are read as they are written.

        If they are those that it learnt, or what is read for these, it reads what it learnt from.
        Others are read as a question where it learnt from one, unless ``as_question`` is false, in
        which case they are read one after the other.
        """
        reader = self.reader.reader
        assert isinstance(reader, ChoiceReader)
        for known in (self.labels, reader.choices):
            if (ordered := _in_order_of(known, labels)) is not None:
                return replace(self, labels=ordered)
        wording = question_of(labels) if reader.wording and as_question else ""
        reader = replace(reader, choices=tuple(labels), wording=wording)
        return replace(self, labels=tuple(labels), reader=replace(self.reader, reader=reader))


def question_of(labels: Sequence[str]) -> str:
    """Return labels as the prompts of cards ask: "a or b?", "a, b, or c?"."""
    *first, last = labels
    return f"{', '.join(first)}{',' if len(first) > 1 else ''} or {last}?"


def _in_order_of(known: Sequence[str], labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return labels in the order of known ones, None if they are others."""
    label_of = {label.strip().casefold(): label for label in labels}
    keys = [label.casefold() for label in known]
    if len(keys) != len(labels) or {*keys} != {*label_of}:
        return None
    return tuple(label_of[key] for key in keys)


def default_text(label: str) -> str:
    """Return a label as it is read: hyphens and underscores as spaces."""
    return label.translate({ord("-"): " ", ord("_"): " "}).strip() or label


def _complete(options: ChoiceOptions, prompt: LabelPrompt) -> ChoiceOptions:
    """Return the options with the words of a dataset's card, unless they say their own."""
    if options.verbalizer is not None or options.prompt is not None:
        return options
    return options.model_copy(
        update={"verbalizer": prompt.verbalizer or None, "prompt": prompt.prompt or None}
    )


def _infer_vocabulary(options: ChoiceOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    vocabulary = text_vocabulary(options, layer, train)
    texts = options.verbalizer or {}
    labels = sorted({*vocabulary["labels"], *texts})
    choices = [texts.get(label) or default_text(label) for label in labels]
    return {**vocabulary, "labels": labels, "choices": choices, "prompt": options.prompt or ""}


def _build(setup: TaskSetup[ChoiceOptions]) -> ExtractiveClassificationTask:
    options, vocabulary = setup.options, setup.vocabulary
    labels = labels_of(setup.name, vocabulary["labels"])
    reader = ChoiceReader(
        tuple(vocabulary["choices"]),
        str(vocabulary["prompt"]),
        options.texts == "joined",
        options.source_first,
    )
    if len(reader.choices) != len(labels):
        raise DataError(f"task {setup.name!r}: expected a choice for each of its labels")
    return ExtractiveClassificationTask(
        setup.name,
        setup.layer,
        InstanceReader(reader),
        options.dropout,
        bool(vocabulary["text_pairs"]),
        labels,
        options.span_selection == "independent",
        label_measure(options.metric),
    )


KIND = TaskType(
    ChoiceOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    FAMILY,
    merge_vocabularies,
    example_unit="text",
    complete=_complete,
)
