"""Coreference of predicted documents against gold ones: the official measures, and mentions.

A cluster is what relations and equivalences connect, two mentions at least: OntoNotes has no
others, and a mention by itself counts among the spans alone. Corpora like LitBank annotate such
mentions, and are scored in the literature with each as a cluster: that is a figure by itself. A
mention is where it stands; its label plays no part in a cluster.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from spanloom.document import Document, Layer
from spanloom.forms.links import linked
from spanloom.metrics import report
from spanloom.metrics.bootstrap import Interval, interval
from spanloom.metrics.coreference import Clusters, Coreference, without_singletons
from spanloom.metrics.coreference import score as measured
from spanloom.metrics.counts import PRF
from spanloom.metrics.report import Score, annotated, heading, section
from spanloom.metrics.spans import bounds
from spanloom.metrics.tally import Tally, of_clusters


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer: its clusters, and all its spans.

    ``tally`` and ``interval`` are of the CoNLL average. ``singletons`` counts mentions by
    themselves as clusters, too. ``not_annotated`` are gold documents without the layer, which count
    nowhere.
    """

    layer: str
    documents: int
    clusters: Coreference
    tally: Tally
    interval: Interval
    singletons: Coreference
    spans: Score
    not_annotated: int = 0

    def figures(self) -> dict[str, float]:
        """Return the CoNLL average, the three F1 that it is the mean of, and F1 of spans."""
        return {
            "conll": self.clusters.average,
            "muc": self.clusters.muc.f1,
            "b_cubed": self.clusters.b_cubed.f1,
            "ceaf_e": self.clusters.ceaf_e.f1,
            "spans": self.spans.micro.f1,
            "conll_singletons": self.singletons.average,
        }

    def tallies(self) -> dict[str, Tally]:
        """Return what the CoNLL average and F1 of spans are made of."""
        return {"conll": self.tally, "spans": self.spans.tally}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "conll": self.clusters.average,
            "f1_interval": asdict(self.interval),
            "clusters": {name: asdict(each) for name, each in _measures(self.clusters).items()},
            "conll_singletons": self.singletons.average,
            "singletons": {name: asdict(each) for name, each in _measures(self.singletons).items()},
            "spans": self.spans.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        low, high = 100 * self.interval.low, 100 * self.interval.high
        average = f"{100 * self.clusters.average:.2f}"
        lines = [
            f"clusters: CoNLL average {average} (95 % interval {low:.2f} to {high:.2f})",
            "  measure   precision  recall      F1",
            *(_row(name, each) for name, each in _measures(self.clusters).items()),
            f"with each mention by itself as a cluster: {100 * self.singletons.average:.2f}",
        ]
        head = heading(self.layer, self.documents, self.not_annotated)
        parts = [head, "\n".join(lines), section("spans (bounds and label)", self.spans)]
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
    mentions = report.score(_unlinked(gold, layer), _unlinked(predicted, layer), layer)
    pairs = [
        (_clusters(one, layer), _clusters(two, layer))
        for one, two in annotated(gold, predicted, layer)
    ]
    found = [measured(without_singletons(a), without_singletons(b)) for a, b in pairs]
    tally = of_clusters(found)
    return Report(
        layer,
        len(found),
        sum(found, Coreference()),
        tally,
        interval(tally, seed=seed, resamples=resamples),
        sum((measured(a, b) for a, b in pairs), Coreference()),
        mentions.spans,
        mentions.not_annotated,
    )


def _unlinked(documents: Sequence[Document], name: str) -> list[Document]:
    """The documents with mentions alone."""
    return [
        each.with_layer(Layer(name, each[name].spans)) if each.has(name) else each
        for each in documents
    ]


def _measures(found: Coreference) -> dict[str, PRF]:
    """Each measure of clusters; mentions are those of clusters."""
    return {
        "mentions": found.mentions.prf,
        "muc": found.muc.prf,
        "b_cubed": found.b_cubed.prf,
        "ceaf_e": found.ceaf_e.prf,
        "lea": found.lea.prf,
    }


def _clusters(document: Document, name: str) -> Clusters:
    """The places of each cluster's mentions, of which some have one alone.

    Two spans at one place are one mention.
    """
    if not document.has(name):
        return []
    layer = document[name]
    place = {span.id: bounds(span) for span in layer.spans}
    found = [list(dict.fromkeys(place[key] for key in each)) for each in linked(layer)]
    together = {mention for each in found for mention in each}
    alone = [[mention] for mention in dict.fromkeys(place.values()) if mention not in together]
    return [*found, *alone]


def _row(name: str, ratios: PRF) -> str:
    """One line of the table."""
    left = f"  {name:8}  {100 * ratios.precision:9.2f}  {100 * ratios.recall:6.2f}"
    return f"{left}  {100 * ratios.f1:6.2f}"
