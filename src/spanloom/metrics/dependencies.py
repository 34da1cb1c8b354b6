"""Dependency trees of predicted documents against gold ones: LAS and UAS.

An arc is right when both of its words are, and for LAS its label up to the first ``:``, as the
scorer of Universal Dependencies counts (``nsubj:pass`` is an ``nsubj``). Punctuation counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanloom.document import Document
from spanloom.metrics import report
from spanloom.metrics.report import Score, heading, section
from spanloom.metrics.tally import Tally


@dataclass(frozen=True, slots=True)
class Report:
    """The arcs of one layer; ``not_annotated`` are gold documents without it, not scored."""

    layer: str
    documents: int
    las: Score
    uas: Score
    not_annotated: int = 0
    unscored: int = 0

    def tallies(self) -> dict[str, Tally]:
        """Return what both F1 are made of."""
        return {"las": self.las.tally, "uas": self.uas.tally}

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
        head = heading(self.layer, self.documents, self.not_annotated, self.unscored)
        uas = f"UAS {100 * self.uas.micro.f1:.2f}"
        return "\n\n".join([head, section("arcs and their labels (LAS)", self.las), uas]) + "\n"


def score(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Report:
    """Score a layer of the predicted documents against the gold ones of the same name.

    Raises ``DataError`` where names do not match one to one or texts differ, and ``LayerError``
    where no gold document has the layer.
    """
    labelled, plain = (
        report.score(
            [_arcs(each, layer, named) for each in gold],
            [_arcs(each, layer, named) for each in predicted],
            layer,
        )
        for named in (True, False)
    )
    return Report(
        layer,
        labelled.documents,
        labelled.relations,
        plain.relations,
        labelled.not_annotated,
        labelled.unscored,
    )


def _arcs(document: Document, name: str, named: bool) -> Document:
    """The document with arcs labelled up to the first ``:``, or all alike."""
    if not document.has(name):
        return document
    layer = document[name]
    relations = tuple(
        replace(each, label=each.label.partition(":")[0] if named else "arc")
        for each in layer.relations
    )
    return document.with_layer(replace(layer, relations=relations))
