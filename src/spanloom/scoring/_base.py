"""What every official scorer can do, so that ``spanloom score`` need not know which it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanloom import scoring
from spanloom.config import kinds
from spanloom.errors import NameNotFound

Scores = dict[str, Any]  # as the official program's results are laid out in JSON


@dataclass(frozen=True, slots=True)
class Scorer:
    """One official program.

    ``name`` is what users type; the file is called so too, with ``_`` for ``-`` and ``.``.
    ``options`` are the program's own flags as they are typed, each with whether a value follows
    (``{"-r": False, "--depth": True}``); ``score`` gets those that were given (a flag without a
    value maps to ""). ``score`` raises ``FormatError`` where the official program refuses the
    files, and ``DataError`` for a value that an option cannot have. ``table`` is for people.
    """

    name: str
    score: Callable[[Path, Path, Mapping[str, str]], Scores]
    table: Callable[[Scores], str]
    options: Mapping[str, bool] = field(default_factory=dict)


def names() -> list[str]:
    """List the metrics as users type them."""
    return sorted(_load(file).name for file in kinds.names(scoring.__path__))


def find(name: str) -> Scorer:
    """Return the scorer of that name; raises ``NameNotFound``."""
    file = name.replace("-", "_").replace(".", "_")
    if file not in kinds.names(scoring.__path__) or _load(file).name != name:
        raise NameNotFound("metric", name, names())
    return _load(file)


def _load(file: str) -> Scorer:
    found: Scorer = kinds.load(scoring.__name__, (file,), file, "metric")
    return found
