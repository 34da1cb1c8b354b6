"""What labels mean: one file a kind of task; the file's name is the kind's name. No parameters."""

import importlib
import pkgutil

from spanloom.errors import NameNotFound
from spanloom.tasks._base import Kind


def names() -> list[str]:
    """List every kind of task there is, by reading this folder."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(kind: str) -> Kind:
    """Import the one file that holds the kind; raises ``NameNotFound``."""
    if kind not in names():
        raise NameNotFound("kind of task", kind, names())
    found: Kind = importlib.import_module(f"{__name__}.{kind}").KIND
    return found
