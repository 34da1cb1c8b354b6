"""Embedders: one vector per word. A module's name is the embedder's name in recipes.

The names below are those that embedders of other packages build on (docs/extending.md).
"""

from spanloom.config import registry
from spanloom.config.options import Options
from spanloom.config.yaml import SourceLocation
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.tensors import Batch

__all__ = ["Batch", "BuildContext", "EmbedderType", "Options", "SourceLocation", "load", "names"]

_REGISTRY = registry.files_of("embedders", "embedder", EmbedderType, __name__, __path__)


def names() -> list[str]:
    """List every embedder, those of plugins too; nothing is imported."""
    return _REGISTRY.names()


def load(name: str) -> EmbedderType:
    """Import the one file that holds the kind; raises ``NameNotFound`` and ``PluginError``."""
    return _REGISTRY.load(name)
