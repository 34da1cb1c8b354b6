"""Coreference metrics over clusters: MUC, B³, CEAF, LEA, and the average that CoNLL-2012 ranks by.

A document has clusters of mentions on both sides; mentions are hashable, and two are the same when
they are equal. Each measure counts one document, and documents are added up. Mentions may be
predicted (Pradhan et al., 2014), so the sides need not have the same ones.

A mention in several clusters of a side counts in the last one, as in coval; CEAF, which needs no
unique cluster, counts it in each.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from spanloom.metrics.counts import PartialCounts, Summable

Clusters = Sequence[Sequence[Hashable]]
Pair = tuple[int, int]
"""Indices of a gold and a predicted cluster."""


@dataclass(frozen=True, slots=True)
class Coreference(Summable):
    """The measures of one or more documents; ``mentions`` are those of all clusters."""

    mentions: PartialCounts = PartialCounts()
    muc: PartialCounts = PartialCounts()
    b_cubed: PartialCounts = PartialCounts()
    ceaf_e: PartialCounts = PartialCounts()
    lea: PartialCounts = PartialCounts()

    @property
    def average(self) -> float:
        """The CoNLL score: the mean F1 of MUC, B³ and CEAFe."""
        return (self.muc.f1 + self.b_cubed.f1 + self.ceaf_e.f1) / 3


def without_singletons(clusters: Clusters) -> Clusters:
    """Return the clusters of several mentions: corpora like OntoNotes have no others."""
    return [cluster for cluster in clusters if len(cluster) > 1]


def mentions(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Count the mentions of clusters, each once."""
    gold_mentions, predicted_mentions = cluster_of(gold), cluster_of(predicted)
    num_shared = len(gold_mentions.keys() & predicted_mentions.keys())
    return PartialCounts(num_shared, len(gold_mentions), num_shared, len(predicted_mentions))


