"""Where in a JSON text a value stands: its keys and places, and the line these lead to."""

import json
from collections.abc import Iterable, Iterator

_DECODER = json.JSONDecoder()
_BLANKS = (" ", "\t", "\n", "\r")


def line_at(text: str, keys: Iterable[str | int]) -> int:
    """Return the line of what stands under these keys and places of a JSON text that was parsed.

    Of keys that are not there, the line of the last one that is.
    """
    place = _blank(text, 0)
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
    named, number, here = text[place] == "{", 0, _blank(text, place + 1)
    while text[here] not in "}]":
        key: str | int = number
        if named:
            key, after = _DECODER.raw_decode(text, here)
            here = _blank(text, _blank(text, after) + 1)  # behind the colon
        yield key, here
        here = _blank(text, _DECODER.raw_decode(text, here)[1])
        here = _blank(text, here + (text[here] == ","))
        number += 1


def _blank(text: str, place: int) -> int:
    """Return the first place from here on where no blank stands."""
    while text[place : place + 1] in _BLANKS:
        place += 1
    return place
