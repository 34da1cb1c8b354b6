"""YAML of recipes: plain data only, with the line of every key, errors with locations.

The scalars are those of YAML 1.2 (``3e-4`` is a number, ``no`` is a text). Tags, anchors, aliases,
keys that stand twice and keys that are not text are refused, and so is what is too large or deep.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from spanloom.errors import RecipeError

MAX_BYTES = 1_000_000
MAX_DEPTH = 50

Keys = tuple[str | int, ...]
FileLine = tuple[str, int | None]  # a file (or a command line option) and the line in it

_TAG = "tag:yaml.org,2002:"
_SCALARS = {  # tag: how its plain scalars look
    _TAG + "null": re.compile(r"(?:~|null|Null|NULL|)$"),
    _TAG + "bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"),
    _TAG + "int": re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})$"),
    _TAG + "float": re.compile(
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    _TAG + "str": re.compile(""),
}


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Which line of which file a value came from; ``keys`` leads to it from the top.

    All locations are equal, so that two recipes are equal whatever files they came from.
    """

    file: str = field(default="recipe", compare=False)
    lines: dict[Keys, FileLine] = field(default_factory=dict, compare=False, repr=False)
    keys: Keys = field(default=(), compare=False)

    def location_of(self, *keys: str | int) -> "SourceLocation":
        """Return the location of a value further down."""
        return SourceLocation(self.file, self.lines, self.keys + keys)

    def file_line(self) -> FileLine:
        """File and line of this value, or of the nearest one above it that has a line."""
        for length in range(len(self.keys), 0, -1):
            if self.keys[:length] in self.lines:
                return self.lines[self.keys[:length]]
        return self.file, None

    def error(self, problem: str) -> RecipeError:
        """Return (not raise) an error that names file, line and keys."""
        dotted = ".".join(map(str, self.keys))
        return RecipeError(*self.file_line(), f"{dotted}: {problem}" if dotted else problem)


@dataclass(frozen=True, slots=True)
class ParsedYaml:
    """The data of a YAML file, and the location of each value."""

    data: Any
    location: SourceLocation


def load(path: Path) -> ParsedYaml:
    """Read a YAML file; raises ``RecipeError`` if it is missing or invalid."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise RecipeError(str(path), None, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecipeError(str(path), None, f"expected UTF-8 text: {error}") from error
    return loads(text, str(path))


def loads(text: str, name: str) -> ParsedYaml:
    """Read YAML from a string; ``name`` stands for the file in errors (``RecipeError``)."""
    if len(text) > MAX_BYTES:
        raise RecipeError(name, None, f"larger than {MAX_BYTES} bytes")
    lines: dict[Keys, FileLine] = {}
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        data = None if node is None else _build(loader, node, SourceLocation(name, lines))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        problem = " ".join(f"{error.context or ''} {error.problem or ''}".split())
        raise RecipeError(name, line, f"not valid YAML: {problem}") from error
    except yaml.YAMLError as error:  # characters that YAML forbids
        problem = str(error).splitlines()[0]
        raise RecipeError(name, None, f"not valid YAML: {problem}") from error
    return ParsedYaml(data, SourceLocation(name, lines))


def dump(data: Any, *, width: int = 100) -> str:
    """Write plain data as YAML, keys in their order, lists of scalars on one line."""
    return yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width, indent=2
    )


def dump_line(value: object) -> str:
    """Write a value as YAML on one line; mappings and nested lists are JSON, which is YAML too."""
    is_nested = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    if isinstance(value, dict) or is_nested:
        return json.dumps(value, ensure_ascii=False)
    return " ".join(dump({"value": value}).partition(":")[2].split())


class _Loader(yaml.SafeLoader):
    """Composes nodes; refuses aliases and depth before any value is built."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose one node, unless it is an alias or too deep."""
        alias = self.check_event(yaml.AliasEvent)
        self.depth += 1
        if alias or self.depth > MAX_DEPTH:
            problem = "aliases are not supported" if alias else f"deeper than {MAX_DEPTH} levels"
            mark = self.current_event.start_mark
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Dumper(yaml.SafeDumper):
    """Quotes strings that YAML 1.1 or 1.2 would read as another type."""


for _class in (_Loader, _Dumper):
    for _tag, _pattern in _SCALARS.items():
        _class.add_implicit_resolver(_tag, _pattern, None)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    """Represent a string on one line, so that a comment can follow it."""
    style = '"' if re.search("[\n\r\x85\u2028\u2029]", value) else None
    return dumper.represent_scalar(_TAG + "str", value, style=style)


def _list(dumper: yaml.SafeDumper, value: list[Any] | tuple[Any, ...]) -> yaml.Node:
    """Represent a list of scalars in brackets, any other as a block."""
    flat = not any(isinstance(item, dict | list | tuple) for item in value)
    return dumper.represent_sequence(_TAG + "seq", value, flow_style=flat)


def _dict(dumper: yaml.SafeDumper, value: dict[str, Any]) -> yaml.Node:
    """Represent a mapping as a block, an empty one as ``{}``."""
    return dumper.represent_mapping(_TAG + "map", value.items(), flow_style=not value)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(tuple, _list)
_Dumper.add_representer(dict, _dict)


def _build(loader: _Loader, node: yaml.Node, location: SourceLocation) -> Any:
    """Return the value of a node; record the line of everything inside it."""
    line = node.start_mark.line + 1
    location.lines.setdefault(location.keys, (location.file, line))
    if node.tag == _TAG + "map" and isinstance(node, yaml.MappingNode):
        return {
            key: _build(loader, value, location.location_of(key))
            for key, value in _pairs(loader, node, location)
        }
    if node.tag == _TAG + "seq" and isinstance(node, yaml.SequenceNode):
        return [
            _build(loader, child, location.location_of(i)) for i, child in enumerate(node.value)
        ]
    pattern = _SCALARS.get(node.tag)
    if not isinstance(node, yaml.ScalarNode) or pattern is None or not pattern.match(node.value):
        raise RecipeError(location.file, line, f"tag {node.tag!r} refused; recipes are plain data")
    return loader.construct_object(node)


def _pairs(
    loader: _Loader, node: yaml.MappingNode, location: SourceLocation
) -> Iterator[tuple[str, yaml.Node]]:
    """Keys and value nodes of a mapping, the keys checked and their lines noted."""
    seen: set[str] = set()
    for key_node, value in node.value:
        line = key_node.start_mark.line + 1
        if key_node.tag != _TAG + "str":
            got = repr(key_node.value) if isinstance(key_node.value, str) else "a list or mapping"
            raise RecipeError(location.file, line, f"expected a text key, got {got} (quote it)")
        key = str(loader.construct_object(key_node))
        if key in seen:
            raise RecipeError(location.file, line, f"key {key!r} stands twice in one mapping")
        seen.add(key)
        location.lines[(*location.keys, key)] = (location.file, line)
        yield key, value
