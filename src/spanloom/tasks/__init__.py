"""What labels mean: one file a kind of task; the file's name is the kind's name. No parameters."""

from spanloom.config import kinds
from spanloom.tasks._base import Kind


def names() -> list[str]:
    """List every kind of task there is, by reading this folder."""
    return kinds.names(__path__)


def load(name: str) -> Kind:
    """Import the one file that holds the kind; raises ``NameNotFound``."""
    found: Kind = kinds.load(__name__, names(), name, "kind of task")
    return found
