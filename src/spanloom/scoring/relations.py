"""Relation F1: the bounds of both ends and the label must be right (SpanRel, section 4.1).

With ``--typed`` the labels of both ends too. Events count as relations from their trigger. Files
and other options are those of ``spans``.
"""

from collections.abc import Mapping
from pathlib import Path

from spanloom.metrics.report import Report, Score
from spanloom.scoring import _documents
from spanloom.scoring._base import Scorer, Scores

_TYPED = "--typed"


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return ratios in percent, all relations of a layer together and by label.

    Relations with an end that is no span are not scored, but counted. Raises ``FormatError``.
    """

    def pick(report: Report) -> Score:
        return report.relations_typed if _TYPED in options else report.relations

    return _documents.scored(gold, predicted, options, pick)


KIND = Scorer("relations", score, _documents.table, {**_documents.OPTIONS, _TYPED: False})
