"""Texts, or pairs of texts, of one number each, chosen among numbers in even steps (SpEx-BERT).

The range is cut into buckets, whose numbers are written as choices are (section 3, table 1: ``0.0
0.25 0.5 ... 5.0``); the nearest one is right.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, model_validator

from spanloom.annotation.text_pairs import TEXT, TEXT_PAIR, VALUE, Classification, classification_of
from spanloom.data.instance_readers import ChoiceReader, InstanceReader
from spanloom.document import MAIN, Attribute, Document, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.metrics.classification import RegressionReport, score_values
from spanloom.tasks._base import MetricValues, TaskType, TrainDocuments
from spanloom.tasks._classification import has_text_pairs
from spanloom.tasks._span_extraction import (
    FAMILY,
    ExtractiveChoiceTask,
    ExtractOptions,
    merge_vocabularies,
)

_STEPS = 20  # from low to high, at most, where the recipe names no step
_MOST = 200  # more would leave no room for the text
_NEARLY = 1e-9  # of a step: what arithmetic loses
_USUAL = "value"  # what a number is called where train names none

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


class NumberOptions(ExtractOptions):
    """Options of numbers; what is null follows from train."""

    min: float | None = Field(None, description="the least number")
    max: float | None = Field(None, description="the greatest number")
    step: float | None = Field(
        None, gt=0, description="from one number to the next; null: a round one, 20 or fewer steps"
    )

    @model_validator(mode="after")
    def _ordered(self) -> "NumberOptions":
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError(f"expected low below high ({self.max})")
        return self


@dataclass(frozen=True, slots=True)
class NumberScale:
    """The numbers there are to choose from: ``low``, and on in steps up to ``high``."""

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a range without sense, or more numbers than can be read."""
        if not 0 <= self.high - self.low <= _MOST * self.step < math.inf or not self.step:
            raise ValueError(
                f"expected to go from low to high in at most {_MOST} steps, "
                f"got {self.low} to {self.high} in steps of {self.step}"
            )

    def __len__(self) -> int:
        """How many there are."""
        return 1 + math.floor((self.high - self.low) / self.step + _NEARLY)

    def value(self, row: int) -> float:
        """Return one of them, free of what arithmetic adds to its last digits."""
        return float(f"{self.low + row * self.step:.12g}")

    def nearest(self, value: float) -> int:
        """Return the row of the nearest one."""
        return min(len(self) - 1, max(0, round((value - self.low) / self.step)))


@dataclass(frozen=True, slots=True)
class ExtractiveRegressionTask(ExtractiveChoiceTask):
    """A number of one name."""

    label: str
    buckets: NumberScale

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("pearson", "spearman")

    def index_of(self, gold: Classification) -> int | None:
        """Return the row of the nearest number."""
        return None if gold.value is None else self.buckets.nearest(gold.value)

    def label_at(self, row: int) -> Classification:
        """Return a number, under the name that train gives it."""
        return Classification(self.label, self.buckets.value(row))

    def compute_metrics(
        self, gold: Sequence[Document], predicted: Sequence[Document]
    ) -> RegressionReport:
        """Score the numbers."""
        return score_values(gold, predicted, self.layer)

    def metrics(self, report: RegressionReport) -> MetricValues:
        """Return both correlations."""
        return report.metrics()


def _infer_vocabulary(options: NumberOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    classifications = [classification_of(document, layer) for document, _ in train]
    gold = [
        classification
        for classification in classifications
        if classification is not None and classification.value is not None
    ]
    try:
        scale = _buckets(
            options,
            [classification.value for classification in gold if classification.value is not None],
        )
    except ValueError as error:
        raise DataError(f"numbers of layer {layer!r}: {error}") from error
    names = Counter(classification.label for classification in gold)
    return {
        "label": names.most_common(1)[0][0] if names else _USUAL,
        "min": scale.low,
        "max": scale.high,
        "step": scale.step,
        "parts": has_text_pairs(train),
    }


def _buckets(options: NumberOptions, values: Sequence[float]) -> NumberScale:
    """Return the range that holds all values, from and to whole steps where the options say none.

    Raises ``ValueError`` where there is no such range.
    """
    least = min(values, default=0.0) if options.min is None else options.min
    greatest = max(values, default=least) if options.max is None else options.max
    if greatest < least:
        raise ValueError(f"expected low below high, got {least} and {greatest}")
    step = options.step or _round_step(greatest - least) or abs(least) or 1.0
    low = least if options.min is not None else step * math.floor(least / step + _NEARLY)
    high = greatest if options.max is not None else step * math.ceil(greatest / step - _NEARLY)
    return NumberScale(low, high, step)


def _round_step(width: float) -> float:
    """Return the least of 1, 2, 2.5 and 5 times a power of ten that needs few steps; 0 for 0."""
    least = width / _STEPS
    if not 0 < least < math.inf:
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(n * power for n in (1, 2, 2.5, 5, 10) if n * power >= least * (1 - _NEARLY))


def _build(
    name: str,
    layer: str,
    options: NumberOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> ExtractiveRegressionTask:
    buckets = NumberScale(*(float(collected[key]) for key in ("min", "max", "step")))
    reading = InstanceReader(
        ChoiceReader(tuple(repr(buckets.value(row)) for row in range(len(buckets))))
    )
    both, label = bool(collected["parts"]), str(collected["label"])
    return ExtractiveRegressionTask(name, layer, reading, options.dropout, both, label, buckets)


KIND = TaskType(NumberOptions, _infer_vocabulary, _build, _SAMPLE, FAMILY, merge_vocabularies)
