"""What every official scorer can do, so that ``spanloom score`` need not know which it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
