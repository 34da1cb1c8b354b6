"""Embedders: one vector per word. A module's name is the embedder's name in recipes."""

from spanloom.config import registry
from spanloom.embedders._base import EmbedderType


def names() -> list[str]:
    """List every embedder there is, by reading this folder."""
    return registry.names(__path__)


def load(name: str) -> EmbedderType:
    """Import the one file that holds the kind; raises ``NameNotFound``."""
    found: EmbedderType = registry.load(__name__, names(), name, "embedder")
    return found
