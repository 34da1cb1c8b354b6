"""JavaScript modules as one script: each is loadable by itself, a page holds all that it needs.

A module is named by its path in this package (``page/draw/draw``). Every module becomes the value
of a function, so that its own names stay its own. Modules import names from modules of this package
by relative paths, and from nowhere else.
"""

import re
from functools import cache
from importlib.resources import files
from posixpath import dirname, join, normpath

DRAWING = "page/draw/draw"

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[./\w]*)\.js";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:const|class|(?:async )?function\*?) (\w+))",
    re.MULTILINE,
)


@cache
def script(entry: str) -> str:
    """Return a module behind all that it needs; what it exports become names of the script."""
    taken = _taken(f"{{ {', '.join(_exported(entry))} }}", entry)
    return "".join(map(_joined, modules(entry))) + f"{taken}\n"


@cache
def modules(entry: str) -> tuple[str, ...]:
    """Return the names of a module and of all that it needs, each behind those that it imports."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            for _, path in _IMPORT.findall(_source(name)):
                visit(_beside(name, path))
            found[name] = None

    visit(entry)
    return tuple(found)


def _joined(name: str) -> str:
    """Return a module as a constant whose parts are what it exports."""

    def taken(found: re.Match[str]) -> str:
        return _taken(found[1], _beside(name, found[2]))

    body = _EXPORT.sub("", _IMPORT.sub(taken, _source(name)))
    returned = f"return {{ {', '.join(_exported(name))} }};"
    return f"const {_constant(name)} = (() => {{\n{body}{returned}\n}})();\n"


def _exported(name: str) -> list[str]:
    return _EXPORT.findall(_source(name))


def _taken(names: str, module: str) -> str:
    return f"const {names} = {_constant(module)};"


def _beside(name: str, path: str) -> str:
    """Return the name of the module that a module means by a path."""
    return normpath(join(dirname(name), path))


def _constant(module: str) -> str:
    return f"module_{module.replace('/', '_')}"


@cache
def _source(name: str) -> str:
    return files("spanloom").joinpath(f"{name}.js").read_text(encoding="utf-8")
