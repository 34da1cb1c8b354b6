"""Relations by the ends of their arguments: where head and tail end, and the label.

An argument's last word says where it ends, so this is how HMTL (Sanh et al. 2019, "Datasets and
evaluation metrics") scores relations between the last words of mentions; where an argument begins
and what it is labelled plays no part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanloom.document import Document, Layer
from spanloom.metrics.report import Score, heading, score, section
from spanloom.metrics.tally import Tally


@dataclass(frozen=True, slots=True)
class TripleReport:
    """The scores of one layer's relations.

    ``not_annotated`` are gold documents without the layer, which count nowhere; ``unscored`` gold
    and predicted relations with an end that is no span.
    """

    layer: str
    documents: int
    relations: Score
    not_annotated: int = 0
    unscored: int = 0

    def tallies(self) -> dict[str, Tally]:
        """Return what F1 of relations is made of."""
        return {"relations": self.relations.tally}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "unscored_relations": self.unscored,
            "relations": self.relations.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        head = heading(self.layer, self.documents, self.not_annotated, self.unscored)
        return f"{head}\n\n{section('relations (last words and label)', self.relations)}\n"


def score_triples(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> TripleReport:
    """Score a layer's relations; raises as ``metrics.report.score`` does."""
    report = score([_ends(each) for each in gold], [_ends(each) for each in predicted], layer)
    return TripleReport(
        report.layer, report.documents, report.relations, report.not_annotated, report.unscored
    )


def _ends(document: Document) -> Document:
    """The document with every span drawn together where it ends."""
    return replace(document, layers=tuple(_drawn(each) for each in document.layers))


def _drawn(layer: Layer) -> Layer:
    spans = (replace(span, fragments=((span.end, span.end),)) for span in layer.spans)
    return replace(layer, spans=tuple(spans))
