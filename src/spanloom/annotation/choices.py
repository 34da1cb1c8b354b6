"""What a user asks for with a text: one of some labels, or a number of a range."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from spanloom.annotation.number_scale import NumberScale
from spanloom.annotation.queries import is_blank

MAX_LABELS = 64  # more would leave little room for the text


@dataclass(frozen=True, slots=True)
class Choices:
    """Labels, or the bounds of a range of numbers, in place of those that a model learnt."""

    labels: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for less than two labels, blank or equal ones, or an odd range."""
        if (self.bounds is None) == (not self.labels):
            raise ValueError("expected labels or a range")
        if self.bounds is not None:
            low, high = self.bounds
            if not -math.inf < low < high < math.inf:
                raise ValueError(f"expected a range from low to high, got {low:g} and {high:g}")
            NumberScale.between(low, high)
        elif not 2 <= len(self.labels) <= MAX_LABELS:
            raise ValueError(f"expected 2 to {MAX_LABELS} labels, got {len(self.labels)}")
        elif odd := [label for label in self.labels if not isinstance(label, str)]:
            raise ValueError(f"expected labels that are texts, got {odd[0]!r:.60}")
        elif any(map(is_blank, self.labels)):
            raise ValueError("expected labels with letters, got a blank one")
        elif len({label.casefold() for label in self.labels}) < len(self.labels):
            raise ValueError(f"expected different labels, got {', '.join(self.labels):.200}")


def first_suited(names: Sequence[str], pair_names: Collection[str], *, is_pair: bool) -> str:
    """Return the first of some tasks that was trained on what is given, else the first of all.

    ``pair_names`` are the tasks that were trained on pairs of texts.
    """
    return next((name for name in names if (name in pair_names) == is_pair), names[0])
