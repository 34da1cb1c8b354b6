"""Compare the scores of two conditions over seeds and documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True, slots=True)
class MeanScore:
    """Mean and standard deviation (of the sample; 0 for one) of ``count`` scores."""

    mean: float
    deviation: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanScore":
        """Return mean and deviation of one score or more."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))


def is_higher(a: MeanScore, b: MeanScore, k: float) -> bool:
    """Whether mean minus ``k`` deviations of a is above mean plus ``k`` deviations of b.

    Changpinyo et al. (2018), section 3.2, with k = 1.5. One score beside several is taken to
    deviate as they do; two single ones have no deviation.
    """
    first = a.deviation if a.count > 1 else b.deviation
    second = b.deviation if b.count > 1 else a.deviation
    return a.mean - k * first > b.mean + k * second


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in the same order (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected
