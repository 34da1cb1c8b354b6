"""Offsets in UTF-16 code units, as programs in Java and JavaScript count characters."""

import re
from bisect import bisect_right

_WIDE = re.compile("[\U00010000-\U0010ffff]")  # characters of two UTF-16 units


class UnitOffsets:
    """Converts offsets in UTF-16 units to code points."""

    def __init__(self, text: str) -> None:
        """Find the characters of two units."""
        self._size = len(text)
        wide = (match.start() for match in _WIDE.finditer(text))
        self._wide_ends = [point + number for number, point in enumerate(wide, 2)]  # in units

    def point(self, offset: int) -> int:
        """Return the code point at an offset; -1 outside the text and within a character."""
        passed = bisect_right(self._wide_ends, offset)
        if self._wide_ends[passed : passed + 1] == [offset + 1]:
            return -1
        return offset - passed if 0 <= offset - passed <= self._size else -1


def num_units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) + len(_WIDE.findall(text))
