"""Score LEA, MUC, B³ and CEAFe as coval does (Moosavi and Strube, 2016).

Each is computed with and without singleton clusters. ``printed`` has percentages of two digits,
``full_precision`` the numbers behind them. A mention in several clusters counts in each.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from spanloom.metrics.coreference import (
    Clusters,
    Coreference,
    ceaf_e,
    full_assignment,
    phi4,
    without_singletons,
)
from spanloom.metrics.coreference import score as score_clusters
from spanloom.metrics.counts import PartialCounts, round_as_printed
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring.conll2012_coref import pairs, table

CELLS = 1 << 24  # maximum size of a similarity table in memory: 128 MiB


_MEASURES = {
    "mentions": "mentions",
    "muc": "muc",
    "bcub": "b_cubed",
    "ceafe": "ceaf_e",
    "lea": "lea",
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the numbers with and without singletons."""
    parts = pairs(gold, predicted).values()
    documents = [(key.clusters_by_end(), response.clusters_by_end()) for key, response in parts]
    return {
        "with_singletons": _to_json(_sum_measures(documents)),
        "without_singletons": _to_json(
            _sum_measures(
                (without_singletons(gold_clusters), without_singletons(predicted_clusters))
                for gold_clusters, predicted_clusters in documents
            )
        ),
    }


def _sum_measures(documents: Iterable[tuple[Clusters, Clusters]]) -> Coreference:
    """Return the measures of all documents, added up in their order."""
    return sum((score_clusters(*clusters, _ceaf_e) for clusters in documents), Coreference())


def _ceaf_e(gold: Clusters, predicted: Clusters) -> PartialCounts:
    """Return CEAFe, summed by numpy over a full assignment, so that it is rounded as in coval.

    A table too large for memory is avoided; the last digits of so long a sum may then differ.
    """
    if len(gold) * len(predicted) > CELLS:
        return ceaf_e(gold, predicted)
    similarity = np.zeros((len(gold), len(predicted)))
    for pair, value in phi4(gold, predicted).items():
        similarity[pair] = value
    similarity_sum = float(
        np.array([similarity[pair] for pair in full_assignment(similarity)]).sum()
    )
    return PartialCounts(similarity_sum, len(gold), similarity_sum, len(predicted))


def _to_json(measures: Coreference) -> Scores:
    """Return the numbers as they are printed, and as they are computed."""
    counts: dict[str, PartialCounts] = {
        name: getattr(measures, key) for name, key in _MEASURES.items()
    }
    printed: Scores = {
        name: {key: _percent(ratio) for key, ratio in _ratios(partial_counts).items()}
        for name, partial_counts in counts.items()
    }
    computed: Scores = {
        name: {**asdict(partial_counts), **_ratios(partial_counts)}
        for name, partial_counts in counts.items()
    }
    return {
        "exit_code": 0,
        "printed": printed | {"conll_score": _percent(measures.average)},
        "full_precision": computed | {"conll_average": measures.average},
    }


def _ratios(counts: PartialCounts) -> dict[str, float]:
    """Return the ratios in the program's order."""
    return {"recall": counts.recall, "precision": counts.precision, "f1": counts.f1}


def _percent(ratio: float) -> float:
    """Return a ratio in percent, rounded to two digits."""
    return round_as_printed(100 * ratio)


def _table(scores: Scores) -> str:
    """Format the scores with and without singletons."""
    blocks = []
    for title, results in scores.items():
        rows = {name: results["printed"][name] for name in _MEASURES}
        average = f"CoNLL average: {results['printed']['conll_score']:.2f}"
        blocks.append(f"{title.replace('_', ' ')}\n{table(rows, average)}")
    return "\n\n".join(blocks)


KIND = Scorer("coval-lea", score, _table)
