"""Draw the batches of an epoch: a pure function of the data, the seed, the stage and the epoch.

So an interrupted run resumes with the same batches, on any number of processes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from spanloom.config.recipe import StageSpec
from spanloom.data.blocks import BlockReader, Blocks
from spanloom.data.collate import bucket_by_length
from spanloom.data.instance_readers import PromptTokenizer
from spanloom.data.instances import Instance, InstanceLimits
from spanloom.training import samplers
from spanloom.training.prepare import TaskData
from spanloom.training.samplers import Size


@dataclass(frozen=True, slots=True)
class TrainBatch:
    """One batch: instances of one task, or of several with the same reader."""

    tasks: tuple[str, ...]
    instances: Sequence[Instance]

    @property
    def num_words(self) -> int:
        """The number of words of the texts."""
        if isinstance(self.instances, Blocks):
            return int(self.instances.num_words.sum())
        return sum(len(instance.tokens) for instance in self.instances)

    @property
    def num_pieces(self) -> int:
        """The number of pieces, special ones left out."""
        if isinstance(self.instances, Blocks):
            return int(self.instances.num_pieces.sum())
        return sum(instance.num_pieces for instance in self.instances)

    @property
    def num_sentences(self) -> int:
        """The number of sentences that its losses are summed over; at least 1 per instance.

        An instance that is classified or queried as a whole counts as 1, as does a block.
        """
        if isinstance(self.instances, Blocks):
            return len(self.instances)
        return sum(1 if i.wants_cls else max(1, len(i.sentences)) for i in self.instances)


Update = tuple[TrainBatch, ...]  # the batches whose gradients are summed before one step


@dataclass(slots=True)
class _BatchIterator:
    """Iterates batches of tasks with the same instances; reshuffles them after all were used.

    ``data`` is that of any of the tasks.
    """

    names: tuple[str, ...]
    data: TaskData
    stage: StageSpec
    seed: str
    window: int
    tokenize_prompt: PromptTokenizer
    num_passes: int = 0
    queue: list[TrainBatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Draw the first pass."""
        self.queue = self._shuffle()

    def _shuffle(self) -> list[TrainBatch]:
        """Return each document once, in instances of random size, in batches of similar length."""
        suffix = f"/{self.num_passes}" if self.num_passes else ""
        rng = Random(f"{self.seed}/{'+'.join(self.names)}{suffix}")
        self.num_passes += 1
        reader, tokenized = self.data.task.reader, self.data.tokenized
        if self.data.text is not None and isinstance(reader.reader, BlockReader):
            blocks = reader.reader.draw(self.data.text, self.window, rng)
            drawn = blocks.batches(self.stage.batch_words, rng)
            return [TrainBatch(self.names, batch) for batch in drawn]
        limits = InstanceLimits(self.window, self.window * reader.max_windows, rng)
        instances = [
            instance
            for row in self.data.gold
            for instance in reader.instances(row, tokenized[row], limits, self.tokenize_prompt)
        ]
        groups = bucket_by_length(instances, self.stage.batch_words, window=self.window)
        batches = [TrainBatch(self.names, tuple(group)) for group in groups]
        rng.shuffle(batches)
        return batches[::-1]

    def next(self) -> TrainBatch:
        """Return the next batch."""
        if not self.queue:
            self.queue = self._shuffle()
        return self.queue.pop()


def draw_epoch(
    stage: StageSpec,
    data: Mapping[str, TaskData],
    *,
    seed: str,
    epoch: int,
    window: int,
    tokenize_prompt: PromptTokenizer,
) -> list[Update]:
    """Return one epoch of batches.

    Its length is the total batch count of all tasks, or that of the smallest task times the number
    of tasks if the stage says so; the sampler picks each batch's task. Batches
    hold instances of similar length. The sampler knows a group of tasks that share batches by its
    first task.
    """
    epoch_seed = f"{seed}/{epoch}"
    iterators = {
        names[0]: _BatchIterator(names, data[names[0]], stage, epoch_seed, window, tokenize_prompt)
        for names in _groups(stage, data)
    }
    sizes = {
        name: Size(len(batches.queue), sum(batch.num_sentences for batch in batches.queue))
        for name, batches in iterators.items()
    }
    if stage.epoch_size == "smallest-task":
        smallest = min(sizes.values(), key=lambda size: size.batches)
        sizes = {name: Size(smallest.batches, size.examples) for name, size in sizes.items()}
    turns = samplers.load(stage.sampler)(sizes, Random(epoch_seed), stage.temperature)
    return list(_updates(turns, iterators, stage.gradient_accumulation_steps))


def _groups(stage: StageSpec, data: Mapping[str, TaskData]) -> list[tuple[str, ...]]:
    """Group the tasks that share batches: those with equal instances, if the stage says so.

    A task that predicts nothing masks its inputs, so its batches serve no other task.
    """
    groups: dict[Hashable, list[str]] = {}
    for name in stage.tasks:
        task_data = data[name]
        batch_key = task_data.corpus, task_data.task.reader, tuple(task_data.gold)
        shared = stage.share_batches and task_data.task.predicts
        groups.setdefault(batch_key if shared else name, []).append(name)
    return [tuple(names) for names in groups.values()]


def _updates(
    turns: Sequence[Sequence[str]], iterators: Mapping[str, _BatchIterator], accumulate: int
) -> Iterator[Update]:
    for first in range(0, len(turns), accumulate):
        names = [name for turn in turns[first : first + accumulate] for name in turn]
        yield tuple(iterators[name].next() for name in names)


def shard(batch: TrainBatch, rank: int, ranks: int) -> Sequence[Instance]:
    """Return one process's instances of a batch; all shards have similar lengths."""
    return batch.instances[rank::ranks]
