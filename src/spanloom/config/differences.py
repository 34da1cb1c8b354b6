"""Where two recipes differ, key by key."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spanloom.config.yaml import Keys


@dataclass(frozen=True, slots=True)
class Nothing:
    """What a recipe without a key says of it."""

    def __repr__(self) -> str:
        """Read well in an error."""
        return "nothing"


def differences(mine: Any, other: Any, above: Keys = ()) -> Iterator[tuple[Keys, Any, Any]]:
    """Yield where two plain values differ, and what each says there, ``Nothing`` for nothing."""
    if isinstance(mine, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*mine, *other)):
            pair = mine.get(key, Nothing()), other.get(key, Nothing())
            yield from differences(*pair, (*above, key))
    elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
        for row, pair in enumerate(zip(mine, other, strict=True)):
            yield from differences(*pair, (*above, row))
    elif mine != other:
        yield above, mine, other
