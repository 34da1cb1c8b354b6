"""The length of a stage: in epochs, or in updates per task."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spanloom.config.specs import StageSpec
from spanloom.training.batch_schedule import Update
from spanloom.training.checkpoint import Progress

_ROUNDING = 1e-9  # 0.3 / 0.1 is less than 3


@dataclass(frozen=True, slots=True)
class StageLength:
    """How long a stage lasts, and how far a run has come in it.

    ``num_groups`` is the number of its tasks, where those that share batches count once.
    """

    spec: StageSpec
    num_groups: int

    @property
    def may_end_early(self) -> bool:
        """Whether the stage ends where dev has not risen for some time."""
        return self.spec.patience is not None

    def start_epoch(self, progress: Progress, updates: list[Update]) -> int:
        """Return the number of updates of an epoch that the stage takes, perhaps not all."""
        if self.spec.updates_per_task is not None:
            if progress.num_updates is None:
                progress.num_updates = num_updates(self.spec, updates, self.num_groups)
            return min(len(updates), progress.num_updates - self._steps_before_epoch(progress))
        if progress.epoch == math.ceil(self.spec.epochs) - 1:
            return last_epoch_length(self.spec.epochs, len(updates))
        return len(updates)

    def is_over(self, progress: Progress) -> bool:
        """Whether the stage's last update was taken and evaluated, if that was due."""
        if self.spec.updates_per_task is None:
            return progress.epoch >= math.ceil(self.spec.epochs)
        if progress.num_updates is None or progress.is_evaluation_due:
            return False
        return progress.global_step - progress.stage_start_step >= progress.num_updates

    def is_last_update(self, progress: Progress, end: int) -> bool:
        """Whether the update just taken is the stage's last; ``end`` is the epoch's length."""
        if progress.step_in_epoch < end:
            return False
        if self.spec.updates_per_task is None:
            return progress.epoch == math.ceil(self.spec.epochs) - 1
        return self._steps_before_epoch(progress) + end == progress.num_updates

    def share_done(self, progress: Progress, updates_ago: int = 0) -> float:
        """Return how much of the stage is done, from 0 to 1, or was some updates ago."""
        if progress.num_updates is not None:
            num_updates = progress.global_step - progress.stage_start_step - updates_ago
            return num_updates / progress.num_updates
        return self._epochs_done(progress, updates_ago) / self.spec.epochs

    def is_evaluation_time(self, progress: Progress) -> bool:
        """Return whether dev is evaluated after the last update, if it was not the stage's last."""
        num_evaluations = self.spec.num_evaluations
        if num_evaluations is not None:
            now, before = (num_evaluations * self.share_done(progress, ago) for ago in (0, 1))
        else:
            interval = self.spec.eval_every_epochs
            now, before = (self._epochs_done(progress, ago) / interval for ago in (0, 1))
        return math.floor(now + _ROUNDING) != math.floor(before + _ROUNDING)

    def __str__(self) -> str:
        """Return the length as log lines show it."""
        per_task = self.spec.updates_per_task
        return f"{self.spec.epochs:g}" if per_task is None else f"{per_task} updates per task"

    def _epochs_done(self, progress: Progress, updates_ago: int) -> float:
        step = progress.step_in_epoch - updates_ago
        return progress.epoch + step / max(1, progress.steps_per_epoch)

    def _steps_before_epoch(self, progress: Progress) -> int:
        return progress.global_step - progress.step_in_epoch - progress.stage_start_step


def last_epoch_length(epochs: float, num_updates: int) -> int:
    """Return how many of its updates the last one of so many epochs takes, at least one."""
    return max(1, round(num_updates * (epochs - math.ceil(epochs) + 1)))


def num_updates(spec: StageSpec, epoch: Sequence[Update], num_groups: int) -> int:
    """Return the updates of a stage whose epochs are like this one.

    With ``updates_per_task`` these are as many as give each of ``num_groups`` tasks so many
    batches, on average; a sampler may leave a small task out of an epoch, which changes nothing.
    """
    if spec.updates_per_task is None:
        return round(len(epoch) * spec.epochs)
    num_batches = sum(map(len, epoch))
    return math.ceil(spec.updates_per_task * num_groups * len(epoch) / num_batches)
