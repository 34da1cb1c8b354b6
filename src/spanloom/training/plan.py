"""Which batch comes when: a pure function of the data, the seed, the stage, the epoch.

So a run that was interrupted goes on with the very batches it would have had, on any number of
processes.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanloom.config.recipe import StageSpec
from spanloom.data.batches import by_length
from spanloom.data.units import Unit, units
from spanloom.training.prepare import TaskData


@dataclass(frozen=True, slots=True)
class Draw:
    """One batch: units of one task."""

    task: str
    units: tuple[Unit, ...]

    @property
    def sentences(self) -> int:
        """How many sentences its losses are summed over."""
        return sum(len(unit.sentences) for unit in self.units)


Update = tuple[Draw, ...]  # the batches whose gradients are summed before one update


def epoch(
    stage: StageSpec, data: Mapping[str, TaskData], *, seed: str, number: int, window: int
) -> list[Update]:
    """Draw an epoch: every document of every task once, cut into windows of random sizes.

    Batches hold units of like length from one task; tasks follow each other at random, so each
    comes in proportion to its size.
    """
    draws: list[Draw] = []
    for name in stage.tasks:
        chance = random.Random(f"{seed}/{number}/{name}")
        mine = data[name]
        cut = [unit for row in mine.gold for unit in units(row, mine.cuts[row], window, chance)]
        groups = by_length(cut, stage.batch, window=window)
        draws += [Draw(name, tuple(group)) for group in groups]
    random.Random(f"{seed}/{number}").shuffle(draws)
    size = stage.accumulate
    return [tuple(draws[first : first + size]) for first in range(0, len(draws), size)]


def share(draw: Draw, rank: int, ranks: int) -> Sequence[Unit]:
    """Deal a batch's units to processes, like lengths to each."""
    return draw.units[rank::ranks]
