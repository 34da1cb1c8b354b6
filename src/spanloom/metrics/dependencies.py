"""Score dependency trees of predicted documents against gold ones: LAS and UAS.

An arc is right if both of its words are, and for LAS its label up to the first ``:``, as in the
scorer of Universal Dependencies (``nsubj:pass`` counts as ``nsubj``). Punctuation counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from spanloom.document import Document
from spanloom.metrics import report
from spanloom.metrics.report import LayerReport, Score


@dataclass(frozen=True, slots=True)
class Report(LayerReport):
    """The scores of one layer of arcs, with and without labels."""

    MEASURES: ClassVar[Mapping[str, tuple[str, str]]] = {
        "las": ("las", "arcs and their labels (LAS)"),
        "uas": ("uas", "arcs (UAS)"),
    }
    UNSCORED: ClassVar[str] = "unscored_arcs"

    las: Score
    uas: Score

    def to_table(self) -> str:
        """Return aligned text, ratios in percent; of UAS the F1 alone."""
        return f"{LayerReport.to_table(self)}\nUAS {100 * self.uas.micro.f1:.2f}\n"

    def shown_measures(self) -> Sequence[str]:
        """Return LAS alone."""
        return ["las"]


def score(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Report:
    """Score a layer of the predicted documents against the gold ones of the same name.

    Raises ``DataError`` where names do not match one to one or texts differ, and ``LayerError``
    where no gold document has the layer.
    """
    labeled, unlabeled = (
        report.score(
            [_arcs(document, layer, with_labels) for document in gold],
            [_arcs(document, layer, with_labels) for document in predicted],
            layer,
        )
        for with_labels in (True, False)
    )
    sizes = labeled.documents, labeled.not_annotated, labeled.unscored
    return Report(layer, *sizes, labeled.relations, unlabeled.relations)


def _arcs(document: Document, name: str, with_labels: bool) -> Document:
    """Return the document with arc labels up to the first ``:``, or all the same."""
    if not document.has_layer(name):
        return document
    layer = document[name]
    relations = tuple(
        replace(relation, label=relation.label.partition(":")[0] if with_labels else "arc")
        for relation in layer.relations
    )
    return document.with_layer(replace(layer, relations=relations))
