"""Span F1: all bounds and the label must be right (SpanRel, Jiang et al. 2020, section 4.1).

Accepts files or brat folders of any readable format. ``--layer`` names a layer; by default all
common layers are scored. ``--against`` names a second prediction to compare with the first.
"""

from collections.abc import Mapping
from pathlib import Path

from spanloom.scoring import _documents
from spanloom.scoring._base import Scorer, Scores


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return ratios in percent, for all spans of a layer and by label.

    ``interval`` is the 95 % interval of F1 (bootstrap over documents). Raises ``FormatError``.
    """
    return _documents.score_layers(gold, predicted, options, lambda report: report.spans)


KIND = Scorer("spans", score, _documents.table, _documents.OPTIONS)
