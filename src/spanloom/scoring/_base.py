"""Interface of all official scorers, and their lookup by name for ``spanloom score``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spanloom import scoring
from spanloom.config import registry
from spanloom.config.registry import Registry

Scores = dict[str, Any]  # JSON with the layout of the official program's results


@dataclass(frozen=True, slots=True)
class Scorer:
    """One official program.

    ``name`` is what users type; the module has the same name, with ``_`` for ``-`` and ``.``.
    ``options`` are the program's own flags as they are typed; each is mapped to whether a value
    follows (``{"-r": False, "--depth": True}``). ``score`` gets the given options (a flag without a
    value maps to ""); it raises ``FormatError`` where the official program refuses the files, and
    ``DataError`` for an invalid option value. ``table`` formats the scores for people.
    """

    name: str
    score: Callable[[Path, Path, Mapping[str, str]], Scores]
    table: Callable[[Scores], str]
    options: Mapping[str, bool] = field(default_factory=dict)


def names() -> list[str]:
    """Return the names of all metrics as users type them, those of plugins too."""
    return _REGISTRY.names()


def find(name: str) -> Scorer:
    """Return the scorer of that name; raises ``NameNotFound`` and ``PluginError``."""
    module = _module_of(name)
    if module in registry.names(scoring.__path__) and _load(name).name == name:
        return replace(_REGISTRY, builtin=lambda: [name]).load(name)  # no other one is imported
    return _REGISTRY.load(name)


def _builtin() -> list[str]:
    """Import all built-in scorers and return their names."""
    return [_load(module).name for module in registry.names(scoring.__path__)]


def _module_of(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def _load(name: str) -> Scorer:
    scorer: Scorer = registry.load(scoring.__name__, _module_of(name))
    return scorer


_REGISTRY = Registry("scorers", "metric", Scorer, _builtin, _load)
