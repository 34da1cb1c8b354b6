"""The drawing's modules as one script: each is loadable by itself, a page holds all of them.

Every module becomes the value of a function, so that its own names stay its own. Modules import
names from modules beside them, in one line, and from nowhere else.
"""

import re
from functools import cache
from importlib.resources import files

ENTRY = "draw"

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|class|function\*?) (\w+))", re.MULTILINE)


@cache
def script() -> str:
    """Return all modules, and ``draw`` of the last one as a name."""
    return "".join(map(_joined, modules())) + f"const {{ draw }} = {_name(ENTRY)};\n"


@cache
def modules() -> tuple[str, ...]:
    """Return the names of the modules, each behind those that it imports."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            for _, imported in _IMPORT.findall(_source(name)):
                visit(imported)
            found[name] = None

    visit(ENTRY)
    return tuple(found)


def _joined(name: str) -> str:
    """Return a module as a constant whose parts are what it exports."""
    source = _source(name)
    exported = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: _taken(*found.groups()), source))
    return f"const {_name(name)} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


def _taken(names: str, module: str) -> str:
    return f"const {names} = {_name(module)};"


def _name(module: str) -> str:
    return f"module_{module}"


@cache
def _source(name: str) -> str:
    return files("spanloom.page").joinpath("draw", f"{name}.js").read_text(encoding="utf-8")
