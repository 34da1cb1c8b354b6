"""Embedders: words in, one vector a word out. The file's name is the embedder's name in recipes."""

import importlib
import pkgutil

from spanloom.encoders._base import Kind
from spanloom.errors import NameNotFound


def names() -> list[str]:
    """List every kind of embedder there is, by reading this folder."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(kind: str) -> Kind:
    """Import the one file that holds the kind; raises ``NameNotFound``."""
    if kind not in names():
        raise NameNotFound("embedder", kind, names())
    found: Kind = importlib.import_module(f"{__name__}.{kind}").KIND
    return found
