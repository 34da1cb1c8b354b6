"""Parse JSON strictly; errors name the line; find the line of a value by its path."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from spanloom.errors import FormatError
from spanloom.formats._text import errors_at, lines
from spanloom.strict_json import refuse_constant, unique_keys

JsonObject = dict[str, Any]
Value = TypeVar("Value")


def parse_json(text: str, path: str, line: int | None = None) -> Any:
    """Return the value of a JSON text; ``line`` is its line in the file if it is one line of it.

    Raises ``FormatError`` for broken JSON (with its line), a duplicate key in an object, NaN and
    infinities, and nesting beyond Python's limit. Half a character (an unpaired surrogate) is read:
    it costs no other document where it cannot be written.
    """
    with _json_errors(path, line, line or 1):
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique_keys)


def json_lines(text: str, path: str) -> Iterator[tuple[int, JsonObject]]:
    """Yield the object of every line that is not blank, with the number of the line.

    Raises ``FormatError`` as ``parse_json`` does, and for a line that is no object.
    """
    for line in lines(text.removeprefix("\ufeff")):
        if line.text.strip():
            value = parse_json(line.text, path, line.number)
            with errors_at(path, line.number):
                record = an_object(value)
            yield line.number, record


def elements(text: str, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON list one by one, each with its line; none for a blank text.

    Raises ``FormatError`` as ``parse_json`` does, and for anything but a single list.
    """
    cursor = _Cursor(text, path)
    if not cursor.char:
        return
    cursor.take("[")
    if cursor.char != "]":
        yield cursor.value()
        while cursor.char == ",":
            cursor.take(",")
            yield cursor.value()
    cursor.take("]")
    if cursor.char:
        cursor.take("")


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


def a_score(value: Any) -> float | None:
    """Return a finite number or None; raises ``ValueError`` for anything else."""
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"expected a finite score, got {value!r:.60}")
    return float(value)


def only(json_object: dict[str, Any], *valid_keys: str) -> None:
    """Raise ``ValueError`` for a key that is not among ``valid_keys``."""
    for key in json_object:
        if key not in valid_keys:
            raise ValueError(f"unknown key {key!r:.60}; known: {', '.join(valid_keys)}")


def value_of(json_object: dict[str, Any], key: str) -> Any:
    """Return the value of a key; raises ``ValueError`` if the key is missing."""
    if key not in json_object:
        keys = ", ".join(map(repr, json_object)) or "none"
        raise ValueError(f"expected the key {key!r}, got {keys:.200}")
    return json_object[key]


def string_of(json_object: JsonObject, key: str, default: str | None = None) -> str:
    """Return the string of a key; raises ``ValueError`` that names the key.

    As in the functions below, a missing key has the default; without one it is an error.
    """
    return _checked(a_string, json_object, key, default)


def number_of(json_object: JsonObject, key: str) -> int:
    """Return the whole number of a key; raises ``ValueError`` that names the key."""
    return _checked(a_number, json_object, key, None)


def object_of(json_object: JsonObject, key: str, default: JsonObject | None = None) -> JsonObject:
    """Return the object of a key; raises ``ValueError`` that names the key."""
    return _checked(an_object, json_object, key, default)


def list_of(json_object: JsonObject, key: str, default: list[Any] | None = None) -> list[Any]:
    """Return the list of a key; raises ``ValueError`` that names the key."""
    return _checked(a_list, json_object, key, default)


def strings_of(json_object: JsonObject, key: str, default: list[str] | None = None) -> list[str]:
    """Return the list of strings of a key; raises ``ValueError`` that names key and index."""
    return _elements(a_string, key, list_of(json_object, key, default))


def objects_of(
    json_object: JsonObject, key: str, default: list[JsonObject] | None = None
) -> list[JsonObject]:
    """Return the list of objects of a key; raises ``ValueError`` that names key and index."""
    return _elements(an_object, key, list_of(json_object, key, default))


def _checked(
    check: Callable[[Any], Value], json_object: JsonObject, key: str, default: Value | None
) -> Value:
    value = value_of(json_object, key) if default is None else json_object.get(key, default)
    try:
        return check(value)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def _elements(check: Callable[[Any], Value], key: str, values: list[Any]) -> list[Value]:
    checked: list[Value] = []
    try:
        for value in values:
            checked.append(check(value))
    except ValueError as error:
        raise ValueError(f"{key}[{len(checked)}]: {error}") from error
    return checked


