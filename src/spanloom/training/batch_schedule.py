"""Which batch comes when: a pure function of the data, the seed, the stage, the epoch.

So a run that was interrupted goes on with the very batches it would have had, on any number of
processes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from spanloom.config.recipe import StageSpec
from spanloom.data.collate import bucket_by_length
from spanloom.data.instance_readers import PromptTokenizer
from spanloom.data.instances import Instance, InstanceLimits
from spanloom.training import samplers
from spanloom.training.prepare import TaskData
from spanloom.training.samplers import Size


@dataclass(frozen=True, slots=True)
class TrainBatch:
    """One batch: units of one task, or of several that read them alike."""

    tasks: tuple[str, ...]
    instances: tuple[Instance, ...]

    @property
    def sentences(self) -> int:
        """How many sentences its losses are summed over; a unit counts as one at least.

        One with an opening counts as one at most, too: it is judged, or asked, as a whole.
        """
        return sum(1 if unit.wants_cls else max(1, len(unit.sentences)) for unit in self.instances)


Update = tuple[TrainBatch, ...]  # the batches whose gradients are summed before one update


@dataclass(slots=True)
class _BatchIterator:
    """The batches of some tasks, dealt one after another; drawn anew when all were dealt.

    ``data`` is that of any of them: they have the same units.
    """

    names: tuple[str, ...]
    data: TaskData
    stage: StageSpec
    seed: str
    window: int
    cutter: PromptTokenizer
    passes: int = 0
    queue: list[TrainBatch] = field(default_factory=list)

    def shuffled(self) -> list[TrainBatch]:
        """Every document once, cut into windows of random sizes: batches of units of like length.

        Each pass over the data is drawn by itself.
        """
        part = f"/{self.passes}" if self.passes else ""
        chance = Random(f"{self.seed}/{'+'.join(self.names)}{part}")
        self.passes += 1
        reading = self.data.task.reader
        sizes = InstanceLimits(self.window, self.window * reading.max_windows, chance)
        cut = [
            unit
            for row in self.data.gold
            for unit in reading.instances(row, self.data.tokenized[row], sizes, self.cutter)
        ]
        groups = bucket_by_length(cut, self.stage.batch_words, window=self.window)
        draws = [TrainBatch(self.names, tuple(group)) for group in groups]
        chance.shuffle(draws)
        return draws

    def next(self) -> TrainBatch:
        """Return the next batch."""
        if not self.queue:
            self.queue = self.shuffled()[::-1]
        return self.queue.pop()


def draw_epoch(
    stage: StageSpec,
    data: Mapping[str, TaskData],
    *,
    seed: str,
    number: int,
    window: int,
    cutter: PromptTokenizer,
) -> list[Update]:
    """Draw an epoch: as many batches as all tasks have, of the tasks that the sampler names.

    Batches hold units of like length from one task; where tasks learn together, from one group of
    them, for which its first task stands in the sampler.
    """
    decks = {
        names[0]: _BatchIterator(names, data[names[0]], stage, f"{seed}/{number}", window, cutter)
        for names in _groups(stage, data)
    }
    sizes = {}
    for name, deck in decks.items():
        deck.queue = deck.shuffled()[::-1]
        sizes[name] = Size(len(deck.queue), sum(draw.sentences for draw in deck.queue))
    turns = samplers.load(stage.sampler)(sizes, Random(f"{seed}/{number}"), stage.temperature)
    return list(_updates(turns, decks, stage.gradient_accumulation_steps))


def _groups(stage: StageSpec, data: Mapping[str, TaskData]) -> list[tuple[str, ...]]:
    """The tasks of each batch: one, or all that have the same units where they learn together.

    What annotates nothing hides words from the encoder, and so is read by no other task.
    """
    groups: dict[Hashable, list[str]] = {}
    for name in stage.tasks:
        mine = data[name]
        alike = mine.corpus, mine.task.reader, tuple(mine.gold)
        shared = stage.share_batches and mine.task.predicts
        groups.setdefault(alike if shared else name, []).append(name)
    return [tuple(names) for names in groups.values()]


def _updates(
    turns: Sequence[Sequence[str]], decks: Mapping[str, _BatchIterator], accumulate: int
) -> Iterator[Update]:
    for first in range(0, len(turns), accumulate):
        names = [name for turn in turns[first : first + accumulate] for name in turn]
        yield tuple(decks[name].next() for name in names)


def shard(draw: TrainBatch, rank: int, ranks: int) -> Sequence[Instance]:
    """Deal a batch's units to processes, like lengths to each."""
    return draw.instances[rank::ranks]
