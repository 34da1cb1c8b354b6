"""Estimate how long training will take and how much memory it needs, from a few updates."""

import resource
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from spanloom.model.model import Model
from spanloom.training.batch_schedule import Update
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS, Run, StageTrainer
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.prepare import PreparedData
from spanloom.training.progress_line import LogIntervals
from spanloom.training.stage_length import num_updates
from spanloom.training.warm_start import of_stage

_NUM_UPDATES = 4  # that are timed, of all kinds together
_NUM_KINDS = 24  # of updates, by their tasks: at least one of each is timed
_NEVER = 10**9


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that the updates of each stage take, dev apart, and the most bytes in use so far."""

    stage_seconds: tuple[float, ...]
    peak_bytes: int


def estimate(model: Model, prepared: PreparedData, device: str | None = None) -> Estimate:
    """Time a few updates of each stage on this machine; the model is spoilt by them.

    Raises what training does, such as ``TrainingError`` for a loss that is not finite.
    """
    pace = LogIntervals(log=_NEVER, checkpoint=_NEVER)
    with TemporaryDirectory(prefix="spanloom-") as folder:
        silent = MetricsLog(Path(folder) / METRICS, print, active=False)
        run, seconds = Run(model, prepared, Path(folder), ProcessGroup(device), silent), []
        for spec in model.recipe.stages:
            run.model = of_stage(run.model, spec)
            seconds.append(_stage_seconds(StageTrainer(run, spec), pace))
    return Estimate(tuple(seconds), _peak_bytes())


def _stage_seconds(stage: StageTrainer, pace: LogIntervals) -> float:
    """Return the seconds of all updates of a stage, from those of a few of each kind, per word."""
    updates = stage.draw_epoch()
    by_tasks: dict[frozenset[str], list[Update]] = {}
    for update in updates:
        tasks = frozenset(task for batch in update for task in batch.tasks)
        by_tasks.setdefault(tasks, []).append(update)
    kinds = sorted(by_tasks.values(), key=_num_words, reverse=True)[:_NUM_KINDS]
    stage.update(kinds[0][0], pace)  # memory is reserved and kernels are chosen at the first one
    seconds = sum(_seconds(stage, kind, max(1, _NUM_UPDATES // len(kinds)), pace) for kind in kinds)
    num_epochs = num_updates(stage.spec, updates, stage.length.num_groups) / len(updates)
    return num_epochs * seconds * _num_words(updates) / max(1, sum(map(_num_words, kinds)))


def _seconds(
    stage: StageTrainer, updates: Sequence[Update], num_timed: int, pace: LogIntervals
) -> float:
    """Return the seconds of updates of one kind, from those of ``num_timed`` of them, per word."""
    sample = updates[:: max(1, len(updates) // num_timed)][:num_timed]
    start = time.monotonic()
    for update in sample:
        stage.update(update, pace)
    elapsed = time.monotonic() - start
    return elapsed * _num_words(updates) / max(1, _num_words(sample))


def _num_words(updates: Iterable[Update]) -> int:
    return sum(batch.num_words for update in updates for batch in update)


def _peak_bytes() -> int:
    """Return the most memory that this process has had, on the GPU if there is one in use."""
    if torch.cuda.is_available() and torch.cuda.max_memory_allocated():
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
