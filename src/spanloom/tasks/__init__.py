"""Kinds of task: one file per kind, named as the kind. Tasks have no parameters.

The names below are those that kinds of task of other packages use (docs/extending.md).
"""

from spanloom.config import registry
from spanloom.config.options import Options
from spanloom.tasks._base import HeadInputSpec, LayerTask, Metrics, TaskSetup, TaskType
from spanloom.tasks._spans import number_spans
from spanloom.tasks._word_task import ScoredWordSpan, WordSpan, WordTask

__all__ = [
    "HeadInputSpec",
    "LayerTask",
    "Metrics",
    "Options",
    "ScoredWordSpan",
    "TaskSetup",
    "TaskType",
    "WordSpan",
    "WordTask",
    "load",
    "names",
    "number_spans",
]

_REGISTRY = registry.files_of("tasks", "kind of task", TaskType, __name__, __path__)


def names() -> list[str]:
    """List every kind of task, those of plugins too; nothing is imported."""
    return _REGISTRY.names()


def load(name: str) -> TaskType:
    """Import the one file that holds the kind; raises ``NameNotFound`` and ``PluginError``."""
    return _REGISTRY.load(name)
