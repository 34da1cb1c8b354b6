"""What tasks that judge a whole text, or two, have in common, by whatever head they do it."""

from collections.abc import Sequence
from dataclasses import dataclass

from spanloom.annotation.text_pairs import TEXT_PAIR, classification_of, text_pair
from spanloom.document import Document
from spanloom.metrics.classification import ClassificationReport, score_classes
from spanloom.tasks._base import MetricValues, TrainDocuments


@dataclass(frozen=True, slots=True)
class LabelGold:
    """The row of the right choice, None where nothing is said."""

    row: int | None

    def __len__(self) -> int:
        """How many judgements there are to learn from."""
        return int(self.row is not None)


class TextPairMixin:
    """What is read, of a task that knows whether train has ``parts``."""

    __slots__ = ()
    parts: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """The two parts, where train has them."""
        return (TEXT_PAIR,) if self.parts else ()


class SingleLabelMixin:
    """The measures of a task that has a ``layer`` and ``labels``."""

    __slots__ = ()
    layer: str
    labels: tuple[str, ...]

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("accuracy", "macro_f1", "mcc")

    def compute_metrics(
        self, gold: Sequence[Document], predicted: Sequence[Document]
    ) -> ClassificationReport:
        """Score the labels."""
        return score_classes(gold, predicted, self.layer)

    def metrics(self, report: ClassificationReport) -> MetricValues:
        """Return accuracy, macro F1 and Matthews' correlation."""
        return report.metrics()

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels that train did not have."""
        classifications = [classification_of(document, self.layer) for document in documents]
        return {
            classification.label for classification in classifications if classification is not None
        } - set(self.labels)


def text_labels(layer: str, train: TrainDocuments) -> set[str]:
    """Return the labels that a layer gives to texts."""
    classifications = [classification_of(document, layer) for document, _ in train]
    return {
        classification.label for classification in classifications if classification is not None
    }


def has_text_pairs(train: TrainDocuments) -> bool:
    """Whether any document has two parts."""
    return any(text_pair(document) for document, _ in train)
