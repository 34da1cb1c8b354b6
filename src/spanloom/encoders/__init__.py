"""Embedders: words in, one vector a word out. The file's name is the embedder's name in recipes."""

from spanloom.config import kinds
from spanloom.encoders._base import Kind


def names() -> list[str]:
    """List every embedder there is, by reading this folder."""
    return kinds.names(__path__)


def load(name: str) -> Kind:
    """Import the one file that holds the kind; raises ``NameNotFound``."""
    found: Kind = kinds.load(__name__, names(), name, "embedder")
    return found
