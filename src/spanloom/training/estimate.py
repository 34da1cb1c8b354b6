"""Estimate how long training will take and how much memory it needs, from a few updates."""

import resource
import sys
import time
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

_NUM_UPDATES = 4  # that are timed
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
        run = Run(model, prepared, Path(folder), ProcessGroup(device), silent)
        seconds = tuple(
            _stage_seconds(StageTrainer(run, spec), pace) for spec in model.recipe.stages
        )
    return Estimate(seconds, _peak_bytes())


def _stage_seconds(stage: StageTrainer, pace: LogIntervals) -> float:
    """Return the seconds of all updates of a stage, from those of a few, per word."""
    updates = stage.draw_epoch()
    step = max(1, len(updates) // _NUM_UPDATES)
    sample = updates[::step][:_NUM_UPDATES]
    stage.update(sample[0], pace)  # memory is reserved and kernels are chosen at the first one
    start = time.monotonic()
    for update in sample:
        stage.update(update, pace)
    elapsed = time.monotonic() - start
    num_epochs = num_updates(stage.spec, updates) / len(updates)
    words = num_epochs * sum(map(_num_words, updates))
    return elapsed * words / max(1, sum(map(_num_words, sample)))


def _num_words(update: Update) -> int:
    return sum(batch.num_words for batch in update)


def _peak_bytes() -> int:
    """Return the most memory that this process has had, on the GPU if there is one in use."""
    if torch.cuda.is_available() and torch.cuda.max_memory_allocated():
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
