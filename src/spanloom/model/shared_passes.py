"""Which tasks one pass of the encoder can serve when each is scored on its own gold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanloom.document import Document
from spanloom.tasks._base import Task


@dataclass(frozen=True, slots=True)
class SharedPass:
    """Texts without gold, and the tasks that read them alike, each with a layer of its own."""

    texts: Sequence[Document]
    tasks: dict[str, Task]

    def serves(self, task: Task, texts: Sequence[Document]) -> bool:
        """Return whether one more task can be predicted in this pass.

        What a task is given stands in its texts, so none reads what another one predicts.
        """
        return task.predicts and texts == self.texts and self._is_apart(task)

    def _is_apart(self, task: Task) -> bool:
        """Return whether a task has another layer than the others, and the same reader."""
        return all(
            other.predicts and other.layer != task.layer and _reading(other) == _reading(task)
            for other in self.tasks.values()
        )


def shared_passes(
    tasks: Mapping[str, Task], gold: Mapping[str, Iterable[Document]]
) -> list[SharedPass]:
    """Return the passes of the encoder that predict each task on the texts of its gold."""
    passes: list[SharedPass] = []
    for name, documents in gold.items():
        task = tasks[name]
        texts = [task.without_gold(document) for document in documents]
        existing = next((shared for shared in passes if shared.serves(task, texts)), None)
        if existing is None:
            passes.append(SharedPass(texts, {name: task}))
        else:
            existing.tasks[name] = task
    return passes


def _reading(task: Task) -> tuple[object, int]:
    """Return all that the instances of a task depend on."""
    return task.reader.key, task.reader.max_windows