def muc(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Count the links that join clusters, one fewer than mentions (Vilain et al., 1995)."""
    return _both_sides(_muc_side, gold, predicted)


def b_cubed(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Add up the share of its cluster that each mention keeps (Bagga and Baldwin, 1998)."""
    return _both_sides(_b_cubed_side, gold, predicted)


def lea(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Add up the share of links that each cluster keeps, times its size (Moosavi and Strube, 2016).

    A cluster of one mention has one link, to itself, which is kept if it is a singleton there too.
    """
    return _both_sides(_lea_side, gold, predicted)


def ceaf_e(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Align clusters by greatest similarity, independent of their sizes (Luo, 2005: φ4)."""
    similarity = phi4(gold, predicted)
    total = sum(similarity[pair] for pair in best_assignment(similarity).items())
    return PartialCounts(total, len(gold), total, len(predicted))


def ceaf_m(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Align clusters by the greatest number of shared mentions (Luo, 2005: φ3)."""
    shared = overlaps(gold, predicted)
    total = sum(shared[pair] for pair in best_assignment(shared).items())
    return PartialCounts(total, sum(map(len, gold)), total, sum(map(len, predicted)))


def phi4(gold: Clusters, predicted: Clusters) -> dict[Pair, float]:
    """Return φ4 of overlapping clusters: twice the overlap over both sizes, 1 if they are equal."""
    return {
        (i, j): 2 * size / (len(gold[i]) + len(predicted[j]))
        for (i, j), size in overlaps(gold, predicted).items()
    }


def overlaps(gold: Clusters, predicted: Clusters) -> Counter[Pair]:
    """Count the mentions that a gold and a predicted cluster share, for pairs that share any."""
    clusters_of: dict[Hashable, list[int]] = {}
    for index, cluster in enumerate(predicted):
        for mention in dict.fromkeys(cluster):
            clusters_of.setdefault(mention, []).append(index)
    return Counter(
        (gold_index, predicted_index)
        for gold_index, cluster in enumerate(gold)
        for mention in cluster
        for predicted_index in clusters_of.get(mention, ())
    )


def best_assignment(weights: Mapping[Pair, float]) -> dict[int, int]:
    """Return the column of each row in a one-to-one assignment with the greatest sum of weights.

    Weights are positive, missing pairs weigh nothing; rows ascend, and rows without a column are
    left out. Connected parts are independent and solved separately, so that tables stay small.
    """
    column_of: dict[int, int] = {}
    for part in _connected_parts(weights):
        rows, columns = (sorted({pair[side] for pair in part}) for side in (0, 1))
        dense = np.zeros((len(rows), len(columns)))
        row_index, column_index = ({n: i for i, n in enumerate(side)} for side in (rows, columns))
        for row, column in part:
            dense[row_index[row], column_index[column]] = weights[row, column]
        pairs = full_assignment(dense) if len(part) > 1 else [(0, 0)]
        column_of |= {rows[i]: columns[j] for i, j in pairs if dense[i, j] > 0}
    return dict(sorted(column_of.items()))


def full_assignment(weights: NDArray[np.float64]) -> list[Pair]:
    """Return min(rows, columns) pairs with the greatest sum of weights; rows ascend."""
    from scipy.optimize import linear_sum_assignment  # its import takes half a second

    rows, columns = linear_sum_assignment(weights, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _connected_parts(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Yield the pairs of each connected part of a bipartite graph."""
    pairs = list(pairs)
    columns_of_row: dict[int, list[int]] = {}
    rows_of_column: dict[int, list[int]] = {}
    for row, column in pairs:
        columns_of_row.setdefault(row, []).append(column)
        rows_of_column.setdefault(column, []).append(row)
    seen: set[int] = set()
    for first in columns_of_row:
        if first in seen:
            continue
        rows = {first: None}  # ordered
        queue = [first]
        for row in queue:  # grows during the iteration
            for column in columns_of_row[row]:
                new_rows = [other for other in rows_of_column.pop(column, ()) if other not in rows]
                rows |= dict.fromkeys(new_rows)
                queue += new_rows
        seen.update(rows)
        yield [(row, column) for row in rows for column in columns_of_row[row]]


def cluster_of(clusters: Clusters) -> dict[Hashable, int]:
    """Return the index of each mention's cluster."""
    return {mention: index for index, cluster in enumerate(clusters) for mention in cluster}


Measure = Callable[[Clusters, Clusters], PartialCounts]


def score(gold: Clusters, predicted: Clusters, ceaf_e: Measure = ceaf_e) -> Coreference:
    """Return all measures of one document, CEAFe by the given function."""
    measures: tuple[Measure, ...] = (mentions, muc, b_cubed, ceaf_e, lea)
    return Coreference(*(measure(gold, predicted) for measure in measures))


_SideCounter = Callable[[Clusters, Clusters, Mapping[Hashable, int]], tuple[float, float]]


def _both_sides(count_side: _SideCounter, gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Return both sides of a measure that counts how much of clusters is kept in others."""
    recall = count_side(gold, predicted, cluster_of(predicted))
    return PartialCounts(*recall, *count_side(predicted, gold, cluster_of(gold)))


def _muc_side(
    clusters: Clusters, others: Clusters, other_cluster_of: Mapping[Hashable, int]
) -> tuple[float, float]:
    """Return the links of clusters kept in the others, and all links."""
    num_kept = num_links = 0
    for cluster in clusters:
        indices = [other_cluster_of[mention] for mention in cluster if mention in other_cluster_of]
        num_kept += len(indices) - len(set(indices))
        num_links += len(cluster) - 1 if cluster else 0
    return num_kept, num_links


def _b_cubed_side(
    clusters: Clusters, others: Clusters, other_cluster_of: Mapping[Hashable, int]
) -> tuple[float, float]:
    """Return the sum of shares that mentions keep, and the number of mentions."""
    kept_share: float = 0
    for cluster in clusters:
        part_sizes = Counter(
            other_cluster_of[mention] for mention in cluster if mention in other_cluster_of
        )
        squares = sum(size * size for size in part_sizes.values())
        kept_share += squares / len(cluster) if cluster else 0
    return kept_share, sum(map(len, clusters))


def _lea_side(
    clusters: Clusters, others: Clusters, other_cluster_of: Mapping[Hashable, int]
) -> tuple[float, float]:
    """Return the sum of shares of kept links times cluster sizes, and the number of mentions."""
    kept_share: float = 0
    for cluster in clusters:
        part_sizes = Counter(
            other_cluster_of[mention] for mention in cluster if mention in other_cluster_of
        )
        if len(cluster) == 1:
            kept_share += float(any(len(others[index]) == 1 for index in part_sizes))
        elif cluster:
            links = sum(comb(size, 2) for size in part_sizes.values())
            kept_share += len(cluster) * links / comb(len(cluster), 2)
    return kept_share, sum(map(len, clusters))
