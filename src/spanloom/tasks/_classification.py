"""Parts shared by tasks that classify a text or a pair of texts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from spanloom.annotation.text_pairs import TEXT_PAIR, classification_of, text_pair
from spanloom.config.options import Options
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.metrics.classification import ClassificationReport, score_classes
from spanloom.metrics.counts import label_f1
from spanloom.tasks._base import Measure, MetricValues, TrainDocuments


class TextOptions(Options):
    """Options of tasks whose head is one linear layer."""

    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the head")


class LabelOptions(TextOptions):
    """Options of tasks that give a text one of some labels."""

    metric: Literal["accuracy", "macro_f1", "mcc"] = Field(
        "accuracy", description="the main metric, by which the model is chosen, too"
    )
    label_metrics: tuple[str, ...] = Field(
        (), description="labels whose F1 is a metric, too, as GLUE's of MRPC"
    )


@dataclass(frozen=True, slots=True)
class LabelGold:
    """The index of a document's gold label; None if it has no learnt label."""

    row: int | None

    def __len__(self) -> int:
        """Return the number of labels to learn from."""
        return int(self.row is not None)


class TextPairMixin:
    """The inputs of a task; ``text_pairs`` says whether train has pairs of texts."""

    __slots__ = ()
    text_pairs: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """The layer with the bounds of both texts, if train has pairs."""
        return (TEXT_PAIR,) if self.text_pairs else ()


@dataclass(frozen=True, slots=True)
class ClassMeasure:
    """Measure classes of texts, the ``main`` metric first, and the F1 of some ``labels`` apart.

    Where ``negative_label`` says that no other class holds that is not accuracy, but micro F1 or
    another metric; F1 leaves it out.
    """

    main: str = "accuracy"
    labels: tuple[str, ...] = ()
    negative_label: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics, the main one first."""
        names = ["accuracy", "macro_f1", "mcc"]
        if self.negative_label is not None:
            names = ["micro_f1", "macro_f1", "accuracy"]
        first = [] if self.main == "accuracy" else [self.main]
        return tuple(dict.fromkeys((*first, *names, *map(label_f1, self.labels))))

    def compute(
        self, gold: Sequence[Document], predicted: Sequence[Document], layer: str
    ) -> ClassificationReport:
        """Score a layer."""
        return score_classes(gold, predicted, layer, self.negative_label, self.labels)

    def values(self, report: ClassificationReport) -> MetricValues:
        """Return the metrics of a report."""
        return report.metrics()


class SingleLabelMixin:
    """The metrics of a task that has a ``layer`` and ``labels``."""

    __slots__ = ()
    layer: str
    labels: tuple[str, ...]

    measure: Measure

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels that train did not have."""
        classifications = [classification_of(document, self.layer) for document in documents]
        return {
            classification.label for classification in classifications if classification is not None
        } - set(self.labels)


def check_labels(task: str, option: str, values: Collection[str], labels: Collection[str]) -> None:
    """Raise ``DataError`` if an option names a label that train does not have."""
    for label in values:
        if label not in labels:
            raise DataError(
                f"task {task!r}: {option}: expected a class that train has, got {label!r}; classes "
                f"are {', '.join(labels)}"
            )


def text_vocabulary(options: BaseModel, layer: str, train: TrainDocuments) -> dict[str, Any]:
    """Return the labels that a layer gives to texts, and whether train has pairs of texts."""
    classifications = [classification_of(document, layer) for document, _ in train]
    labels = {classification.label for classification in classifications if classification}
    return {"labels": sorted(labels), "text_pairs": has_text_pairs(train)}


def has_text_pairs(train: TrainDocuments) -> bool:
    """Return whether any document is a pair of texts."""
    return any(text_pair(document) for document, _ in train)
