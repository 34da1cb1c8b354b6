"""Precision, recall and F1 in percent, to the digit that scorers in Perl print.

These multiply by 100 first and take F1 of the percentages. Ratios computed in another order can
differ in the last bit, which may change how a half is rounded.
"""

from spanloom.metrics.counts import PRF, Counts


def percent(part: float, total: float) -> float:
    """Return ``part`` of ``total`` in percent; 0.0 if ``total`` is 0."""
    return 100 * part / total if total else 0.0


def percentages(counts: Counts) -> PRF:
    """Return all three ratios in percent, from 0 to 100; undefined ones are 0.0."""
    precision = percent(counts.hits, counts.predicted)
    recall = percent(counts.hits, counts.gold)
    return PRF(precision, recall, harmonic(precision, recall))


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean; 0.0 if both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def rounded(number: float, digits: int = 2) -> float:
    """Return the number rounded as printing with that many digits does."""
    return float(f"{number:.{digits}f}")


def printed(ratios: PRF) -> dict[str, float]:
    """Return the three ratios by name, to two digits."""
    return {
        "precision": rounded(ratios.precision),
        "recall": rounded(ratios.recall),
        "f1": rounded(ratios.f1),
    }
