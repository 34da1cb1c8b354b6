"""Tasks that can learn the probabilities of a trained model beside gold."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from spanloom.tensors import Batch, HeadInputs, Losses


@dataclass(frozen=True, slots=True)
class TeacherHead:
    """The head of a trained model for the same task, and what it reads of the same batch."""

    head: Any
    vectors: HeadInputs


@runtime_checkable
class Teachable(Protocol):
    """A task with losses that probabilities can take the place of gold in."""

    @property
    def soft_labels(self) -> tuple[str, ...] | None:
        """The labels whose probabilities it learns; None where its options leave none to learn."""

    def soft_loss(
        self, head: Any, vectors: HeadInputs, batch: Batch, targets: Any, teacher: TeacherHead
    ) -> Losses:
        """Return some of the losses of ``Task.loss``, against probabilities instead of gold."""


def soft_labels(task: object) -> tuple[str, ...] | None:
    """Return the labels whose probabilities a task learns, None for one that learns none."""
    return task.soft_labels if isinstance(task, Teachable) else None
