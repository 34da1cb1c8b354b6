"""Pearson's and Spearman's correlations and how likely chance gives as much, bit for bit as scipy.

The last bits of a sum follow from the order of its terms, and the p-value of 180 points raises what
follows from it to the 89th power. So each step is taken as scipy 1.17 takes it (``stats.pearsonr``,
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
_LEAST = -700.0  # logarithm of what floats still hold to all digits

# Lanczos' sum of 13 terms, fit for 53 bits (Pugh 2004), as ratio of two polynomials, ascending
_G = 6.024680040776729583740234375
_ABOVE = (
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
_BELOW = (
    *(0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0),
    *(2637558.0, 357423.0, 32670.0, 1925.0, 66.0, 1.0),
)


def pearson(one: Numbers, two: Numbers) -> float:
    """Return Pearson's correlation; nan of fewer than two points, or where a side is constant."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return math.nan
    if len(one) == 2:
        return float(np.sign(one[1] - one[0]) * np.sign(two[1] - two[0]))
    return max(-1.0, min(1.0, float(_unit(one) @ _unit(two))))


def pearson_p(correlation: float, points: int) -> float:
    """Return how likely independent normal numbers correlate as much, either way."""
    if math.isnan(correlation):
        return math.nan
    if points == 2:
        return 1.0
    return 2 * _beta_tail((abs(correlation) + 1) / 2, points - 2)


def spearman(one: Numbers, two: Numbers) -> float:
    """Return Pearson's correlation of the ranks; equal numbers share the mean of theirs."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return math.nan
    ranks = np.column_stack([_ranks(one), _ranks(two)])
    return float(np.asarray(np.corrcoef(ranks, rowvar=False))[1, 0])


def spearman_p(correlation: float, points: int) -> float:
    """Return how likely independent ranks correlate as much, by Student's t; nan of two points."""
    degrees = points - 2
    if math.isnan(correlation) or not degrees:
        return math.nan
    spread = (correlation + 1.0) * (1.0 - correlation)
    if spread <= 0:
        return 0.0
    t = correlation * math.sqrt(degrees / spread)
    share = degrees / (degrees + t * t)
    if degrees > 2 * t * t or degrees / 2 * math.log(share) < _LEAST:
        return 2 * _beta_tail((abs(correlation) + 1) / 2, degrees)
    return _beta_series(degrees / 2, share)


def _unit(numbers: Numbers) -> Numbers:
    """Return the numbers less their mean, of length 1; squares of tiny ones would be 0."""
    deviations = numbers - numbers.mean()
    greatest = np.abs(deviations).max()
    unit: Numbers = deviations / (greatest * np.linalg.norm(deviations / greatest))
    return unit


def _ranks(values: Numbers) -> Numbers:
    """Ranks from 1; equal values share the mean of theirs."""
    _, row, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[row], dtype=np.float64)


def _beta_tail(share: float, degrees: int) -> float:
    """Return what a beta distribution of two shapes degrees / 2 has above a share of 0.5 to 1.

    This is the series of DLMF 8.17.8, all of whose terms are positive, with 50 digits.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        shape, below = Decimal(degrees) / 2, 1 - Decimal(share)
        term = _beta_scale(degrees) * (below * (1 - below)) ** shape
        whole, place = term, Decimal(0)
        while term > whole.scaleb(-_DIGITS):
            term *= below * (degrees + place) / (shape + 1 + place)
            whole += term
            place += 1
        return float(whole)


def _beta_scale(degrees: int) -> Decimal:
    """Return 1 / (a B(a, a)) for a = degrees / 2."""
    half, odd = divmod(degrees, 2)
    middle = Decimal(1)  # what the binomial coefficient of 2 half over half is of 4^half
    for even in range(2, 2 * half + 1, 2):
        middle *= Decimal(even - 1) / even
    power = Decimal(4) ** half
    return power / ((half + Decimal("0.5")) * _PI * middle) if odd else power * middle / 2


def _beta_series(shape: float, share: float) -> float:
    """Return the regularised incomplete beta function of shapes ``shape`` and 1/2 at a share.

    The series of DLMF 8.17.7 behind a factor of Lanczos sums (Boost.Math, "Incomplete Beta
    Functions"), which scipy takes for Student's t far from 0.
    """
    one, both = shape + _G - 0.5, shape + 0.5 + _G - 0.5
    term = _lanczos(shape + 0.5) / (_lanczos(shape) * _lanczos(0.5))
    term *= math.pow(share * both / one, shape)  # the power for 1/2 is 1
    term *= math.sqrt(one / math.e)
    whole, place, rising = 0.0, 0, 0.5
    while True:
        step = term / (shape + place)
        whole += step
        if step <= whole * 2.0**-52:
            return whole
        place += 1
        term *= rising * share / place
        rising += 1


def _lanczos(number: float) -> float:
    return _even_and_odd(_ABOVE, number) / _even_and_odd(_BELOW, number)


def _even_and_odd(powers: Sequence[float], number: float) -> float:
    """Return a polynomial by Horner's rule, even powers apart from odd ones, as pairs are added."""
    square = number * number
    even, odd = powers[-1] * square + powers[-3], powers[-2]
    for power in powers[-5::-2]:
        even = even * square + power
    for power in powers[-4::-2]:
        odd = odd * square + power
    return even + odd * number
