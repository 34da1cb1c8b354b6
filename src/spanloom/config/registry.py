"""Kinds that are files: the name of a file in a room is the name by which recipes ask for it."""

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Any

from spanloom.errors import NameNotFound


def names(path: Iterable[str]) -> list[str]:
    """List the kinds in a package, given its ``__path__``; files with a leading _ are none."""
    return sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))


def load(package: str, known: Iterable[str], name: str, what: str) -> Any:
    """Import the one file that holds a kind and return its ``KIND``; raises ``NameNotFound``."""
    if name not in known:
        raise NameNotFound(what, name, known)
    return importlib.import_module(f"{package}.{name}").KIND
