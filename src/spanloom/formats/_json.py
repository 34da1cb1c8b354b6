"""JSON as strangers write it: checked at the door, wrong in one line that says where."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spanloom.errors import FormatError


def parsed(text: str, path: str, line: int | None = None) -> Any:
    """Return the value of a JSON text; ``line`` is where it stands, if it is a line of a file.

    Raises ``FormatError``: broken JSON with its line, a key twice in one object, NaN and the
    infinities, half a character, nesting beyond Python's depth.
    """
    with _told(path, line, line or 1):
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)


def elements(text: str, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON list, each with its line, one by one; nothing of a blank text.

    Raises ``FormatError`` as ``parsed`` does, and for anything but one list.
    """
    at = _Cursor(text, path)
    if not at.char:
        return
    at.take("[")
    if at.char != "]":
        yield at.value()
        while at.char == ",":
            at.take(",")
            yield at.value()
    at.take("]")
    if at.char:
        at.take("")


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
        got = ", ".join(map(repr, said)) or "none"
        raise ValueError(f"expected the key {key!r}, got {got:.200}")
    return said[key]


class _Cursor:
    """Goes over a JSON text, from value to value."""

    def __init__(self, text: str, path: str) -> None:
        """Stand before the first character that is no blank."""
        self.text, self.path, self.place, self.line = text, path, 0, 1
        self._go(0)

    @property
    def char(self) -> str:
        """What comes next; "" at the end."""
        return self.text[self.place : self.place + 1]

    def take(self, char: str) -> None:
        """Go past a character; raises ``FormatError`` where something else stands."""
        if self.char != char:
            got = self.text[self.place : self.place + 20]
            raise FormatError(
                self.path, self.line, f"expected {char or 'the end'}, got {got!r:.60}"
            )
        self._go(self.place + 1)

    def value(self) -> tuple[int, Any]:
        """Go past a value and return it with its line."""
        line = self.line
        with _told(self.path, None, line):
            value, end = _STRICT.raw_decode(self.text, self.place)
        self._go(end)
        return line, value

    def _go(self, place: int) -> None:
        """Go there and past blanks."""
        while self.text[place : place + 1] in _BLANKS:
            place += 1
        self.line += self.text.count("\n", self.place, place)
        self.place = place


@contextmanager
def _told(path: str, line: int | None, near: int) -> Iterator[None]:
    """Tell what is wrong with a JSON text; ``line`` is where all of it stands, if on one line.

    ``near`` is said where the problem has no line of its own.
    """
    try:
        yield
    except json.JSONDecodeError as error:
        place = error.lineno if line is None else line
        raise FormatError(path, place, f"not JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise FormatError(path, near, "nested too deeply") from error
    except ValueError as error:
        raise FormatError(path, near, f"not JSON: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(constant: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{constant} is no number")


_BLANKS = (" ", "\t", "\n", "\r")  # "", the end, is none
_STRICT = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)
