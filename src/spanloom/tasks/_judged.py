"""Tasks that say one label of a whole text, or of two: how good they are is the same for all."""

from collections.abc import Sequence

from spanloom.document import Document
from spanloom.forms.parts import judged
from spanloom.metrics.judgements import Classes, score_classes
from spanloom.tasks._base import Figures


class OneLabel:
    """The measures of a task that has a ``layer`` and ``labels``."""

    __slots__ = ()
    layer: str
    labels: tuple[str, ...]

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("accuracy", "macro", "matthews")

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Classes:
        """Score the labels."""
        return score_classes(gold, predicted, self.layer)

    def figures(self, report: Classes) -> Figures:
        """Return accuracy, macro F1 and Matthews' correlation."""
        return report.figures()

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """Return labels that train did not have."""
        said = [judged(document, self.layer) for document in documents]
        return {each.label for each in said if each is not None} - set(self.labels)
