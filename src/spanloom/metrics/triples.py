"""Score relations by the last offsets of their arguments, and the label.

An argument's end is that of its last word, so this is how HMTL (Sanh et al. 2019, "Datasets and
evaluation metrics") scores relations between the last words of mentions; where an argument begins
and its label are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanloom.document import Document, Layer
from spanloom.metrics.per_document import DocumentCounts
from spanloom.metrics.report import Score, heading, score, section


@dataclass(frozen=True, slots=True)
class TripleReport:
    """The scores of one layer's relations.

    ``not_annotated`` is the number of gold documents without the layer, which are not scored;
    ``unscored`` that of gold and predicted relations with an end that is no span.
    """

    layer: str
    documents: int
    relations: Score
    not_annotated: int = 0
    unscored: int = 0

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the counts behind F1 of relations."""
        return {"relation_f1": self.relations.tally}

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
        header = heading(self.layer, self.documents, self.not_annotated, self.unscored)
        return f"{header}\n\n{section('relations (last words and label)', self.relations)}\n"


def score_triples(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> TripleReport:
    """Score a layer's relations; raises as ``metrics.report.score`` does."""
    gold = [_document_with_ends(document) for document in gold]
    predicted = [_document_with_ends(document) for document in predicted]
    report = score(gold, predicted, layer)
    return TripleReport(
        report.layer, report.documents, report.relations, report.not_annotated, report.unscored
    )


def _document_with_ends(document: Document) -> Document:
    """Return the document with each span reduced to its end, a span of no width."""
    return replace(document, layers=tuple(_layer_with_ends(layer) for layer in document.layers))


def _layer_with_ends(layer: Layer) -> Layer:
    """Return the layer with each span reduced to its end."""
    spans = (replace(span, fragments=((span.end, span.end),)) for span in layer.spans)
    return replace(layer, spans=tuple(spans))
