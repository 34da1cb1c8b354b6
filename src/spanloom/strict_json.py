"""Hooks that make Python's JSON parser strict: no equal keys in one object, no NaN or infinity."""

from collections import Counter
from typing import Any, NoReturn


class EqualKeysError(ValueError):
    """An object has the key ``key`` more than once; parsers disagree on which value counts."""

    def __init__(self, key: str) -> None:
        """Keep the key, which may be of any length, out of the message."""
        super().__init__("a key stands twice in one object")
        self.key = key


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object (an ``object_pairs_hook``); raises ``EqualKeysError``."""
    json_object = dict(pairs)
    if len(json_object) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise EqualKeysError(next(key for key, count in counts.items() if count > 1))
    return json_object


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and infinities (a ``parse_constant``); raises ``ValueError``."""
    raise ValueError(f"{constant} is no number")
