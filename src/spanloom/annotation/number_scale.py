"""A scale of numbers in even steps, as choices for a number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ROUND_STEPS = 20  # steps of a scale at most, where its step is to be a round number
_MAX_KEPT_STEPS = 63  # of another range in the same step: as many choices as labels
_MAX_STEPS = 200  # more would leave no space for the text
_TOLERANCE = 1e-9  # of a step: rounding errors
_DIGITS = 4  # behind the point, of a number between those of a scale; finer scales have more


@dataclass(frozen=True, slots=True)
class NumberScale:
    """The numbers ``low``, ``low + step``, … up to ``high``."""

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for an invalid range, or too many numbers."""
        if not 0 <= self.high - self.low <= _MAX_STEPS * self.step < math.inf or not self.step:
            raise ValueError(
                f"expected to go from low to high in at most {_MAX_STEPS} steps, "
                f"got {self.low} to {self.high} in steps of {self.step}"
            )

    @classmethod
    def covering(
        cls, values: Sequence[float], low: float | None, high: float | None, step: float | None
    ) -> "NumberScale":
        """Return a scale that holds all values.

        Without ``step`` it is a round number with 20 steps or fewer; without ``low`` or ``high``
        the scale ends at a multiple of the step. Raises ``ValueError`` if there is no such scale.
        """
        minimum = min(values, default=0.0) if low is None else low
        maximum = max(values, default=minimum) if high is None else high
        if maximum < minimum:
            raise ValueError(f"expected low below high, got {minimum} and {maximum}")
        step = step or _round_step(maximum - minimum) or abs(minimum) or 1.0
        if low is None:
            minimum = step * math.floor(minimum / step + _TOLERANCE)
        if high is None:
            maximum = step * math.ceil(maximum / step - _TOLERANCE)
        return cls(minimum, maximum, step)

    @classmethod
    def between(cls, low: float, high: float) -> "NumberScale":
        """Return a scale that has both bounds, in 20 even steps or fewer.

        The step is a round number if one divides the range. Raises ``ValueError`` for an invalid
        range.
        """
        if not low < high:
            raise ValueError(f"expected low below high, got {low} and {high}")
        return cls(low, high, _even_step(high - low))

    def rescaled(self, low: float, high: float) -> "NumberScale":
        """Return a scale that has both bounds, in steps of this one if they divide the range.

        Raises ``ValueError`` as ``between`` does.
        """
        if (low, high) == (self.low, self.high):
            return self
        scale = NumberScale.between(low, high)
        max_steps = max(_MAX_KEPT_STEPS, len(self) - 1)
        if _divides(self.step, high - low) and high - low <= max_steps * self.step:
            return NumberScale(low, high, self.step)
        return scale

    def __len__(self) -> int:
        """Return the number of numbers."""
        return 1 + math.floor((self.high - self.low) / self.step + _TOLERANCE)

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers, from ``low`` on."""
        return tuple(map(self.value, range(len(self))))

    def value(self, index: int) -> float:
        """Return the number at an index, rounded to 12 digits."""
        return float(f"{self.low + index * self.step:.12g}")

    @property
    def digits(self) -> int:
        """How many digits behind the point tell numbers between two of the scale apart."""
        return max(_DIGITS, 2 - math.floor(math.log10(self.step)))

    def nearest(self, value: float) -> int:
        """Return the index of the nearest number, of two equally near ones the even index."""
        return min(len(self) - 1, max(0, round((value - self.low) / self.step)))


def _round_step(width: float) -> float:
    """Return the least of 1, 2, 2.5 and 5 times a power of ten that needs few steps; 0 for 0."""
    minimum = width / _ROUND_STEPS
    if not 0 < minimum < math.inf:
        return 0.0
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(n * power for n in (1, 2, 2.5, 5, 10) if n * power >= minimum * (1 - _TOLERANCE))


def _even_step(width: float) -> float:
    """Return a step that divides a width: the round one, else one of 10 to 20 with few digits."""
    step = _round_step(width)
    if _divides(step, width):
        return step
    counts = range(_ROUND_STEPS, _ROUND_STEPS // 2 - 1, -1)
    return min((width / count for count in counts), key=lambda step: len(f"{step:.12g}"))


def _divides(step: float, width: float) -> bool:
    """Return whether a width is a multiple of a step, 0 excepted."""
    if not 0 < step <= width * (1 + _TOLERANCE):
        return False
    count = width / step
    return abs(count - round(count)) <= _TOLERANCE * max(1.0, count)
