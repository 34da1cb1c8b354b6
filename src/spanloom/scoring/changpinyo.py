"""Span F1 of tagging tasks as in Changpinyo et al. 2018: tags without prefix, one word per span."""

from collections.abc import Mapping
from pathlib import Path

from spanloom.metrics.chunks import count_tag_spans
from spanloom.metrics.counts import format_ratios, percentages, total
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring.conlleval import by_type_rows, phrase_counts, table, tag_pairs


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return counts, micro-averaged ratios in percent, and the ratios of each label.

    Files, ``-d`` and keys are those of conlleval, but there is no accuracy.
    """
    pairs = tag_pairs(gold, predicted, options)
    by_label = count_tag_spans(pairs)
    overall = total(by_label.values())
    num_words = len(pairs) - pairs.count(None)
    return {
        **phrase_counts(num_words, overall),
        **format_ratios(percentages(overall)),
        "per_type": by_type_rows(by_label),
    }


KIND = Scorer(name="changpinyo", score=score, table=table, options={"-d": True})