class _Cursor:
    """Moves through a JSON text from value to value."""

    def __init__(self, text: str, path: str) -> None:
        """Start at the first character that is not a blank."""
        self.text, self.path, self.offset, self.line = text, path, 0, 1
        self._move_to(0)

    @property
    def char(self) -> str:
        """The next character; "" at the end."""
        return self.text[self.offset : self.offset + 1]

    def take(self, char: str) -> None:
        """Skip a character; raises ``FormatError`` if another one is next."""
        if self.char != char:
            got = self.text[self.offset : self.offset + 20]
            raise FormatError(
                self.path, self.line, f"expected {char or 'the end'}, got {got!r:.60}"
            )
        self._move_to(self.offset + 1)

    def value(self) -> tuple[int, Any]:
        """Parse the next value and return it with its line."""
        line = self.line
        with _json_errors(self.path, None, line):
            value, end = _DECODER.raw_decode(self.text, self.offset)
        self._move_to(end)
        return line, value

    def _move_to(self, offset: int) -> None:
        """Move to the first character from ``offset`` on that is not a blank."""
        while self.text[offset : offset + 1] in _BLANKS:
            offset += 1
        self.line += self.text.count("\n", self.offset, offset)
        self.offset = offset


@contextmanager
def _json_errors(path: str, line: int | None, default_line: int) -> Iterator[None]:
    """Convert JSON errors to ``FormatError``; ``line`` is the text's line if it is on one line.

    ``default_line`` is used if the error has no line of its own.
    """
    try:
        yield
    except json.JSONDecodeError as error:
        error_line = error.lineno if line is None else line
        raise FormatError(path, error_line, f"not JSON: {_describe(error)}") from error
    except RecursionError as error:
        raise FormatError(path, default_line, "nested too deeply") from error
    except ValueError as error:
        raise FormatError(path, default_line, f"not JSON: {error}") from error


def _describe(error: json.JSONDecodeError) -> str:
    """Return what is wrong and in which column."""
    character = error.doc[error.pos : error.pos + 1]
    if error.msg.startswith("Invalid control character") and character in ("\n", "\r"):
        return f"the line ends inside a string (column {error.colno})"
    if error.msg.endswith(" at"):
        return f"{error.msg} column {error.colno}"
    return f"{error.msg} (column {error.colno})"


_BLANKS = (" ", "\t", "\n", "\r")  # "", the end of the text, is not one
_DECODER = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=unique_keys)


def line_at(text: str, keys: Iterable[str | int]) -> int:
    """Return the line of the value at this path of keys and indices in a valid JSON text.

    If the path does not exist, the line of its last existing value.
    """
    offset = _skip_blanks(text, 0)
    for key in keys:
        value_offset = next(
            (value_start for name, value_start in _children(text, offset) if name == key), None
        )
        if value_offset is None:
            break
        offset = value_offset
    return 1 + text.count("\n", 0, offset)


def format_path(keys: Iterable[str | int]) -> str:
    """Return a path in Python syntax: ``data[0].paragraphs[2]``."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")


def _children(text: str, start: int) -> Iterator[tuple[str | int, int]]:
    """Yield the keys or indices of the object or list at ``start``, with their values' offsets."""
    if text[start] not in "{[":
        return
    is_object, number, offset = text[start] == "{", 0, _skip_blanks(text, start + 1)
    while text[offset] not in "}]":
        key: str | int = number
        if is_object:
            key, after = _DECODER.raw_decode(text, offset)
            offset = _skip_blanks(text, _skip_blanks(text, after) + 1)  # after the colon
        yield key, offset
        offset = _skip_blanks(text, _DECODER.raw_decode(text, offset)[1])
        offset = _skip_blanks(text, offset + (text[offset] == ","))
        number += 1


def _skip_blanks(text: str, offset: int) -> int:
    """Return the first offset from ``offset`` on that holds no blank."""
    while text[offset : offset + 1] in _BLANKS:
        offset += 1
    return offset
