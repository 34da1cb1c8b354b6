"""Coreference by clusters: MUC, B³, CEAF, LEA, and the mean that CoNLL-2012 ranks by.

A document has clusters of mentions on both sides; whatever is hashable stands for a mention, and
two are the same when they are equal. Each measure counts one document, and documents are added up.
Mentions may be found anew (Pradhan et al., 2014), so sides need not have the same ones.

A mention that stands in several clusters of a side is at home in the last, as in coval; CEAF, which
needs no home, finds it in each.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from spanloom.metrics.assignment import Pair, best
from spanloom.metrics.counts import PRF
from spanloom.metrics.percentages import harmonic

Clusters = Sequence[Sequence[Hashable]]


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of the gold side was found, and how much of the predicted one is right.

    Unlike ``Counts``, the two need not have the same numerator. Add documents up, then ask for
    ``f1``. Undefined ratios are 0.0.
    """

    recall_num: float = 0
    recall_den: float = 0
    precision_num: float = 0
    precision_den: float = 0

    def __add__(self, other: "Shares") -> "Shares":
        """Return the sum of both, as if their documents were one set."""
        return Shares(
            self.recall_num + other.recall_num,
            self.recall_den + other.recall_den,
            self.precision_num + other.precision_num,
            self.precision_den + other.precision_den,
        )

    @property
    def precision(self) -> float:
        """Between 0 and 1; 0.0 where nothing was predicted."""
        return self.precision_num / self.precision_den if self.precision_den else 0.0

    @property
    def recall(self) -> float:
        """Between 0 and 1; 0.0 where nothing is gold."""
        return self.recall_num / self.recall_den if self.recall_den else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 where both are."""
        return harmonic(self.precision, self.recall)

    @property
    def prf(self) -> PRF:
        """All three ratios."""
        return PRF(self.precision, self.recall, self.f1)


@dataclass(frozen=True, slots=True)
class Coreference:
    """The measures of some documents; ``mentions`` are those of all clusters."""

    mentions: Shares = Shares()
    muc: Shares = Shares()
    b_cubed: Shares = Shares()
    ceaf_e: Shares = Shares()
    lea: Shares = Shares()

    def __add__(self, other: "Coreference") -> "Coreference":
        """Return the sum of both, as if their documents were one set."""
        return Coreference(
            self.mentions + other.mentions,
            self.muc + other.muc,
            self.b_cubed + other.b_cubed,
            self.ceaf_e + other.ceaf_e,
            self.lea + other.lea,
        )

    @property
    def average(self) -> float:
        """The CoNLL score: the mean F1 of MUC, B³ and CEAFe."""
        return (self.muc.f1 + self.b_cubed.f1 + self.ceaf_e.f1) / 3


def score(gold: Clusters, predicted: Clusters) -> Coreference:
    """Return all measures of one document."""
    return Coreference(
        mentions(gold, predicted),
        muc(gold, predicted),
        b_cubed(gold, predicted),
        ceaf_e(gold, predicted),
        lea(gold, predicted),
    )


def without_singletons(clusters: Clusters) -> Clusters:
    """Return the clusters of several mentions: corpora like OntoNotes have no others."""
    return [each for each in clusters if len(each) > 1]


def over(clusters: Clusters, given: Iterable[Hashable]) -> Clusters:
    """Return the clusters over the given mentions, for a system that was told the gold ones.

    Other mentions are left out, and a given one in no cluster is one by itself.
    """
    every = list(dict.fromkeys(given))
    known = set(every)
    kept = [[mention for mention in each if mention in known] for each in clusters]
    linked = {mention for each in kept for mention in each}
    alone = [[mention] for mention in every if mention not in linked]
    return [*filter(None, kept), *alone]


def mentions(gold: Clusters, predicted: Clusters) -> Shares:
    """Count the mentions of clusters, each once."""
    mine, theirs = homes(gold), homes(predicted)
    both = len(mine.keys() & theirs.keys())
    return Shares(both, len(mine), both, len(theirs))


def muc(gold: Clusters, predicted: Clusters) -> Shares:
    """Count the links that join clusters, one fewer than mentions (Vilain et al., 1995)."""
    return _both(_muc, gold, predicted)


def b_cubed(gold: Clusters, predicted: Clusters) -> Shares:
    """Add up each mention's share of its cluster that it keeps (Bagga and Baldwin, 1998)."""
    return _both(_b_cubed, gold, predicted)


