"""Score dependency trees of predicted documents against gold ones: LAS and UAS.

An arc is right if both of its words are, and for LAS its label up to the first ``:``, as in the
scorer of Universal Dependencies (``nsubj:pass`` counts as ``nsubj``). Punctuation counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanloom.document import Document
from spanloom.metrics import report
from spanloom.metrics.bootstrap import DocumentCounts
from spanloom.metrics.report import Score, heading, section


@dataclass(frozen=True, slots=True)
class Report:
    """The arcs of one layer; ``not_annotated`` is the number of gold documents without it."""

    layer: str
    documents: int
    las: Score
    uas: Score
    not_annotated: int = 0
    unscored: int = 0

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the counts behind both F1."""
        return {"las": self.las.document_counts, "uas": self.uas.document_counts}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "unscored_arcs": self.unscored,
            "las": self.las.to_json(),
            "uas": self.uas.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        header = heading(self.layer, self.documents, self.not_annotated, self.unscored)
        uas = f"UAS {100 * self.uas.micro.f1:.2f}"
        return "\n\n".join([header, section("arcs and their labels (LAS)", self.las), uas]) + "\n"


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
    return Report(
        layer,
        labeled.documents,
        labeled.relations,
        unlabeled.relations,
        labeled.not_annotated,
        labeled.unscored,
    )


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
