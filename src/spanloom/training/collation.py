"""Collate the batches of updates: here, or in processes of their own ahead of their use.

What is collated follows from an update and its seeds alone, so both ways train the same weights.
"""

import hashlib
import multiprocessing
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import torch
from jaxtyping import UInt8
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from spanloom.data.collate import collate
from spanloom.model.model import Model
from spanloom.tensors import Batch, Targets
from spanloom.training.batch_schedule import Shard, Update, deal
from spanloom.training.distributed import ProcessGroup
from spanloom.training.prepare import PreparedData

SeedOf = Callable[..., int]  # of the row of a batch in its update, and of a part of it if any
Collated = tuple[Batch, dict[str, Targets]]  # a shard, and what each task learns from it
Packed = UInt8[Tensor, " byte"]
_MAX_WORKERS = 4  # one collates about a million pieces a second
_SWITCH_SECONDS = 5e-4  # a tenth of Python's own, which a message may wait for
_WORTH_WORKERS = 64  # updates: fewer end before processes that begin with them have paid off


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
        return self._join(update, self.collated(update, seed_of))

    def ahead(
        self, updates: Sequence[Update], seeds: Sequence[SeedOf], num_workers: int
    ) -> Iterator[list[CollatedBatch]]:
        """Yield this process's shards of each update, collated ahead by so many processes, if any.

        An error in one of them is raised here.
        """
        if not num_workers:
            yield from map(self.collate, updates, seeds)
            return
        loader = DataLoader(
            _CollatedUpdates(self, updates, seeds),
            batch_size=None,
            num_workers=num_workers,
            worker_init_fn=_start_worker,
            multiprocessing_context="fork",  # what was read is shared, not copied
            generator=torch.Generator(),  # else it draws from the global one
        )
        for update, packed in zip(updates, loader, strict=True):
            yield self._join(update, _unpack(packed))

    def collated(self, update: Update, seed_of: SeedOf) -> list[Collated]:
        """Return what the network reads and learns of this process's shards, without these."""
        return [self._collate(shard, seed_of(shard.row)) for shard in self._shards(update)]

    def _shards(self, update: Update) -> Iterator[Shard]:
        return deal(update, self.processes.rank, self.processes.world_size)

    def _join(self, update: Update, collated: Sequence[Collated]) -> list[CollatedBatch]:
        return [
            CollatedBatch(shard, batch, targets)
            for shard, (batch, targets) in zip(self._shards(update), collated, strict=True)
        ]

    def _collate(self, shard: Shard, seed: int) -> Collated:
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


def num_workers(processes: ProcessGroup, num_updates: int) -> int:
    """Return how many processes collate ahead: some beside a GPU, which waits else, or none.

    They get the threads that this process may compute with, but for one: the workers of a study
    have one, and so has a process of ``torchrun`` without ``OMP_NUM_THREADS``. On a CPU they would
    take the cores that train.
    """
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    if processes.device.type != "cuda" or num_updates < _WORTH_WORKERS or not can_fork:
        return 0
    return min(_MAX_WORKERS, torch.get_num_threads() - 1)


def random_seed(*key: int) -> int:
    """Return a seed that follows from some numbers."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:7], "big")


@dataclass(frozen=True, slots=True)
class _CollatedUpdates(Dataset[Packed]):
    """The shards of some updates, each update collated and packed when it is read.

    Shards themselves stay in the process that trains: they are views of the whole text.
    """

    collation: Collation
    updates: Sequence[Update]
    seeds: Sequence[SeedOf]

    def __len__(self) -> int:
        """Return the number of updates."""
        return len(self.updates)

    def __getitem__(self, index: int) -> Packed:
        """Return what is collated of an update."""
        return _pack(self.collation.collated(self.updates[index], self.seeds[index]))


class _ArrayPickler(pickle.Pickler):
    """Pickles tensors by their values, which torch else shares one by one."""

    def reducer_override(self, value: object) -> Any:
        """Return how a tensor is made again; leave all else to pickle."""
        if isinstance(value, Tensor):
            return torch.from_numpy, (value.numpy(),)
        return NotImplemented


def _pack(collated: Sequence[Collated]) -> Packed:
    """Return everything as one tensor: each that is shared costs both processes a message."""
    buffer = BytesIO()
    _ArrayPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(collated)
    return torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8)


def _unpack(packed: Packed) -> list[Collated]:
    """Return what ``_pack`` of this run's own processes packed."""
    collated: list[Collated] = pickle.loads(packed.numpy().data)
    return collated


def _start_worker(worker: int) -> None:
    """Leave signals to the process that trains, and let its messages wait for a moment at most."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.setswitchinterval(_SWITCH_SECONDS)
