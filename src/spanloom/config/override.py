"""Change a loaded recipe by a setting, and compare two recipes."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from spanloom.config import yaml
from spanloom.config.options import did_you_mean, fields, model_at
from spanloom.config.yaml import FileLine, Keys, ParsedYaml, SourceLocation
from spanloom.errors import RecipeError


@dataclass(frozen=True, slots=True)
class Setting:
    """A change of a recipe, such as ``stages.0.epochs=3``, and the file and line that say it."""

    text: str
    origin: FileLine

    @classmethod
    def of_command(cls, text: str) -> "Setting":
        """Return the setting of a command line."""
        return cls(text, (f"--set {text}", None))


def override(frame: type[BaseModel], loaded: ParsedYaml, setting: Setting) -> ParsedYaml:
    """Return the loaded file with one value changed by a setting.

    The value is YAML. A mapping on the way that is absent is added where ``frame`` has a field of
    that name; any other unknown key raises ``RecipeError`` with the nearest known one.
    """
    path, sign, text = setting.text.partition("=")
    if not sign or not all(path.split(".")):
        problem = "expected KEY.KEY=VALUE, such as stages.0.epochs=3"
        raise RecipeError(*setting.origin, f"{problem}, got {setting.text!r:.60}")
    data = copy.deepcopy(loaded.data)
    node: Any = data
    keys: Keys = ()
    *above, last = path.split(".")
    for key in above:
        step = _step(frame, node, keys, key, setting.origin)
        node, keys = node[step], (*keys, step)
    step = _key(node, keys, last, setting.origin)
    try:
        node[step] = yaml.loads(text, setting.text).data
    except RecipeError as error:
        raise RecipeError(*setting.origin, error.problem) from error
    return ParsedYaml(data, _without_replaced(loaded.location, (*keys, step), setting.origin))


def _step(frame: type[BaseModel], node: Any, keys: Keys, key: str, origin: FileLine) -> str | int:
    """Return the key of the next mapping or list on the path; it is added if the frame has it."""
    step = _key(node, keys, key, origin)
    if isinstance(step, int) or step in node:
        return step
    valid_keys = fields(model_at(frame, keys))
    if step not in valid_keys:
        raise _location(origin, (*keys, key)).error(
            f"unknown key{did_you_mean(key, valid_keys | set(node))}"
        )
    node[step] = {}
    return step


def _location(origin: FileLine, keys: Keys) -> SourceLocation:
    """Return the location of a key that a setting names."""
    return SourceLocation(origin[0], {keys: origin}, keys)


def _key(node: Any, keys: Keys, key: str, origin: FileLine) -> str | int:
    """Return the key as a mapping's key or a list's index; raises ``RecipeError`` for neither."""
    location = _location(origin, keys)
    if isinstance(node, dict):
        return key
    if not isinstance(node, list):
        raise location.error(f"expected a mapping or a list, got {node!r:.60}")
    if not key.isascii() or not key.isdigit() or int(key) >= len(node):
        raise location.error(f"expected an index from 0 to {len(node) - 1}, got {key!r}")
    return int(key)


def _without_replaced(location: SourceLocation, keys: Keys, origin: FileLine) -> SourceLocation:
    """Return the location without the lines of what the setting replaced."""
    kept = {key: line for key, line in location.lines.items() if key[: len(keys)] != keys}
    return SourceLocation(location.file, kept | {keys: origin})


@dataclass(frozen=True, slots=True)
class Nothing:
    """The value of a key that a recipe lacks."""

    def __repr__(self) -> str:
        """Return the word for error messages."""
        return "nothing"


def differences(a: Any, b: Any, above: Keys = ()) -> Iterator[tuple[Keys, Any, Any]]:
    """Yield the keys at which two plain values differ, with both values; ``Nothing`` if absent."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            pair = a.get(key, Nothing()), b.get(key, Nothing())
            yield from differences(*pair, (*above, key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, pair in enumerate(zip(a, b, strict=True)):
            yield from differences(*pair, (*above, index))
    elif a != b:
        yield above, a, b
