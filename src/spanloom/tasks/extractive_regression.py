"""Texts, or pairs of texts, of one number each, selected from a scale (SpEx-BERT).

The numbers of the scale are written as choices (section 3, table 1: ``0.0 0.25 0.5 ... 5.0``); the
nearest to the gold number is right.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field, model_validator

from spanloom.annotation.number_scale import NumberScale
from spanloom.annotation.text_pairs import TEXT, TEXT_PAIR, VALUE, Classification, classification_of
from spanloom.data.instance_readers import ChoiceReader, InstanceReader
from spanloom.document import MAIN, Attribute, Document, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.metrics.classification import RegressionReport, score_values
from spanloom.tasks._base import Metrics, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._classification import LabelGold, has_text_pairs
from spanloom.tasks._span_extraction import (
    FAMILY,
    ExtractiveChoiceTask,
    SelectionOptions,
    merge_vocabularies,
)
from spanloom.tokenization import Bounds

_DEFAULT_LABEL = "value"  # of numbers, where train has none

_SAMPLE = Document(
    "A woman rides a horse .\nA man plays a guitar .",
    (
        Layer(TEXT_PAIR, (Span("T1", TEXT, ((0, 23),)), Span("T2", TEXT, ((24, 46),)))),
        Layer(
            MAIN,
            relations=(Relation("R1", "similarity", "T1", "T2"),),
            attributes=(Attribute("A1", VALUE, "R1", "0.75"),),
        ),
    ),
    "sample",
)


class NumberOptions(SelectionOptions):
    """Options of numbers; those that are null follow from train."""

    min: float | None = Field(None, description="the least number")
    max: float | None = Field(None, description="the greatest number")
    step: float | None = Field(
        None, gt=0, description="from one number to the next; null: a round one, 20 or fewer steps"
    )

    buckets: int | None = Field(
        None, ge=2, le=201, description="how many numbers there are from min to max, in even steps"
    )
    texts: Literal["separate", "joined"] = Field(
        "separate",
        description="separate | joined: of two texts, the first stands with the numbers, or both "
        "are the prompt",
    )
    number: Literal["likeliest", "expected"] = Field(
        "likeliest",
        description="likeliest | expected: the most probable number, or the mean of all numbers, "
        "weighted by their probabilities",
    )

    @model_validator(mode="after")
    def _check_number(self) -> "NumberOptions":
        if self.number == "expected" and self.span_selection == "independent":
            raise ValueError("number: expected is a mean of spans, so span_selection must be joint")
        return self

    @model_validator(mode="after")
    def _check_order(self) -> "NumberOptions":
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError(f"expected min below max, got min {self.min} and max {self.max}")
        if self.min is not None and self.max is not None and self.step is not None:
            top = NumberScale(self.min, self.max, self.step).values[-1]
            if not math.isclose(top, self.max, abs_tol=1e-9 * self.step):
                got = f"got {self.step:g}, which ends at {top:g}"
                raise ValueError(f"expected a step that leads from min to max, {got}")
        if self.buckets is not None and (self.min is None or self.max is None or self.step):
            raise ValueError("expected min and max, and no step, beside buckets")
        return self

    @property
    def width(self) -> float | None:
        """The step from one number to the next, None where train decides."""
        if self.buckets is None or self.min is None or self.max is None:
            return self.step
        return (self.max - self.min) / (self.buckets - 1)


@dataclass(frozen=True, slots=True)
class ExtractiveRegressionTask(ExtractiveChoiceTask):
    """Select a number from ``scale``; it is written with ``label``.

    ``is_expected``: the mean of all numbers by their probabilities, which is never far off, instead
    of the most probable one.
    """

    label: str
    scale: NumberScale
    is_expected: bool

    measure = Metrics(("pearson", "spearman"), score_values, RegressionReport.metrics)

    def index_of(self, gold: Classification) -> int | None:
        """Return the index of the nearest number."""
        return None if gold.value is None else self.scale.nearest(gold.value)

    def label_at(self, row: int) -> Classification:
        """Return a number with the label of train."""
        return Classification(self.label, self.scale.value(row))

    def choose(self, probs: Float[np.ndarray, " choice"]) -> tuple[Classification, float]:
        """Return the number with the label of train, and the probability of the nearest choice."""
        if not self.is_expected:
            return super(ExtractiveRegressionTask, self).choose(probs)
        expected = float(probs @ np.array(self.scale.values))
        prob = float(probs[self.scale.nearest(expected)])
        return Classification(self.label, round(expected, self.scale.digits)), prob

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, LabelGold],
    ) -> list[str]:
        """Report what can be learnt, and how many numbers of train are outside of the scale."""
        lines = ExtractiveChoiceTask.coverage_notes(self, train, full_sentences, gold)
        low, high = self.scale.values[0], self.scale.values[-1]
        classifications = (classification_of(document, self.layer) for document, _ in train)
        numbers = [c.value for c in classifications if c is not None and c.value is not None]
        if num_outside := sum(not low <= number <= high for number in numbers):
            outside = f"numbers of train outside of {low:g} to {high:g}, learnt as the nearest"
            lines.append(f"{self.name}: {outside}: {num_outside}")
        return lines

    def with_range(self, low: float, high: float) -> "ExtractiveRegressionTask":
        """Return the task with the numbers of another range, in the steps of train where they fit.

        Raises ``ValueError`` for an invalid range.
        """
        scale = self.scale.rescaled(low, high)
        reader = self.reader.reader
        assert isinstance(reader, ChoiceReader)
        reader = replace(reader, choices=numbers_of(scale))
        return replace(self, scale=scale, reader=replace(self.reader, reader=reader))


def numbers_of(scale: NumberScale) -> tuple[str, ...]:
    """Return the numbers of a scale as they are read."""
    return tuple(map(repr, scale.values))


def _infer_vocabulary(options: NumberOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    classifications = (classification_of(document, layer) for document, _ in train)
    gold = [(c.label, c.value) for c in classifications if c is not None and c.value is not None]
    try:
        scale = NumberScale.covering(
            [value for _, value in gold], options.min, options.max, options.width
        )
    except ValueError as error:
        raise DataError(f"numbers of layer {layer!r}: {error}") from error
    labels = Counter(label for label, _ in gold)
    return {
        "label": labels.most_common(1)[0][0] if labels else _DEFAULT_LABEL,
        "min": scale.low,
        "max": scale.high,
        "step": scale.step,
        "text_pairs": has_text_pairs(train),
    }


def _build(setup: TaskSetup[NumberOptions]) -> ExtractiveRegressionTask:
    vocabulary = setup.vocabulary
    scale = NumberScale(*(float(vocabulary[key]) for key in ("min", "max", "step")))
    options = setup.options
    reader = ChoiceReader(
        numbers_of(scale), join_texts=options.texts == "joined", source_first=options.source_first
    )
    return ExtractiveRegressionTask(
        setup.name,
        setup.layer,
        InstanceReader(reader),
        options.dropout,
        bool(vocabulary["text_pairs"]),
        options.span_selection == "independent",
        str(vocabulary["label"]),
        scale,
        options.number == "expected",
    )


KIND = TaskType(
    NumberOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    FAMILY,
    merge_vocabularies,
    example_unit="text",
)
