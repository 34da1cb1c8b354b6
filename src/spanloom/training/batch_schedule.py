"""Draw the batches of an epoch: a pure function of the data, the seed, the stage and the epoch.

So an interrupted run resumes with the same batches, on any number of processes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from spanloom.config.specs import StageSpec
from spanloom.data.blocks import BlockReader, Blocks
from spanloom.data.collate import bucket_by_length
from spanloom.data.instance_readers import PromptTokenizer, QuestionReader, TextReader
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

    ``data`` is that of any of the tasks. With ``num_sentences`` a batch has so many sentences, each
    an instance; else it has the words that the stage says.
    """

    names: tuple[str, ...]
    data: TaskData
    stage: StageSpec
    seed: str
    window: int
    tokenize_prompt: PromptTokenizer
    num_sentences: int | None = None
    num_passes: int = 0
    queue: list[TrainBatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Draw the first pass."""
        self.queue = self._shuffle()

    def _shuffle(self) -> list[TrainBatch]:
        """Return each document once, in batches; the last one comes first."""
        suffix = f"/{self.num_passes}" if self.num_passes else ""
        self.num_passes += 1
        reader = self.data.task.reader.reader
        if self.data.text is not None and isinstance(reader, BlockReader):
            # ways to mask one text see the same blocks in the same order
            rng = Random(f"{self.seed}/{self.data.corpus}{suffix}")
            blocks = reader.draw(self.data.text, self.window, rng)
            drawn = blocks.batches(self.stage.batch_words, rng)
            return [TrainBatch(self.names, batch) for batch in drawn]
        rng = Random(f"{self.seed}/{'+'.join(self.names)}{suffix}")
        groups = self._by_words(rng) if self.num_sentences is None else self._by_sentences(rng)
        return [TrainBatch(self.names, tuple(group)) for group in groups][::-1]

    def _by_words(self, rng: Random) -> list[list[Instance]]:
        """Group instances of random size and similar length, groups in random order."""
        max_windows = self.data.task.reader.max_windows
        limits = InstanceLimits(self.window, self.window * max_windows, rng)
        instances = self._instances(limits)
        groups = list(bucket_by_length(instances, self.stage.batch_words, window=self.window))
        rng.shuffle(groups)
        return groups

    def _by_sentences(self, rng: Random) -> list[list[Instance]]:
        """Group random sentences, so many at a time; the last group may have fewer.

        A text that is judged or asked about as a whole counts as one, read in windows as in use.
        """
        assert self.num_sentences is not None
        is_whole = isinstance(self.data.task.reader.reader, TextReader | QuestionReader)
        sentences = self._instances(
            InstanceLimits(self.window, self.window, isolate_sentences=not is_whole)
        )
        rng.shuffle(sentences)
        starts = range(0, len(sentences), self.num_sentences)
        return [sentences[start : start + self.num_sentences] for start in starts]

    def _instances(self, limits: InstanceLimits) -> list[Instance]:
        reader, tokenized = self.data.task.reader, self.data.tokenized
        return [
            instance
            for row in self.data.gold
            for instance in reader.instances(row, tokenized[row], limits, self.tokenize_prompt)
        ]

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
    hold instances of similar length, or with ``batch_sentences`` random sentences: each task's
    share of that number, where shares differ by 1 at most. The sampler knows a group of tasks that
    share batches by its first task.
    """
    epoch_seed = f"{seed}/{epoch}"
    groups = _groups(stage, data)
    iterators = {
        names[0]: _BatchIterator(
            names, data[names[0]], stage, epoch_seed, window, tokenize_prompt, num_sentences
        )
        for names, num_sentences in zip(groups, _shares(stage, len(groups)), strict=True)
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


def num_groups(stage: StageSpec, data: Mapping[str, TaskData]) -> int:
    """Return the number of a stage's tasks, where those that share batches count once."""
    return len(_groups(stage, data))


def _shares(stage: StageSpec, num_groups: int) -> list[int | None]:
    """Return the number of sentences in a batch of each group, None where words decide."""
    total = stage.batch_sentences
    if total is None:
        return [None] * num_groups
    return [max(1, (total + num_groups - 1 - row) // num_groups) for row in range(num_groups)]


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


@dataclass(frozen=True, slots=True)
class Shard:
    """One process's part of a batch: the row of the batch in its update, and the part's number."""

    row: int
    part: int
    batch: TrainBatch


def deal(update: Update, rank: int, world_size: int) -> Iterator[Shard]:
    """Yield one process's shards of an update.

    Whole batches are dealt in turn, so a process works on batches as large as one process alone
    would; those that are left over are divided, each into shards of similar lengths. Small batches
    leave some processes nothing.
    """
    whole = len(update) - len(update) % world_size
    for row in range(rank, whole, world_size):
        yield Shard(row, 0, update[row])
    for row in range(whole, len(update)):
        instances = update[row].instances[rank::world_size]
        if instances:
            yield Shard(row, rank, TrainBatch(update[row].tasks, instances))
