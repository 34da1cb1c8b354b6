"""Change a loaded recipe by a setting of the command line, and compare two recipes."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from spanloom.config import yaml
from spanloom.config.options import did_you_mean, fields, model_at
from spanloom.config.yaml import Keys, ParsedYaml, SourceLocation
from spanloom.errors import RecipeError


def override(frame: type[BaseModel], loaded: ParsedYaml, setting: str) -> ParsedYaml:
    """Return the loaded file with one value changed by a setting such as ``stages.0.epochs=3``.

    The value is YAML. A mapping on the way that is absent is added where ``frame`` has a field of
    that name; any other unknown key raises ``RecipeError`` with the nearest known one.
    """
    path, sign, text = setting.partition("=")
    name = f"--set {setting}"
    if not sign or not all(path.split(".")):
        raise RecipeError(name, None, "expected KEY.KEY=VALUE, such as stages.0.epochs=3")
    data = copy.deepcopy(loaded.data)
    node: Any = data
    keys: Keys = ()
    *above, last = path.split(".")
    for key in above:
        step = _step(frame, node, keys, key, name)
        node, keys = node[step], (*keys, step)
    step = _key(node, keys, last, name)
    node[step] = yaml.loads(text, name).data
    return ParsedYaml(data, _without_replaced(loaded.location, (*keys, step), name))


def _step(frame: type[BaseModel], node: Any, keys: Keys, key: str, name: str) -> str | int:
    """Return the key of the next mapping or list on the path; it is added if the frame has it."""
    step = _key(node, keys, key, name)
    if isinstance(step, int) or step in node:
        return step
    valid_keys = fields(model_at(frame, keys))
    if step not in valid_keys:
        raise SourceLocation(name, keys=(*keys, key)).error(
            f"unknown key{did_you_mean(key, valid_keys | set(node))}"
        )
    node[step] = {}
    return step


def _key(node: Any, keys: Keys, key: str, name: str) -> str | int:
    """Return the key as a mapping's key or a list's index; raises ``RecipeError`` for neither."""
    location = SourceLocation(name, keys=keys)
    if isinstance(node, dict):
        return key
    if not isinstance(node, list):
        raise location.error(f"expected a mapping or a list, got {node!r:.60}")
    if not key.isascii() or not key.isdigit() or int(key) >= len(node):
        raise location.error(f"expected an index from 0 to {len(node) - 1}, got {key!r}")
    return int(key)


def _without_replaced(location: SourceLocation, keys: Keys, name: str) -> SourceLocation:
    """Return the location without the lines of what the setting replaced."""
    kept = {key: line for key, line in location.lines.items() if key[: len(keys)] != keys}
    return SourceLocation(location.file, kept | {keys: (name, None)})


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
