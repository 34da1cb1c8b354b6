"""What tasks that judge a whole text, or two, have in common, by whatever head they do it."""

from collections.abc import Sequence
from dataclasses import dataclass

from spanloom.document import Document
from spanloom.forms.parts import PARTS, judged, parts
from spanloom.metrics.judgements import Classes, score_classes
from spanloom.tasks._base import Figures, Train


@dataclass(frozen=True, slots=True)
class Gold:
    """The row of the right choice, None where nothing is said."""

    row: int | None

    def __len__(self) -> int:
        """How many judgements there are to learn from."""
        return int(self.row is not None)


class Judging:
    """What is read, of a task that knows whether train has ``parts``."""

    __slots__ = ()
    parts: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """The two parts, where train has them."""
        return (PARTS,) if self.parts else ()


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


def labels_said(layer: str, train: Train) -> set[str]:
    """Return the labels that a layer gives to texts."""
    said = [judged(document, layer) for document, _ in train]
    return {each.label for each in said if each is not None}


def have_parts(train: Train) -> bool:
    """Whether any document has two parts."""
    return any(parts(document) for document, _ in train)
