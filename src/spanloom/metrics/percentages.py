"""Precision, recall and F1 in percent, to the digit that scorers in Perl print.

They multiply by 100 first and take F1 of the percentages. Ratios that are computed in another order
can differ in the last bit, and then where a half is rounded.
"""

from spanloom.metrics.counts import PRF, Counts


def percent(part: float, whole: float) -> float:
    """Return part of whole in percent; 0.0 of nothing."""
    return 100 * part / whole if whole else 0.0


def percentages(counts: Counts) -> PRF:
    """Return all three in percent, each from 0 to 100; undefined ones are 0.0."""
    precision = percent(counts.hits, counts.predicted)
    recall = percent(counts.hits, counts.gold)
    return PRF(precision, recall, harmonic(precision, recall))


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean; 0.0 where both are."""
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0


def rounded(number: float, digits: int = 2) -> float:
    """Return the number as it reads when so many digits are printed."""
    return float(f"{number:.{digits}f}")


def printed(each: PRF) -> dict[str, float]:
    """Return the three by name, to two digits."""
    return {
        "precision": rounded(each.precision),
        "recall": rounded(each.recall),
        "f1": rounded(each.f1),
    }
