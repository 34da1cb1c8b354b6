"""Span F1 as Changpinyo et al. 2018 report it for tagging tasks: no prefix, a span of one word."""

from collections.abc import Mapping
from pathlib import Path

from spanloom.metrics.counts import total
from spanloom.metrics.percentages import percentages, printed
from spanloom.metrics.tag_spans import count_tag_spans
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._columns import tag_pairs
from spanloom.scoring.conlleval import by_type_rows, phrases, table


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return counts, micro-averaged ratios in percent and those of each label.

    Files and ``-d`` are conlleval's, and so are the keys, but there is no accuracy.
    """
    pairs = tag_pairs(gold, predicted, options)
    by_label = count_tag_spans(pairs)
    overall = total(by_label.values())
    words = len(pairs) - pairs.count(None)
    return {
        **phrases(words, overall),
        **printed(percentages(overall)),
        "per_type": by_type_rows(by_label),
    }


KIND = Scorer(name="changpinyo", score=score, table=table, options={"-d": True})
