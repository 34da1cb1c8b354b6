"""Find the line of a value in a JSON text by its path of keys and indices."""

import json
from collections.abc import Iterable, Iterator

_DECODER = json.JSONDecoder()
_BLANKS = (" ", "\t", "\n", "\r")


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


def spelled(keys: Iterable[str | int]) -> str:
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
