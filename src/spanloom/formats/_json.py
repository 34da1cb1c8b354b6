"""JSON as strangers write it: checked at the door, wrong in one line that says where."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.errors import FormatError

_DECODER = json.JSONDecoder()
_BLANKS = (" ", "\t", "\n", "\r")


def parsed(text: str, path: str, line: int | None = None) -> Any:
    """Return the value of a JSON text; ``line`` is where it stands, if it is a line of a file.

    Raises ``FormatError``: broken JSON with its line, a key twice in one object, NaN and the
    infinities, half a character, nesting beyond Python's depth.
    """
    return _decoded(text, path, line, 0)[0]


def elements(text: str, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON list, each with its line, one by one; nothing of a blank text.

    Raises ``FormatError`` as ``parsed`` does, and for anything but one list.
    """
    place, line = _blank(text, 0), 1
    if place == len(text):
        return
    line += text.count("\n", 0, place)
    if text[place] != "[":
        raise FormatError(path, line, f"expected a list ([), got {text[place]!r}")
    begun, place = place, _blank(text, place + 1)
    closed = text[place : place + 1] == "]"
    while not closed:
        line += text.count("\n", begun, place)
        value, end = _decoded(text, path, None, place)
        yield line, value
        begun, place = place, _blank(text, end)
        closed = text[place : place + 1] == "]"
        if not closed and text[place : place + 1] != ",":
            line += text.count("\n", begun, place)
            raise FormatError(path, line, f"expected , or ], got {text[place : place + 9]!r}")
        place = place if closed else _blank(text, place + 1)
    rest = _blank(text, place + 1)
    if rest < len(text):
        line += text.count("\n", begun, rest)
        raise FormatError(path, line, f"expected nothing after the list, got {text[rest]!r}")


def an_object(value: Any) -> dict[str, Any]:
    """Return a JSON object; raises ``ValueError`` for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {value!r:.60}")
    return value


def a_list(value: Any) -> list[Any]:
    """Return a JSON list; raises ``ValueError`` for anything else."""
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {value!r:.60}")
    return value


def a_string(value: Any) -> str:
    """Return a string; raises ``ValueError`` for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {value!r:.60}")
    return value


def a_number(value: Any) -> int:
    """Return a whole number; raises ``ValueError`` for anything else."""
    if type(value) is not int:
        raise ValueError(f"expected a whole number, got {value!r:.60}")
    return value


def only(said: dict[str, Any], *known: str) -> None:
    """Raise ``ValueError`` for a key that is not known."""
    for key in said:
        if key not in known:
            raise ValueError(f"unknown key {key!r:.60}; known: {', '.join(known)}")


def value_of(said: dict[str, Any], key: str) -> Any:
    """Return what stands under a key; raises ``ValueError`` where there is none."""
    if key not in said:
        raise ValueError(f"expected the key {key!r}, got {', '.join(map(repr, said)) or 'none'}")
    return said[key]


def _decoded(text: str, path: str, line: int | None, start: int) -> tuple[Any, int]:
    """Return the value that begins at ``start`` and where it ends; alone in a text if that is 0."""
    number = line or text.count("\n", 0, start) + 1 if start == 0 or line else 0
    raise NotImplementedError


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(constant: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{constant} is no number")


def line_at(text: str, keys: Iterable[str | int]) -> int:
    """Return the line of what stands under these keys and places of a JSON text that was parsed.

    Of keys that are not there, the line of the last one that is.
    """
    place = _value(text, 0)
    for key in keys:
        found = next((at for name, at in _inside(text, place) if name == key), None)
        if found is None:
            break
        place = found
    return 1 + text.count("\n", 0, place)


def spelled(keys: Iterable[str | int]) -> str:
    """Return keys and places as Python would spell them: ``data[0].paragraphs[2]``."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")


def _inside(text: str, place: int) -> Iterator[tuple[str | int, int]]:
    """Yield the keys or places of the object or list that begins here, and where each begins."""
    if text[place] not in "{[":
        return
    named, number, here = text[place] == "{", 0, _value(text, place + 1)
    while text[here] not in "}]":
        key: str | int = number
        if named:
            key, after = _DECODER.raw_decode(text, here)
            here = _value(text, _value(text, after) + 1)  # behind the colon
        yield key, here
        here = _value(text, _DECODER.raw_decode(text, here)[1])
        here = _value(text, here + (text[here] == ","))
        number += 1


def _value(text: str, place: int) -> int:
    """Return where the blanks from here on end."""
    while text[place : place + 1] in _BLANKS:
        place += 1
    return place
