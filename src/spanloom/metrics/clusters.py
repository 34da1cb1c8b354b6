"""Coreference of predicted documents against gold ones: the official measures, and mentions.

A cluster is what relations and equivalences connect, two mentions at least: OntoNotes has no
others, and a mention by itself counts among the spans alone. A mention is where it stands; its
label plays no part in a cluster.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from spanloom.document import Document, Layer
from spanloom.forms.links import linked
from spanloom.metrics import report
from spanloom.metrics.bootstrap import Interval
from spanloom.metrics.coreference import Clusters, Coreference, Shares, without_singletons
from spanloom.metrics.coreference import score as measured
from spanloom.metrics.counts import PRF
from spanloom.metrics.report import Score, annotated, heading, section
from spanloom.metrics.spans import bounds

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer: its clusters, and all its spans.

    ``interval`` is of the CoNLL average. ``not_annotated`` are gold documents without the layer,
    which count nowhere.
    """

    layer: str
    documents: int
    clusters: Coreference
    interval: Interval
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
        }

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "conll": self.clusters.average,
            "f1_interval": asdict(self.interval),
            "clusters": {name: asdict(each) for name, each in self._measures().items()},
            "spans": self.spans.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        low, high = 100 * self.interval.low, 100 * self.interval.high
        average = f"{100 * self.clusters.average:.2f}"
        lines = [
            f"clusters: CoNLL average {average} (95 % interval {low:.2f} to {high:.2f})",
            "  measure   precision  recall      F1",
            *(_row(name, each) for name, each in self._measures().items()),
        ]
        head = heading(self.layer, self.documents, self.not_annotated)
        parts = [head, "\n".join(lines), section("spans (bounds and label)", self.spans)]
        return "\n\n".join(parts) + "\n"

    def _measures(self) -> dict[str, PRF]:
        """Each measure of clusters; mentions are those of clusters."""
        found = self.clusters
        return {
            "mentions": found.mentions.prf,
            "muc": found.muc.prf,
            "b_cubed": found.b_cubed.prf,
            "ceaf_e": found.ceaf_e.prf,
            "lea": found.lea.prf,
        }


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
    found = [
        measured(_clusters(one, layer), _clusters(two, layer))
        for one, two in annotated(gold, predicted, layer)
    ]
    return Report(
        layer,
        len(found),
        sum(found, Coreference()),
        interval(found, seed=seed, resamples=resamples),
        mentions.spans,
        mentions.not_annotated,
    )


def interval(documents: Sequence[Coreference], *, seed: int = 0, resamples: int = 1000) -> Interval:
    """Return the 95 % percentile interval of the CoNLL average, documents drawn anew.

    It is a function of the documents and the seed. Without documents it is 0..0.
    """
    size = len(documents)
    if not size:
        return Interval(0.0, 0.0, _LEVEL)
    table = np.array([_row_of(each) for each in documents], dtype=np.float64)
    generator, even = np.random.default_rng(seed), np.full(size, 1 / size)
    sums = np.stack([generator.multinomial(size, even) @ table for _ in range(resamples)])
    low, high = np.quantile(_averages(sums), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(float(low), float(high), _LEVEL)


def _row_of(document: Coreference) -> list[float]:
    """What the averages are made of, four numbers a measure."""
    measures = document.muc, document.b_cubed, document.ceaf_e
    return [end for each in measures for end in _ends(each)]


def _ends(shares: Shares) -> tuple[float, ...]:
    return shares.recall_num, shares.recall_den, shares.precision_num, shares.precision_den


def _averages(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The CoNLL average of each row of sums."""
    found, gold, right, said = np.moveaxis(sums.reshape(len(sums), -1, 4), -1, 0)
    recall = np.divide(found, gold, out=np.zeros_like(gold), where=gold > 0)
    precision = np.divide(right, said, out=np.zeros_like(said), where=said > 0)
    both = recall + precision
    f1 = np.divide(2 * recall * precision, both, out=np.zeros_like(both), where=both > 0)
    averages: NDArray[np.float64] = f1.mean(axis=1)
    return averages


def _unlinked(documents: Sequence[Document], name: str) -> list[Document]:
    """The documents with mentions alone."""
    return [
        each.with_layer(Layer(name, each[name].spans)) if each.has(name) else each
        for each in documents
    ]


def _clusters(document: Document, name: str) -> Clusters:
    """The places of each cluster's mentions; two spans at one place are one mention."""
    if not document.has(name):
        return []
    layer = document[name]
    place = {span.id: bounds(span) for span in layer.spans}
    found = [list(dict.fromkeys(place[key] for key in each)) for each in linked(layer)]
    return without_singletons(found)


def _row(name: str, ratios: PRF) -> str:
    """One line of the table."""
    left = f"  {name:8}  {100 * ratios.precision:9.2f}  {100 * ratios.recall:6.2f}"
    return f"{left}  {100 * ratios.f1:6.2f}"
