"""Parts by name: a file's name in its package is how recipes and commands ask for the part.

Parts of other packages (``spanloom.plugins``) are found by the same names.
"""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from spanloom import plugins
from spanloom.errors import NameNotFound, PluginError

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Registry(Generic[P]):
    """The parts of one group (of ``plugins.GROUPS``), built-in ones and those of plugins.

    ``noun`` names such a part in errors; ``part_type`` is what a plugin's part must be.
    """

    group: str
    noun: str
    part_type: Any
    builtin: Callable[[], Collection[str]]
    load_builtin: Callable[[str], P]

    def names(self) -> list[str]:
        """Return all names; nothing is imported."""
        return sorted({*self.builtin(), *plugins.names(self.group)})

    def names_without_installed(self) -> list[str]:
        """Return the names that may be imported unasked: all but those of installed packages."""
        return sorted({*self.builtin(), *plugins.named_by_user(self.group)})

    def load(self, name: str) -> P:
        """Import the part of that name; raises ``NameNotFound``.

        Raises ``PluginError`` if a plugin has the name of a built-in part or a part of a wrong
        type, or if two plugins have the name.
        """
        part = plugins.find(self.group, name)
        if name in self.builtin():
            if part is not None:
                problem = f"{self.noun} {name!r}: {plugins.origin(part)} has the name of a"
                raise PluginError(f"{problem} built-in {self.noun} of spanloom; rename it there")
            return self.load_builtin(name)
        if part is None:
            raise NameNotFound(self.noun, name, self.names())
        loaded: P = plugins.import_part(part)
        if not isinstance(loaded, self.part_type):
            problem = f"expected {self.part_type.__name__}, got {loaded!r:.60}"
            raise PluginError(f"{self.noun} {name!r} ({plugins.origin(part)}): {problem}")
        return loaded


def files_of(
    group: str, noun: str, part_type: type[P], package: str, path: Iterable[str]
) -> Registry[P]:
    """Return the registry of a package in which each file is a part that ends in ``KIND``."""
    return Registry(group, noun, part_type, lambda: names(path), lambda name: load(package, name))


def names(path: Iterable[str]) -> list[str]:
    """List the kinds in a package, given its ``__path__``; files with a leading _ are none."""
    return list(_names(tuple(path)))


@cache
def _names(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")))


def load(package: str, name: str) -> Any:
    """Import the file of a built-in part and return its ``KIND``."""
    return importlib.import_module(f"{package}.{name}").KIND
