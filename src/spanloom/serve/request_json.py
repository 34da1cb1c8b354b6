"""The JSON of requests, as strangers write it: checked at the door, wrong with its place.

Every function that raises raises ``Problem``: 400 for what is no JSON, 422 for JSON that asks for
nothing this server knows, 413 for what is too long. Places count characters from 0, as offsets do.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from spanloom.serve.problem import Problem

_DEEPEST = 8  # lists and objects inside each other; no request has more than two
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")
_SHOWN = 60  # characters of what came that an error repeats


def parsed(body: bytes) -> dict[str, Any]:
    """Return the object that a body holds; its numbers are floats."""
    text = _decoded(body)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_int=float)
    except json.JSONDecodeError as error:
        place = f"body: line {error.lineno}, column {error.colno}"
        raise Problem(400, f"not JSON: {error.msg}", where=place) from error
    except RecursionError as error:
        expected = f"expected at most {_DEEPEST} lists and objects inside each other"
        raise Problem(400, expected, where=_too_deep(text)) from error
    if not isinstance(value, dict):
        raise Problem(422, f"expected an object, got {_kind(value)}", where="body")
    return value


def only(said: dict[str, Any], *known: str) -> None:
    """Refuse keys that are not known."""
    for key in said:
        if key not in known:
            what = f"unknown key {key[:_SHOWN]!r} (known: {', '.join(known)})"
            raise Problem(422, what, where="body")


def needed(said: dict[str, Any], *keys: str) -> str:
    """Return the one of these keys that is there; refuse none and several."""
    found = [key for key in keys if key in said]
    if len(found) != 1:
        got = " and ".join(found) or ", ".join(repr(key[:_SHOWN]) for key in said) or "none"
        expected = f"expected {' or '.join(keys)}"
        raise Problem(422, f"{expected}, got {got:.200}", where="body")
    return found[0]


def a_list(value: Any, where: str, longest: int) -> list[Any]:
    """Return a list that is neither empty nor longer than that."""
    if not isinstance(value, list):
        raise Problem(422, f"expected a list, got {_kind(value)}", where=where)
    if not 1 <= len(value) <= longest:
        raise Problem(422, f"expected 1 to {longest} of them, got {len(value)}", where=where)
    return value


def a_name(value: Any, where: str, choices: Iterable[str]) -> str:
    """Return one of some names."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        got = repr(value[:_SHOWN]) if isinstance(value, str) else _kind(value)
        raise Problem(422, f"expected one of {', '.join(known)}; got {got}", where=where)
    return value


def a_text(value: Any, where: str, longest: int) -> str:
    """Return a string of whole characters, NUL not among them, and not too many."""
    if not isinstance(value, str):
        raise Problem(422, f"expected a string, got {_kind(value)}", where=where)
    if found := _FORBIDDEN.search(value):
        code = ord(found.group())
        what = "NUL" if code == 0 else "lone surrogate"
        raise Problem(422, f"{what} U+{code:04X}", where=f"{where}: character {found.start()}")
    if len(value) > longest:
        expected = f"expected up to {longest} characters, got {len(value)}; send it in parts"
        raise Problem(413, expected, where=where)
    return value


def texts(
    said: dict[str, Any], one: str, many: str, most: int, longest: int
) -> list[tuple[str, str]]:
    """Return the string under one key, or those of the list under another, each with its place."""
    if needed(said, one, many) == one:
        return [(one, a_text(said[one], one, longest))]
    places = [(f"{many}[{row}]", each) for row, each in enumerate(a_list(said[many], many, most))]
    return [(place, a_text(each, place, longest)) for place, each in places]


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"body: byte {error.start}"
        raise Problem(400, f"0x{body[error.start]:02x} is not UTF-8", where=place) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys differ."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Problem(400, f"the key {key[:_SHOWN]!r} stands twice", where="body")
        found[key] = value
    return found


def _too_deep(text: str) -> str:
    """Return the place of the first bracket that is inside too many others."""
    depth = 0
    for found in _NESTING.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found.group(), 0)
        if depth > _DEEPEST:
            return f"body: character {found.start()}"
    return "body"


def _kind(value: Any) -> str:
    """Return what a value is called, without a word of what is in it."""
    if isinstance(value, float):
        return f"the number {value:g}"
    names = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}
    return names.get(type(value), "null")
