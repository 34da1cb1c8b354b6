"""What labels mean: one file a kind of task; the file's name is the kind's name. No parameters.

The names below are those that kinds of task of other packages build on (docs/extending.md).
"""

from spanloom.config import registry
from spanloom.config.options import Options
from spanloom.tasks._base import HeadInputSpec, LayerTask, TaskType
from spanloom.tasks._coverage import cross_sentence_gold
from spanloom.tasks._spans import (
    RELATION_ROW,
    SPAN_ROW,
    InstancePrediction,
    Labels,
    SpanGold,
    number_spans,
    spans_and_relations,
    split_by_instance,
    to_characters,
)
from spanloom.tasks._word_task import ScoredWordSpan, WordSpan, WordTask

__all__ = [
    "HeadInputSpec",
    "InstancePrediction",
    "Labels",
    "LayerTask",
    "Options",
    "RELATION_ROW",
    "SPAN_ROW",
    "ScoredWordSpan",
    "SpanGold",
    "TaskType",
    "WordSpan",
    "WordTask",
    "cross_sentence_gold",
    "load",
    "names",
    "number_spans",
    "spans_and_relations",
    "split_by_instance",
    "to_characters",
]

_REGISTRY = registry.files_of("tasks", "kind of task", TaskType, __name__, __path__)


def names() -> list[str]:
    """List every kind of task, those of plugins too; nothing is imported."""
    return _REGISTRY.names()


def load(name: str) -> TaskType:
    """Import the one file that holds the kind; raises ``NameNotFound`` and ``PluginError``."""
    return _REGISTRY.load(name)
