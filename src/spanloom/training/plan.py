"""Which batch comes when: a pure function of the data, the seed, the stage, the epoch.

So a run that was interrupted goes on with the very batches it would have had, on any number of
processes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from spanloom.config.recipe import StageSpec
from spanloom.data.batches import by_length
from spanloom.data.readings import Cutter
from spanloom.data.units import Sizes, Unit
from spanloom.training.prepare import TaskData
from spanloom.training.samplers import SAMPLERS, Size


@dataclass(frozen=True, slots=True)
class Draw:
    """One batch: units of one task, or of several that read them alike."""

    tasks: tuple[str, ...]
    units: tuple[Unit, ...]

    @property
    def sentences(self) -> int:
        """How many sentences its losses are summed over; a unit counts as one at least.

        One with an opening counts as one at most, too: it is judged, or asked, as a whole.
        """
        return sum(1 if unit.opening else max(1, len(unit.sentences)) for unit in self.units)


Update = tuple[Draw, ...]  # the batches whose gradients are summed before one update


@dataclass(slots=True)
class _Deck:
    """The batches of some tasks, dealt one after another; drawn anew when all were dealt.

    ``data`` is that of any of them: they have the same units.
    """

    names: tuple[str, ...]
    data: TaskData
    stage: StageSpec
    seed: str
    window: int
    cutter: Cutter
    passes: int = 0
    held: list[Draw] = field(default_factory=list)

    def shuffled(self) -> list[Draw]:
        """Every document once, cut into windows of random sizes: batches of units of like length.

        Each pass over the data is drawn by itself.
        """
        part = f"/{self.passes}" if self.passes else ""
        chance = Random(f"{self.seed}/{'+'.join(self.names)}{part}")
        self.passes += 1
        reading = self.data.task.reading
        sizes = Sizes(self.window, self.window * reading.pages, chance)
        cut = [
            unit
            for row in self.data.gold
            for unit in reading.units(row, self.data.cuts[row], sizes, self.cutter)
        ]
        groups = by_length(cut, self.stage.batch, window=self.window)
        draws = [Draw(self.names, tuple(group)) for group in groups]
        chance.shuffle(draws)
        return draws

    def deal(self) -> Draw:
        """Return the next batch."""
        if not self.held:
            self.held = self.shuffled()[::-1]
        return self.held.pop()


def epoch(
    stage: StageSpec,
    data: Mapping[str, TaskData],
    *,
    seed: str,
    number: int,
    window: int,
    cutter: Cutter,
) -> list[Update]:
    """Draw an epoch: as many batches as all tasks have, of the tasks that the sampler names.

    Batches hold units of like length from one task; where tasks learn together, from one group of
    them, for which its first task stands in the sampler.
    """
    decks = {
        names[0]: _Deck(names, data[names[0]], stage, f"{seed}/{number}", window, cutter)
        for names in _groups(stage, data)
    }
    sizes = {}
    for name, deck in decks.items():
        deck.held = deck.shuffled()[::-1]
        sizes[name] = Size(len(deck.held), sum(draw.sentences for draw in deck.held))
    turns = SAMPLERS[stage.sampler](sizes, Random(f"{seed}/{number}"), stage.temperature)
    return list(_updates(turns, decks, stage.accumulate))


def _groups(stage: StageSpec, data: Mapping[str, TaskData]) -> list[tuple[str, ...]]:
    """The tasks of each batch: one, or all that have the same units where they learn together.

    What annotates nothing hides words from the encoder, and so is read by no other task.
    """
    groups: dict[Hashable, list[str]] = {}
    for name in stage.tasks:
        mine = data[name]
        alike = mine.corpus, mine.task.reading, tuple(mine.gold)
        shared = stage.together and mine.task.annotates
        groups.setdefault(alike if shared else name, []).append(name)
    return [tuple(names) for names in groups.values()]


def _updates(
    turns: Sequence[Sequence[str]], decks: Mapping[str, _Deck], accumulate: int
) -> Iterator[Update]:
    for first in range(0, len(turns), accumulate):
        names = [name for turn in turns[first : first + accumulate] for name in turn]
        yield tuple(decks[name].deal() for name in names)


def share(draw: Draw, rank: int, ranks: int) -> Sequence[Unit]:
    """Deal a batch's units to processes, like lengths to each."""
    return draw.units[rank::ranks]
