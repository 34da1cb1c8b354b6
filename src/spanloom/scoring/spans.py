"""Span F1: all bounds and the label must be right (SpanRel, Jiang et al. 2020, section 4.1).

Of any two files or brat folders of documents. ``--layer`` names a layer, else all that both have
are scored; ``--against`` a second prediction, to which the first is compared.
"""

from collections.abc import Mapping
from pathlib import Path

from spanloom.scoring import _documents
from spanloom.scoring._base import Scorer, Scores


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return ratios in percent, all spans of a layer together and by label.

    ``interval`` holds F1 with 95 % probability (bootstrap of documents). Raises ``FormatError``.
    """
    return _documents.scored(gold, predicted, options, lambda report: report.spans)


KIND = Scorer("spans", score, _documents.table, _documents.OPTIONS)
