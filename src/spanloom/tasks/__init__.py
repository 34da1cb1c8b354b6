"""Kinds of task: one file per kind, named as the kind. Tasks have no parameters.

The names below are those that kinds of task of other packages use (docs/extending.md).
"""

from spanloom.config import registry
from spanloom.config.options import Options
from spanloom.tasks._base import HeadInputSpec, LayerTask, Metrics, TaskSetup, TaskType
from spanloom.tasks._coverage import cross_sentence_gold
from spanloom.tasks._document_prediction import spans_and_relations, to_characters
from spanloom.tasks._spans import (
    RELATION_ROW,
    SPAN_ROW,
    InstancePrediction,
    Labels,
    SpanGold,
    number_spans,
    split_by_instance,
)
from spanloom.tasks._word_task import ScoredWordSpan, WordSpan, WordTask

__all__ = [
    "HeadInputSpec",
    "InstancePrediction",
    "Labels",
    "LayerTask",
    "Metrics",
    "Options",
    "RELATION_ROW",
    "SPAN_ROW",
    "ScoredWordSpan",
    "SpanGold",
    "TaskSetup",
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
