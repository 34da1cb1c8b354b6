"""Score coreference of predicted documents against gold ones: the official measures, and mentions.

A cluster is a set of at least two mentions that relations and equivalences connect: OntoNotes has
no others, and a singleton counts among the spans alone. Corpora like LitBank annotate singletons,
and are scored in the literature with each as a cluster: that is a separate metric. Mentions are
compared by their bounds; labels are ignored in clusters.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from spanloom.annotation.connected_spans import connected_spans
from spanloom.document import Document, Layer
from spanloom.metrics import report
from spanloom.metrics.bootstrap import (
    DocumentCounts,
    Interval,
    clusters_per_document,
    interval,
    interval_text,
)
from spanloom.metrics.coreference import Clusters, Coreference, without_singletons
from spanloom.metrics.coreference import score as score_clusters
from spanloom.metrics.counts import PRF
from spanloom.metrics.report import Score, annotated_documents, heading, section
from spanloom.metrics.spans import bounds


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer: its clusters, and all its spans.

    ``document_counts`` and ``interval`` are of the CoNLL average. ``singletons`` are the scores
    with singletons counted as clusters. ``not_annotated`` is the number of gold documents without
    the layer; they are not scored.
    """

    layer: str
    documents: int
    clusters: Coreference
    document_counts: DocumentCounts
    interval: Interval
    singletons: Coreference
    spans: Score
    not_annotated: int = 0

    def metrics(self) -> dict[str, float]:
        """Return the CoNLL average, the three F1 it is the mean of, and F1 of spans."""
        return {
            "conll_f1": self.clusters.average,
            "muc": self.clusters.muc.f1,
            "b_cubed": self.clusters.b_cubed.f1,
            "ceaf_e": self.clusters.ceaf_e.f1,
            "span_f1": self.spans.micro.f1,
            "conll_f1_singletons": self.singletons.average,
        }

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the counts behind the CoNLL average and F1 of spans."""
        return {"conll_f1": self.document_counts, "span_f1": self.spans.document_counts}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "conll_f1": self.clusters.average,
            "f1_interval": asdict(self.interval),
            "clusters": {name: asdict(prf) for name, prf in _prf_of(self.clusters).items()},
            "conll_f1_singletons": self.singletons.average,
            "singletons": {name: asdict(prf) for name, prf in _prf_of(self.singletons).items()},
            "spans": self.spans.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        bounds = interval_text(self.interval, len(self.document_counts.rows))
        average = f"{100 * self.clusters.average:.2f}"
        lines = [
            f"clusters: CoNLL average {average} ({bounds})",
            "  measure   precision  recall      F1",
            *(_row(name, prf) for name, prf in _prf_of(self.clusters).items()),
            f"with each mention by itself as a cluster: {100 * self.singletons.average:.2f}",
        ]
        header = heading(self.layer, self.documents, self.not_annotated)
        parts = [header, "\n".join(lines), section("spans (bounds and label)", self.spans)]
        return "\n\n".join(parts) + "\n"


def score(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    layer: str,
    *,
    seed: int = 0,
    resamples: int = 1000,
) -> Report:
    """Score a layer of the predicted documents against the gold ones of the same name.

    Raises ``DataError`` where names do not match one to one or texts differ, and ``LayerError``
    where no gold document has the layer.
    """
    mentions = report.score(
        _without_clusters(gold, layer), _without_clusters(predicted, layer), layer
    )
    pairs = [
        (_clusters(gold_document, layer), _clusters(predicted_document, layer))
        for gold_document, predicted_document in annotated_documents(gold, predicted, layer)
    ]
    scores = [score_clusters(without_singletons(a), without_singletons(b)) for a, b in pairs]
    document_counts = clusters_per_document(scores)
    return Report(
        layer,
        len(scores),
        sum(scores, Coreference()),
        document_counts,
        interval(document_counts, seed=seed, resamples=resamples),
        sum((score_clusters(a, b) for a, b in pairs), Coreference()),
        mentions.spans,
        mentions.not_annotated,
    )


def _without_clusters(documents: Sequence[Document], name: str) -> list[Document]:
    """Return the documents with the layer's spans alone."""
    return [
        document.with_layer(Layer(name, document[name].spans))
        if document.has_layer(name)
        else document
        for document in documents
    ]


def _prf_of(scores: Coreference) -> dict[str, PRF]:
    """Return each measure of clusters by name; mentions are those of clusters."""
    return {
        "mentions": scores.mentions.prf,
        "muc": scores.muc.prf,
        "b_cubed": scores.b_cubed.prf,
        "ceaf_e": scores.ceaf_e.prf,
        "lea": scores.lea.prf,
    }


def _clusters(document: Document, name: str) -> Clusters:
    """Return the clusters of mentions, by bounds, singletons included.

    Two spans with the same bounds are one mention.
    """
    layer = document.layer_or_empty(name)
    bounds_of = {span.id: bounds(span) for span in layer.spans}
    clusters = [
        list(dict.fromkeys(bounds_of[span_id] for span_id in ids)) for ids in connected_spans(layer)
    ]
    clustered = {mention for cluster in clusters for mention in cluster}
    singletons = [
        [mention] for mention in dict.fromkeys(bounds_of.values()) if mention not in clustered
    ]
    return [*clusters, *singletons]


def _row(name: str, ratios: PRF) -> str:
    """Return one line of the table."""
    cells = f"  {name:8}  {100 * ratios.precision:9.2f}  {100 * ratios.recall:6.2f}"
    return f"{cells}  {100 * ratios.f1:6.2f}"
