"""Bundle JavaScript modules into one script, and write the policy that allows only this script.

A module is named by its path in this package (``viewer/draw/draw``). Every module becomes the
value of a function, so its names stay local. Modules may only import names from modules of this
package, by relative paths.
"""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from posixpath import dirname, join, normpath

DRAWING = "viewer/draw/draw"

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[./\w]*)\.js";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:const|class|(?:async )?function\*?) (\w+))",
    re.MULTILINE,
)


@cache
def script(entry: str) -> str:
    """Return a module and all that it imports; its exports become names of the script."""
    exports_of_entry = _destructure(f"{{ {', '.join(_exports(entry))} }}", entry)
    return "".join(map(_to_constant, modules(entry))) + f"{exports_of_entry}\n"


@cache
def modules(entry: str) -> tuple[str, ...]:
    """Return the names of a module and all that it imports, imported modules first."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for _, path in _IMPORT.findall(_source(name)):
                visit(_resolve(name, path))
            ordered[name] = None

    visit(entry)
    return tuple(ordered)


def _to_constant(name: str) -> str:
    """Return a module as a constant whose properties are its exports."""

    def replace_import(match: re.Match[str]) -> str:
        return _destructure(match[1], _resolve(name, match[2]))

    body = _EXPORT.sub("", _IMPORT.sub(replace_import, _source(name)))
    returned = f"return {{ {', '.join(_exports(name))} }};"
    return f"const {_constant_name(name)} = (() => {{\n{body}{returned}\n}})();\n"


def _exports(name: str) -> list[str]:
    """Return the names that a module exports."""
    return _EXPORT.findall(_source(name))


def _destructure(names: str, module: str) -> str:
    """Return the statement that takes names from a module's constant."""
    return f"const {names} = {_constant_name(module)};"


def _resolve(name: str, path: str) -> str:
    """Return the name of the module that an import path refers to."""
    return normpath(join(dirname(name), path))


def _constant_name(module: str) -> str:
    """Return the name of a module's constant."""
    return f"module_{module.replace('/', '_')}"


@cache
def _source(name: str) -> str:
    """Return the text of a module."""
    return files("spanloom").joinpath(f"{name}.js").read_text(encoding="utf-8")


def policy(code: str, style: str, *extra_directives: str) -> str:
    """Return the content security policy of a page, which allows one script and one style.

    Both are named by their hashes; ``extra_directives`` are appended.
    """
    rules = (
        "default-src 'none'",
        f"script-src {_hash_source(code)}",
        f"style-src {_hash_source(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join((*rules, *extra_directives))


def _hash_source(content: str) -> str:
    """Return the policy source of a script or style: its SHA-256."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
