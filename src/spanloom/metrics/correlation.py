"""Pearson's and Spearman's correlations and their p-values, bit for bit as scipy.

The last bits of a sum depend on the order of its terms, and the p-value of 180 points raises a
derived value to the 89th power. So each step is the same as in scipy 1.17 (``stats.pearsonr``,
``stats.spearmanr``), rounding included; where that is not needed, p-values are right to the last
bit.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_DIGITS = 50
_PI = Decimal("3.1415926535897932384626433832795028841971693993751")
_MIN_LOG = -700.0  # logarithm of the least number with full float precision

# Lanczos' sum of 13 terms, for 53 bits (Pugh 2004), as a ratio of two polynomials, ascending
_G = 6.024680040776729583740234375
_NUMERATOR = (
    56906521.91347156388090791033559122686859,
    103794043.1163445451906271053616070238554,
    86363131.28813859145546927288977868422342,
    43338889.32467613834773723740590533316085,
    14605578.08768506808414169982791359218571,
    3481712.15498064590882071018964774556468,
    601859.6171681098786670226533699352302507,
    75999.29304014542649875303443598909137092,
    6955.999602515376140356310115515198987526,
    449.9445569063168119446857608650988409623,
    19.51992788247617482847860966235652136208,
    0.5098416655656676188125178644804694509993,
    0.006061842346248906525783753964555936883222,
)
# x (x + 1) … (x + 11)
_DENOMINATOR = (
    *(0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0),
    *(2637558.0, 357423.0, 32670.0, 1925.0, 66.0, 1.0),
)


def pearson(x: Numbers, y: Numbers) -> float:
    """Return Pearson's correlation; nan of fewer than two points, or if a side is constant."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    if len(x) == 2:
        return float(np.sign(x[1] - x[0]) * np.sign(y[1] - y[0]))
    return max(-1.0, min(1.0, float(_unit_deviations(x) @ _unit_deviations(y))))


def pearson_p(correlation: float, num_points: int) -> float:
    """Return the two-sided p-value of a correlation of independent normal numbers."""
    if math.isnan(correlation):
        return math.nan
    if num_points == 2:
        return 1.0
    return 2 * _beta_tail((abs(correlation) + 1) / 2, num_points - 2)


def spearman(x: Numbers, y: Numbers) -> float:
    """Return Pearson's correlation of the ranks; ties share the mean of theirs."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    ranks = np.column_stack([_ranks(x), _ranks(y)])
    return float(np.asarray(np.corrcoef(ranks, rowvar=False))[1, 0])


def spearman_p(correlation: float, num_points: int) -> float:
    """Return the two-sided p-value of a rank correlation, by Student's t; nan of two points."""
    degrees = num_points - 2
    if math.isnan(correlation) or not degrees:
        return math.nan
    spread = (correlation + 1.0) * (1.0 - correlation)
    if spread <= 0:
        return 0.0
    t = correlation * math.sqrt(degrees / spread)
    ratio = degrees / (degrees + t * t)
    if degrees > 2 * t * t or degrees / 2 * math.log(ratio) < _MIN_LOG:
        return 2 * _beta_tail((abs(correlation) + 1) / 2, degrees)
    return _beta_series(degrees / 2, ratio)


def _unit_deviations(numbers: Numbers) -> Numbers:
    """Return deviations from the mean scaled to norm 1, safe from underflow of tiny squares."""
    deviations = numbers - numbers.mean()
    max_deviation = np.abs(deviations).max()
    unit: Numbers = deviations / (max_deviation * np.linalg.norm(deviations / max_deviation))
    return unit


def _ranks(values: Numbers) -> Numbers:
    """Return ranks from 1; ties share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    return np.asarray((last_ranks - (counts - 1) / 2)[inverse], dtype=np.float64)


def _beta_tail(share: float, degrees: int) -> float:
    """Return the mass above ``share`` of a beta distribution with both shapes degrees / 2.

    ``share`` is between 0.5 and 1. This is the series of DLMF 8.17.8, all of whose terms are
    positive, with 50 digits.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        shape, complement = Decimal(degrees) / 2, 1 - Decimal(share)
        term = _beta_scale(degrees) * (complement * (1 - complement)) ** shape
        total, index = term, Decimal(0)
        while term > total.scaleb(-_DIGITS):
            term *= complement * (degrees + index) / (shape + 1 + index)
            total += term
            index += 1
        return float(total)


def _beta_scale(degrees: int) -> Decimal:
    """Return 1 / (a B(a, a)) for a = degrees / 2."""
    half, is_odd = divmod(degrees, 2)
    ratio = Decimal(1)  # binomial(2 half, half) / 4^half
    for even in range(2, 2 * half + 1, 2):
        ratio *= Decimal(even - 1) / even
    power = Decimal(4) ** half
    return power / ((half + Decimal("0.5")) * _PI * ratio) if is_odd else power * ratio / 2


def _beta_series(shape: float, share: float) -> float:
    """Return the regularised incomplete beta function with shapes ``shape`` and 1/2 at ``share``.

    It is the series of DLMF 8.17.7 times a factor of Lanczos sums (Boost.Math, "Incomplete Beta
    Functions"), which scipy uses for Student's t far from 0.
    """
    shape_base, sum_base = shape + _G - 0.5, shape + 0.5 + _G - 0.5
    term = _lanczos(shape + 0.5) / (_lanczos(shape) * _lanczos(0.5))
    term *= math.pow(share * sum_base / shape_base, shape)  # the power for 1/2 is 1
    term *= math.sqrt(shape_base / math.e)
    total, index, rising = 0.0, 0, 0.5
    while True:
        step = term / (shape + index)
        total += step
        if step <= total * 2.0**-52:
            return total
        index += 1
        term *= rising * share / index
        rising += 1


def _lanczos(number: float) -> float:
    """Return Lanczos' sum, a ratio of two polynomials."""
    return _polynomial(_NUMERATOR, number) / _polynomial(_DENOMINATOR, number)


def _polynomial(coefficients: Sequence[float], number: float) -> float:
    """Evaluate a polynomial by Horner's rule, even and odd powers separately as in Boost."""
    square = number * number
    even, odd = coefficients[-1] * square + coefficients[-3], coefficients[-2]
    for coefficient in coefficients[-5::-2]:
        even = even * square + coefficient
    for coefficient in coefficients[-4::-2]:
        odd = odd * square + coefficient
    return even + odd * number