def lea(gold: Clusters, predicted: Clusters) -> Shares:
    """Add up each cluster's share of links kept, times its size (Moosavi and Strube, 2016).

    A cluster of one mention has one link, to itself, which is kept where it is alone as well.
    """
    return _both(_lea, gold, predicted)


def ceaf_e(gold: Clusters, predicted: Clusters) -> Shares:
    """Pair clusters so that they are most alike, whatever their sizes (Luo, 2005: φ4)."""
    alike = likeness(gold, predicted)
    found = sum(alike[pair] for pair in best(alike).items())
    return Shares(found, len(gold), found, len(predicted))


def ceaf_m(gold: Clusters, predicted: Clusters) -> Shares:
    """Pair clusters so that they share the most mentions (Luo, 2005: φ3)."""
    common = overlaps(gold, predicted)
    found = sum(common[pair] for pair in best(common).items())
    return Shares(found, sum(map(len, gold)), found, sum(map(len, predicted)))


def likeness(gold: Clusters, predicted: Clusters) -> dict[Pair, float]:
    """Return φ4 of the clusters that share something: how much of both, 1 where they are equal."""
    return {
        (row, column): 2 * size / (len(gold[row]) + len(predicted[column]))
        for (row, column), size in overlaps(gold, predicted).items()
    }


def overlaps(gold: Clusters, predicted: Clusters) -> Counter[Pair]:
    """Count what each gold and predicted cluster share, those that share something."""
    rows: dict[Hashable, list[int]] = {}
    for row, cluster in enumerate(predicted):
        for mention in dict.fromkeys(cluster):
            rows.setdefault(mention, []).append(row)
    return Counter(
        (row, column)
        for row, cluster in enumerate(gold)
        for mention in cluster
        for column in rows.get(mention, ())
    )


def homes(clusters: Clusters) -> dict[Hashable, int]:
    """Return the row of the cluster in which each mention is."""
    return {mention: row for row, cluster in enumerate(clusters) for mention in cluster}


_Side = Callable[[Clusters, Clusters, Mapping[Hashable, int]], tuple[float, float]]


def _both(side: _Side, gold: Clusters, predicted: Clusters) -> Shares:
    """Both sides of a measure, which counts how much of clusters is kept in others."""
    recall = side(gold, predicted, homes(predicted))
    return Shares(*recall, *side(predicted, gold, homes(gold)))


def _muc(clusters: Clusters, others: Clusters, home: Mapping[Hashable, int]) -> tuple[float, float]:
    kept = links = 0
    for cluster in clusters:
        there = [home[mention] for mention in cluster if mention in home]
        kept += len(there) - len(set(there))
        links += len(cluster) - 1 if cluster else 0
    return kept, links


def _b_cubed(
    clusters: Clusters, others: Clusters, home: Mapping[Hashable, int]
) -> tuple[float, float]:
    kept: float = 0
    for cluster in clusters:
        there = Counter(home[mention] for mention in cluster if mention in home)
        kept += sum(size * size for size in there.values()) / len(cluster) if cluster else 0
    return kept, sum(map(len, clusters))


def _lea(clusters: Clusters, others: Clusters, home: Mapping[Hashable, int]) -> tuple[float, float]:
    kept: float = 0
    for cluster in clusters:
        there = Counter(home[mention] for mention in cluster if mention in home)
        if len(cluster) == 1:
            kept += float(any(len(others[row]) == 1 for row in there))
        elif cluster:
            links = sum(comb(size, 2) for size in there.values())
            kept += len(cluster) * links / comb(len(cluster), 2)
    return kept, sum(map(len, clusters))
