"""JSON as strangers write it: checked at the door, wrong in one line that says where."""

import json
from typing import Any

from spanloom.errors import FormatError


def parsed(text: str, path: str, line: int | None = None) -> Any:
    """Return the value of a JSON text; ``line`` is where it stands, if it is a line of a file.

    Raises ``FormatError``: broken JSON with its line, a key twice in one object, NaN and the
    infinities, half a character, nesting beyond Python's depth.
    """
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = error.lineno if line is None else line
        raise FormatError(path, place, f"not JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise FormatError(path, line or 1, "nested too deeply") from error
    except ValueError as error:
        raise FormatError(path, line or 1, f"not JSON: {error}") from error


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(constant: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{constant} is no number")
