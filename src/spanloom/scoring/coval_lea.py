"""LEA beside MUC, B³ and CEAFe, as coval counts them (Moosavi and Strube, 2016).

With clusters of one mention on both sides and without. ``printed`` are percentages of two digits,
``full_precision`` what they are computed from. A mention in several clusters counts in each.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from spanloom.metrics.assignment import full
from spanloom.metrics.coreference import (
    Clusters,
    Coreference,
    Shares,
    b_cubed,
    ceaf_e,
    lea,
    likeness,
    mentions,
    muc,
    without_singletons,
)
from spanloom.metrics.percentages import rounded
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._coreference import pairs, table

CELLS = 1 << 24  # of a table of clusters that is held in memory, 128 MiB


_MEASURES = {
    "mentions": "mentions",
    "muc": "muc",
    "bcub": "b_cubed",
    "ceafe": "ceaf_e",
    "lea": "lea",
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the numbers with and without singletons."""
    read = pairs(gold, predicted).values()
    documents = [(key.closed(), response.closed()) for key, response in read]
    return {
        "with_singletons": _layout(_total(documents)),
        "without_singletons": _layout(
            _total((without_singletons(one), without_singletons(two)) for one, two in documents)
        ),
    }


def _total(documents: Iterable[tuple[Clusters, Clusters]]) -> Coreference:
    """The measures of all documents, added up in their order."""
    return sum((_measures(*sides) for sides in documents), Coreference())


def _measures(gold: Clusters, predicted: Clusters) -> Coreference:
    """The measures of one document."""
    return Coreference(
        mentions(gold, predicted),
        muc(gold, predicted),
        b_cubed(gold, predicted),
        _ceaf_e(gold, predicted),
        lea(gold, predicted),
    )


def _ceaf_e(gold: Clusters, predicted: Clusters) -> Shares:
    """CEAFe, added up over a full assignment by numpy, so that it is rounded as it is there.

    A table too large for memory is not made: the last digits of so long a sum may differ.
    """
    if len(gold) * len(predicted) > CELLS:
        return ceaf_e(gold, predicted)
    alike = np.zeros((len(gold), len(predicted)))
    for pair, each in likeness(gold, predicted).items():
        alike[pair] = each
    found = float(np.array([alike[pair] for pair in full(alike)]).sum())
    return Shares(found, len(gold), found, len(predicted))


def _layout(measures: Coreference) -> Scores:
    """The numbers as they are printed, and as they are computed."""
    shares: dict[str, Shares] = {name: getattr(measures, key) for name, key in _MEASURES.items()}
    printed: Scores = {
        name: {
            "recall": _percent(each.recall),
            "precision": _percent(each.precision),
            "f1": _percent(each.f1),
        }
        for name, each in shares.items()
    }
    computed: Scores = {name: _numbers(each) for name, each in shares.items()}
    return {
        "exit_code": 0,
        "printed": printed | {"conll_score": _percent(measures.average)},
        "full_precision": computed | {"conll_average": measures.average},
    }


def _numbers(shares: Shares) -> dict[str, float]:
    return {
        "recall_num": shares.recall_num,
        "recall_den": shares.recall_den,
        "precision_num": shares.precision_num,
        "precision_den": shares.precision_den,
        "recall": shares.recall,
        "precision": shares.precision,
        "f1": shares.f1,
    }


def _percent(ratio: float) -> float:
    return rounded(100 * ratio)


def _table(scores: Scores) -> str:
    blocks = []
    for title, part in scores.items():
        rows = {name: part["printed"][name] for name in _MEASURES}
        average = f"CoNLL average: {part['printed']['conll_score']:.2f}"
        blocks.append(f"{title.replace('_', ' ')}\n{table(rows, average)}")
    return "\n\n".join(blocks)


KIND = Scorer("coval-lea", score, _table)
