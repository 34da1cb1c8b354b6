"""Relation F1: bounds of both ends and label must be right (SpanRel, section 4.1).

With ``--typed`` also the labels of both ends. Events count as relations from their trigger. Files
and other options are those of ``spans``.
"""

from collections.abc import Mapping
from pathlib import Path

from spanloom.metrics.report import Report, Score
from spanloom.scoring import _documents
from spanloom.scoring._base import Scorer, Scores

_TYPED = "--typed"


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return ratios in percent, for all relations of a layer and by label.

    Relations with an end that is no span are counted, but not scored. Raises ``FormatError``.
    """

    def pick(report: Report) -> Score:
        return report.relations_typed if _TYPED in options else report.relations

    return _documents.score_layers(gold, predicted, options, pick)


KIND = Scorer("relations", score, _documents.table, {**_documents.OPTIONS, _TYPED: False})
