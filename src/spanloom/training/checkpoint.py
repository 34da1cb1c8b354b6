"""Checkpoints of a run: written completely or not at all, with hashes, without pickle.

The random state is not saved: every batch and every dropout mask follows from the recipe, the data,
the seed and the number of the update.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as serialized
from torch import Tensor, nn

from spanloom.atomic_io import recover, verify_folder, write_folder
from spanloom.config.specs import StageSpec
from spanloom.errors import TrainingError
from spanloom.training.optimizer import EMA, SCHEDULES

_LONGEST_WARMUP = 0.5  # of a stage, however short it is


@dataclass(slots=True)
class Progress:
    """How far a run has come.

    ``step_in_epoch`` counts updates within the epoch, ``global_step`` those of all stages,
    ``stage_start_step`` those before this stage; ``num_updates`` is the stage's length if it is
    given in updates. ``best_epoch`` is the epoch with the best dev score of the stage,
    ``evaluated_epoch`` that of the last one,
    ``best_per_task`` each task's best score of any stage, ``best_updates`` how many updates with
    batches of the task led to it, of ``task_updates`` so far; ``lr_halvings`` how often a plateau
    halved the rates, ``stale_evaluations`` how many dev scores since then were no better.
    ``warmup_share`` (None: the recipe's) and ``lr_scale`` are what a
    change of epochs made of the schedule. ``seconds`` is training time by the clock,
    ``cpu_seconds`` that of the first process without its workers (``collation``). ``recipe`` is the
    recipe's text, ``data`` the fingerprint of train and dev.
    """

    recipe: str
    data: str
    stage: int = 0
    epoch: int = 0
    step_in_epoch: int = 0
    steps_per_epoch: int = 0
    is_evaluation_due: bool = False
    global_step: int = 0
    num_updates: int | None = None
    stage_start_step: int = 0
    num_clipped: int = 0
    best: float | None = None
    best_epoch: float = 0.0
    evaluated_epoch: float = 0.0
    best_per_task: dict[str, float] = field(default_factory=dict)
    task_updates: dict[str, int] = field(default_factory=dict)
    best_updates: dict[str, int] = field(default_factory=dict)
    lr_halvings: int = 0
    stale_evaluations: int = 0
    warmup_share: float | None = None
    lr_scale: float = 1.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    words: int = 0
    pieces: int = 0
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def epochs_done(self) -> float:
        """The number of epochs of the stage that are done, with a fraction."""
        return self.epoch + self.step_in_epoch / max(1, self.steps_per_epoch)

    @property
    def clipped_share(self) -> float:
        """The share of the stage's updates whose gradient was cut."""
        return self.num_clipped / max(1, self.global_step - self.stage_start_step)

    def count_update(self, tasks: Iterable[str], words: int, pieces: int) -> None:
        """Count an update whose batches are of these tasks and have so much text together."""
        self.global_step += 1
        self.words += words
        self.pieces += pieces
        for task in dict.fromkeys(tasks):
            self.task_updates[task] = self.task_updates.get(task, 0) + 1

    def improves(self, task: str, value: float) -> bool:
        """Return whether a task's score is its best so far; note it, and the updates it took."""
        if not is_better(value, self.best_per_task.get(task)):
            return False
        self.best_per_task[task] = value
        self.best_updates[task] = self.task_updates.get(task, 0)
        return True

    def warmup_of(self, spec: StageSpec) -> float:
        """Return the share of the stage in which rates rise."""
        if self.warmup_share is not None:
            return self.warmup_share
        updates = self.num_updates or self.steps_per_epoch * spec.epochs
        return min(spec.warmup_updates / max(1, updates), _LONGEST_WARMUP)

    def count_stale_evaluation(self, lr_patience: int) -> None:
        """Count a dev score that is no better; halve the rates after ``lr_patience`` of them."""
        self.stale_evaluations += 1
        if self.stale_evaluations == lr_patience:
            self.lr_halvings += 1
            self.stale_evaluations = 0

    def rate_factor(self, spec: StageSpec, share: float) -> float:
        """Return the rates, as a fraction of their maxima, after this share of the stage."""
        schedule = SCHEDULES[spec.lr_schedule]
        return schedule(share, self.warmup_of(spec), self.lr_halvings) * self.lr_scale


def is_better(score: float, best: float | None) -> bool:
    """Return whether a dev score is better than the best so far (None: there is none).

    While nothing is found, at 0, the later model counts: it has learnt more, and a tuned bias may
    let it find something.
    """
    return best is None or score > best or score == best == 0


def save(
    folder: Path,
    progress: Progress,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: EMA | None,
) -> None:
    """Write a checkpoint, replacing the one before."""
    with write_folder(folder) as staging:
        (staging / "network.safetensors").write_bytes(serialized(_contiguous(network.state_dict())))
        (staging / "optimiser.safetensors").write_bytes(serialized(_optimizer_state(optimizer)))
        if average is not None:
            (staging / "average.safetensors").write_bytes(serialized(_contiguous(average.weights)))
        text = json.dumps(asdict(progress), indent=1)
        (staging / "progress.json").write_text(text, encoding="utf-8")


def exists(folder: Path) -> bool:
    """Return whether there is a checkpoint, including one that a crash had moved aside."""
    recover(folder)
    return (folder / "progress.json").is_file()


def read_progress(folder: Path, data: str) -> Progress:
    """Check a checkpoint and return its progress.

    Raises ``ModelError`` where it was altered, ``TrainingError`` where it is of other data.
    """
    verify_folder(folder)
    text = (folder / "progress.json").read_text(encoding="utf-8")
    try:
        progress = Progress(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise TrainingError(
            f"{folder}: written by another version ({error}); train anew without --resume"
        ) from error
    if progress.data != data:
        raise TrainingError(
            f"{folder}: the data changed since this checkpoint was written, or a teacher; "
            f"undo the change, or train anew without --resume"
        )
    return progress


def restore(
    folder: Path, network: nn.Module, optimizer: torch.optim.Optimizer, average: EMA | None
) -> None:
    """Load what ``save`` wrote into new objects; raises ``TrainingError``."""
    try:
        network.load_state_dict(load_file(folder / "network.safetensors"))
        _restore_optimizer(optimizer, load_file(folder / "optimiser.safetensors"))
        if average is not None:
            average.load(load_file(folder / "average.safetensors"))
    except (SafetensorError, RuntimeError, KeyError, OSError) as error:
        raise TrainingError(f"{folder}: does not fit this recipe: {error}") from error


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Tensors by ``row.name``: rows count parameters through all groups."""
    state: dict[str, Tensor] = {}
    for row, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            state[f"{row}.{name}"] = torch.as_tensor(value).contiguous()
    return state


def _restore_optimizer(optimizer: torch.optim.Optimizer, saved: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for key, value in saved.items():
        row, _, name = key.partition(".")
        state.setdefault(int(row), {})[name] = value
    state_dict = optimizer.state_dict()
    state_dict["state"] = state
    optimizer.load_state_dict(state_dict)


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
