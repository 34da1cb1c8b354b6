"""What labels mean: one file a kind of task; the file's name is the kind's name. No parameters."""

from spanloom.config import registry
from spanloom.tasks._base import TaskType


def names() -> list[str]:
    """List every kind of task there is, by reading this folder."""
    return registry.names(__path__)


def load(name: str) -> TaskType:
    """Import the one file that holds the kind; raises ``NameNotFound``."""
    found: TaskType = registry.load(__name__, names(), name, "kind of task")
    return found
