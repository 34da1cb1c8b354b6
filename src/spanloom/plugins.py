"""Parts from other packages: kinds of task, formats, embedders and more, found by name.

An installed package declares its parts as entry points of the groups ``spanloom.tasks``,
``spanloom.formats`` … (``GROUPS``). A module that need not be installed declares the same in a
table, and the user names the module (``--plugin MODULE``, ``load``):

    SPANLOOM = {"tasks": {"marks": "mypackage.marks:KIND"}}

A part is imported when its name is asked for, not before. A model folder names the parts that it
needs; these names are compared with the parts that are here, and nothing is imported by them.
"""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from spanloom.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint  # imported when needed, so that --help is fast

GROUPS = (
    "tasks",
    "formats",
    "embedders",
    "tokenizers",
    "sentence_splitters",
    "samplers",
    "scorers",
)
TABLE = "SPANLOOM"  # the table of a module that the user names

modules: "dict[str, tuple[EntryPoint, ...]]" = {}  # the modules that the user named, their parts
_VALUE = re.compile(r"[A-Za-z_]\w*(\.\w+)*:\w+", re.ASCII)


class Origin(NamedTuple):
    """Where a part comes from; package and version are "" for a module of no installed package."""

    module: str
    package: str
    version: str

    def __str__(self) -> str:
        """Return the module, and the package with its version."""
        package = " ".join(filter(None, (self.package, self.version)))
        return f"module {self.module}" + (f" of package {package}" if package else "")


def load(*names: str) -> None:
    """Import modules and make the parts in their tables ``SPANLOOM`` available by their names.

    Raises ``PluginError`` if a module cannot be imported or has no valid table.
    """
    for name in names:
        if name not in modules:
            _load(name)


def _load(module: str) -> None:
    table = getattr(_import_module(module), TABLE, None)
    if not isinstance(table, Mapping):
        expected = f'{TABLE} = {{"tasks": {{"name": "package.module:KIND"}}}}'
        raise PluginError(f"plugin {module}: expected a table {expected}, got {table!r:.60}")
    modules[module] = tuple(
        _part(module, group, name, value)
        for group in table
        for name, value in _names_of(module, group, table[group]).items()
    )


def names(group: str) -> list[str]:
    """Return the names of a group's parts in all plugins; nothing is imported."""
    return sorted({part.name for part in _parts(group)})


def named_by_user(group: str) -> list[str]:
    """Return the names of a group's parts in the modules that the user named."""
    return sorted({part.name for part in _parts_of_modules(group)})


def find(group: str, name: str) -> "EntryPoint | None":
    """Return the part of that name, not imported; None if no plugin has it.

    Raises ``PluginError`` if two packages have a part of that name, or an entry point is broken.
    """
    by_target = {_target(part): part for part in _parts(group) if part.name == name}
    if len(by_target) > 1:
        origins = " and ".join(str(origin(part)) for part in by_target.values())
        raise PluginError(f"{group}: {name!r} is in two plugins, {origins}; leave one of them out")
    return next(iter(by_target.values()), None)


def import_part(part: "EntryPoint") -> Any:
    """Import a part; raises ``PluginError`` if its module or its attribute is missing."""
    try:
        return part.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{part.name!r} ({origin(part)}) cannot be imported: {error}") from error


def origin(part: "EntryPoint") -> Origin:
    """Return where a part comes from, without importing it."""
    from importlib.metadata import packages_distributions, version

    if part.dist is not None:
        return Origin(part.module, part.dist.name, part.dist.version)
    packages = packages_distributions().get(part.module.partition(".")[0], ())
    package = packages[0] if packages else ""
    return Origin(part.module, package, version(package) if package else "")


def _import_module(name: str) -> Any:
    try:
        return import_module(name)
    except (ImportError, TypeError, ValueError) as error:  # a relative or empty name, too
        hint = "name a module that is installed or in a folder of PYTHONPATH"
        raise PluginError(f"plugin {name!r} cannot be imported: {error} ({hint})") from error


def _names_of(module: str, group: object, names: object) -> Mapping[Any, Any]:
    """Check a group of a module's table."""
    if group not in GROUPS:
        raise PluginError(f"plugin {module}: no group {group!r} (known: {', '.join(GROUPS)})")
    if not isinstance(names, Mapping):
        raise PluginError(f"plugin {module}: {group}: expected a mapping, got {names!r:.60}")
    return names


def _part(module: str, group: str, name: object, value: object) -> "EntryPoint":
    """Check one entry of a module's table."""
    from importlib.metadata import EntryPoint

    if not isinstance(name, str) or not isinstance(value, str) or not _VALUE.fullmatch(value):
        expected = "expected a name and 'package.module:attribute'"
        raise PluginError(f"plugin {module}: {group}: {expected}, got {name!r:.60}: {value!r:.60}")
    return EntryPoint(name, value, f"spanloom.{group}")


def _target(part: "EntryPoint") -> tuple[str, str]:
    """Return module and attribute of a part; raises ``PluginError`` where it has none."""
    if not _VALUE.match(part.value):
        package = "" if part.dist is None else f" of package {part.dist.name}"
        expected = "expected 'package.module:attribute'"
        raise PluginError(f"{part.name!r}{package}: {expected}, got {part.value!r:.60}")
    return part.module, part.attr


def _parts(group: str) -> "list[EntryPoint]":
    return [*_parts_of_modules(group), *_entry_points(tuple(sys.path), _full(group))]


def _parts_of_modules(group: str) -> "list[EntryPoint]":
    all_parts = (part for parts in modules.values() for part in parts)
    return [part for part in all_parts if part.group == _full(group)]


def _full(group: str) -> str:
    return f"spanloom.{group}"


@lru_cache(maxsize=len(GROUPS))
def _entry_points(path: tuple[str, ...], group: str) -> "tuple[EntryPoint, ...]":
    return tuple(_all_installed(path).select(group=group))


@lru_cache(maxsize=1)  # reading the metadata of all packages takes some 50 ms
def _all_installed(path: tuple[str, ...]) -> Any:
    """Return the entry points of all packages on ``path``, which is ``sys.path``."""
    from importlib.metadata import entry_points

    return entry_points()
