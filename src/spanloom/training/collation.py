"""Collate the batches of updates: here, or in worker processes before they are used.

What is collated follows from an update and its seeds alone, so both ways train the same weights.
"""

import gc
import hashlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import torch
from jaxtyping import UInt8
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from spanloom.data.collate import collate
from spanloom.errors import SpanloomError, WorkerError
from spanloom.model.model import Model
from spanloom.tensors import Batch, Targets
from spanloom.training.batch_schedule import Shard, Update, deal
from spanloom.training.distributed import ProcessGroup
from spanloom.training.prepare import PreparedData

SeedOf = Callable[..., int]  # of the row of a batch in its update, and of a part of it if any
ShardTensors = tuple[Batch, dict[str, Targets]]
Packed = UInt8[Tensor, " byte"]
_MAX_WORKERS = 4  # one collates about a million pieces a second
_WORTH_WORKERS = 64  # updates: fewer end before workers that begin with them have paid off
_SWITCH_SECONDS = 5e-4  # a tenth of Python's own, which a message may wait for


@dataclass(frozen=True, slots=True)
class CollatedBatch:
    """One process's shard of a batch, and what each task learns from it."""

    shard: Shard
    batch: Batch
    targets: Mapping[str, Targets]


@dataclass(frozen=True, slots=True)
class Collation:
    """Collates the shards of one of the processes of a run."""

    model: Model
    prepared: PreparedData
    processes: ProcessGroup

    def collate(self, update: Update, seed_of: SeedOf) -> list[CollatedBatch]:
        """Return this process's shards of an update."""
        return self._join(update, self.tensors(update, seed_of))

    def prefetch(
        self, updates: Sequence[Update], seeds: Sequence[SeedOf], num_workers: int
    ) -> Generator[list[CollatedBatch]]:
        """Yield this process's shards of each update; workers, if any, collate the next ones.

        Raises the ``SpanloomError`` that a worker raised, and ``WorkerError`` if one has died.
        """
        if not num_workers:
            yield from map(self.collate, updates, seeds)
            return
        loader = DataLoader(
            _Updates(self, updates, seeds),
            batch_size=None,
            num_workers=num_workers,
            prefetch_factor=1,  # what waits lies in /dev/shm, which may be small
            worker_init_fn=_start_worker,
            multiprocessing_context="fork",  # what was read is shared, not copied
            generator=torch.Generator(),  # else it draws from the global one
        )
        batches = _start(loader)
        for update in updates:
            yield self._join(update, _unpack(_next(batches)))

    def tensors(self, update: Update, seed_of: SeedOf) -> list[ShardTensors]:
        """Return what the network reads and learns of this process's shards of an update."""
        return [self._shard_tensors(shard, seed_of(shard.row)) for shard in self._shards(update)]

    def _shards(self, update: Update) -> Iterator[Shard]:
        return deal(update, self.processes.rank, self.processes.world_size)

    def _join(self, update: Update, tensors: Sequence[ShardTensors]) -> list[CollatedBatch]:
        return [
            CollatedBatch(shard, batch, targets)
            for shard, (batch, targets) in zip(self._shards(update), tensors, strict=True)
        ]

    def _shard_tensors(self, shard: Shard, seed: int) -> ShardTensors:
        model, subwords = self.model, self.model.subword_tokenizer
        instances = list(shard.batch.instances)  # blocks of text are made anew at each look
        batch = collate(instances, subwords, model.recipe.window)
        targets: dict[str, Targets] = {}
        for name in shard.batch.tasks:
            task, gold = model.tasks[name], self.prepared.data[name].gold
            # masked before word dropout: what must be predicted is the text itself
            batch, masked = task.mask_inputs(batch, instances, subwords, seed)
            targets[name] = masked or task.collate_targets(instances, gold)
        return batch, targets


def count_workers(processes: ProcessGroup, num_updates: int) -> int:
    """Return how many workers collate: some beside a GPU, which waits else, or none.

    They get the threads that this process may compute with, but for one: the workers of a study
    have one, and so has a process of ``torchrun`` without ``OMP_NUM_THREADS``. On a CPU they would
    take the cores that train.
    """
    can_fork = (
        "fork" in multiprocessing.get_all_start_methods()
        and not multiprocessing.current_process().daemon
    )
    if processes.device.type != "cuda" or num_updates < _WORTH_WORKERS or not can_fork:
        return 0
    return min(_MAX_WORKERS, torch.get_num_threads() - 1)


def random_seed(*key: int) -> int:
    """Return a seed that follows from some numbers."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:7], "big")


@dataclass(frozen=True, slots=True)
class _Updates(Dataset[Packed]):
    """Some updates, each collated and packed when it is read.

    Shards themselves stay in the process that trains: they are views of the whole text.
    """

    collation: Collation
    updates: Sequence[Update]
    seeds: Sequence[SeedOf]

    def __len__(self) -> int:
        """Return the number of updates."""
        return len(self.updates)

    def __getitem__(self, index: int) -> Packed:
        """Return the tensors of an update, or the error of collating it."""
        try:
            return _pack(self.collation.tensors(self.updates[index], self.seeds[index]))
        except SpanloomError as error:  # torch would raise another one, with a traceback as text
            return _pack(error)


class _ArrayPickler(pickle.Pickler):
    """Pickles tensors by their values, which torch else shares one by one."""

    def reducer_override(self, value: object) -> Any:
        """Return how a tensor is made again; leave all else to pickle."""
        if isinstance(value, Tensor):
            return torch.from_numpy, (value.numpy(),)
        return NotImplemented


def _pack(tensors: Sequence[ShardTensors] | SpanloomError) -> Packed:
    """Return everything as one tensor: each that is shared costs both processes a message."""
    buffer = BytesIO()
    _ArrayPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(tensors)
    return torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8)


def _unpack(packed: Packed) -> list[ShardTensors]:
    """Return what a worker of this process packed; raise its error if it packed one."""
    tensors: list[ShardTensors] | SpanloomError = pickle.loads(packed.numpy().data)
    if isinstance(tensors, SpanloomError):
        raise tensors
    return tensors


def _start(loader: DataLoader[Packed]) -> Iterator[Packed]:
    """Start the workers.

    torch raises an error as soon as one dies, in the midst of whatever this process does. That is
    undone: who waits for the next batch learns of it.
    """
    before = signal.getsignal(signal.SIGCHLD)
    batches = iter(loader)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and before is not None:  # in others torch does nothing; C's own stays
        signal.signal(signal.SIGCHLD, before)
    return batches


def _start_worker(worker: int) -> None:
    """Make this process a worker: signals to the group of its parent are for the parent alone.

    Its messages wait for a moment at most, and what it was born with is not searched for garbage,
    which would copy it.
    """
    os.setpgid(0, 0)
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()


def _next(batches: Iterator[Packed]) -> Packed:
    try:
        return next(batches)
    except RuntimeError as error:
        if not str(error).startswith("DataLoader worker"):
            raise
        problem = "a process that makes batches has ended; was memory, or /dev/shm, full?"
        raise WorkerError(f"{problem} ({error})") from error
