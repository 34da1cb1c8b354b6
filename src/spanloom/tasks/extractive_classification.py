"""Texts, or pairs of texts, of one class each: the name of the class is extracted (SpEx-BERT).

All classes are written in natural language, behind the first of two texts or in the place of one
(section 3, table 1). What is written comes from the recipe, else from the card of the dataset.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from spanloom.annotation.text_pairs import Classification
from spanloom.corpora.card import LabelPrompt
from spanloom.data.instance_readers import ChoiceReader, InstanceReader
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.tasks._base import Measure, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._classification import (
    ClassMeasure,
    LabelGold,
    LabelOptions,
    SingleLabelMixin,
    check_labels,
    text_vocabulary,
)
from spanloom.tasks._span_extraction import (
    FAMILY,
    ExtractiveChoiceTask,
    SelectionOptions,
    merge_vocabularies,
)
from spanloom.tasks._vocabulary import labels_of
from spanloom.tokenization import Bounds

_ORDERS = 4  # at most, in which new labels are read
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
    measure: Measure = ClassMeasure()

    def index_of(self, gold: Classification) -> int | None:
        """Return the index of a label, None for an unknown one."""
        return self.labels.index(gold.label) if gold.label in self.labels else None

    def label_at(self, row: int) -> Classification:
        """Return the label at an index."""
        return Classification(self.labels[row])

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, LabelGold],
    ) -> list[str]:
        """Report what can be learnt, and which choices no text of train has."""
        rows = {label.row for label in gold.values()}
        unused = [repr(label) for row, label in enumerate(self.labels) if row not in rows]
        lines = ExtractiveChoiceTask.coverage_notes(self, train, full_sentences, gold)
        if unused:
            lines.append(f"{self.name}: choices that no text of train has: {', '.join(unused)}")
        return lines

    def with_labels(
        self, labels: Sequence[str], *, as_question: bool = True
    ) -> "ExtractiveClassificationTask":
        """Return the task with other labels, which are read as they are written.

        If they are those that it learnt, or what is read for these, it reads what it learnt from.
        Others are read as a question where it learnt from one, unless ``as_question`` is false, in
        which case they are read one after the other; and in several orders, as it has learnt what
        stands where. Their probabilities are means. In which order they are given has no say.
        """
        reader = self.reader.reader
        assert isinstance(reader, ChoiceReader)
        for known in (self.labels, reader.choices):
            if (ordered := _in_order_of(known, labels)) is not None:
                return replace(self, labels=ordered)
        asks, labels = bool(reader.wording) and as_question, sorted(labels, key=str.casefold)
        first, *others = (
            (order, question_of([labels[row] for row in order]) if asks else "")
            for order in _rotations(len(labels))
        )
        reader = replace(
            reader, choices=tuple(labels), wording=first[1], other_orders=tuple(others)
        )
        return replace(self, labels=tuple(labels), reader=replace(self.reader, reader=reader))


def _rotations(count: int) -> list[tuple[int, ...]]:
    """Return orders of some labels, the first as they are: in each another one comes first."""
    starts = dict.fromkeys(count * turn // _ORDERS for turn in range(_ORDERS))
    return [(*range(start, count), *range(start)) for start in starts]


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
    """Return the options with what they leave open from a dataset's card.

    A prompt of their own goes with the card's words, unless it has the labels themselves; words of
    their own with the card's prompt, if it has all of them.
    """
    verbalizer, wording = options.verbalizer, options.prompt
    labels = [*(prompt.verbalizer or verbalizer or ())]
    if verbalizer is None and not (wording and _has_all(wording, labels)):
        verbalizer = prompt.verbalizer or None
    if wording is None:
        texts = [(verbalizer or {}).get(label) or default_text(label) for label in labels]
        wording = prompt.prompt if _has_all(prompt.prompt, texts) else None
    return options.model_copy(update={"verbalizer": verbalizer, "prompt": wording or None})


def _has_all(wording: str, texts: Sequence[str]) -> bool:
    """Return whether each of some texts stands in a wording, as a phrase of whole words."""
    return all(
        re.search(rf"(?<!\w){re.escape(text)}(?!\w)", wording, re.IGNORECASE) for text in texts
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
    check_labels(setup.name, "label_metrics", options.label_metrics, labels)
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
        options.span_selection == "independent",
        labels,
        ClassMeasure(options.metric, options.label_metrics),
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
