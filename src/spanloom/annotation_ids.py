"""Create annotation ids, and describe runs of consecutive ones without listing them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

_MENTIONED = re.compile(r"[A-Z#*][0-9]+")  # what looks like an id, anywhere in a line
_NUMBERED = re.compile(r"([^0-9]*)([0-9]{1,400})(?![0-9])")


@dataclass(frozen=True, slots=True)
class IdRange:
    """Consecutive ids: ``IdRange("T", 5, 3)`` is T5, T6, T7. The prefix has no digit."""

    prefix: str
    first: int
    count: int

    def __getitem__(self, index: int) -> str:
        """Return the id at an index; the index is not checked."""
        return f"{self.prefix}{self.first + index}"

    def __contains__(self, annotation_id: str) -> bool:
        """Return whether an id is one of the range; ``T05`` is not ``T5``."""
        number = annotation_id[len(self.prefix) :]
        if not annotation_id.startswith(self.prefix) or not (number.isascii() and number.isdigit()):
            return False
        if len(number) > len(str(self.first + self.count)) or str(int(number)) != number:
            return False
        return self.first <= int(number) < self.first + self.count

    def index(self, annotation_id: str) -> int:
        """Return the index of an id of the range; it is not checked that it is one."""
        return int(annotation_id[len(self.prefix) :]) - self.first

    def covers(self, other: "IdRange") -> bool:
        """Return whether all ids of another range are ids of this one."""
        first, end = other.first, other.first + other.count
        within = self.first <= first and end <= self.first + self.count
        return not other.count or (self.prefix == other.prefix and within)

    def shared_id(self, other: "IdRange") -> str | None:
        """Return the first id that both ranges contain, None if there is none."""
        first = max(self.first, other.first)
        end = min(self.first + self.count, other.first + other.count)
        return f"{self.prefix}{first}" if self.prefix == other.prefix and first < end else None


def find_clash(ranges: Iterable[IdRange], taken: Iterable[str]) -> str | None:
    """Return an id that two ranges share, or a range and the ids ``taken``; None if there is none.

    Each id is compared with one range, so time does not grow with ids times ranges.
    """
    ordered = sorted((ids for ids in ranges if ids.count), key=_range_start)
    for ids, following in pairwise(ordered):
        if shared := ids.shared_id(following):
            return shared
    starts = [_range_start(ids) for ids in ordered]
    for annotation_id in taken if starts else ():
        match = _NUMBERED.fullmatch(annotation_id)
        if match:
            position = bisect_right(starts, (match[1], int(match[2])))
            if position and annotation_id in ordered[position - 1]:
                return annotation_id
    return None


class KnownIds:
    """Ids that are taken, each once; the highest number of each prefix is found when needed."""

    __slots__ = ("_highest", "ids")

    def __init__(self, ids: frozenset[str]) -> None:
        self.ids = ids
        self._highest: dict[str, int] | None = None

    @property
    def highest(self) -> Mapping[str, int]:
        """The highest number of each prefix, as of ``T`` in ``T5`` and ``T12``."""
        if self._highest is None:
            self._highest = _highest_numbers(self.ids)
        return self._highest

    def are_below(self, ranges: Iterable[IdRange]) -> bool:
        """Return whether all are below some ranges; if not, they may share an id."""
        return all(self.highest.get(ids.prefix, 0) < ids.first for ids in ranges)


def _highest_numbers(ids: Iterable[str]) -> dict[str, int]:
    """Return the highest number of each prefix among some ids."""
    highest: dict[str, int] = {}
    for match in map(_NUMBERED.match, ids):
        if match:
            prefix, number = match[1], int(match[2])
            highest[prefix] = max(number, highest.get(prefix, 0))
    return highest


def _range_start(ids: IdRange) -> tuple[str, int]:
    return ids.prefix, ids.first


class IdGenerator:
    """Creates ids (``new_id("T")`` is the next span's) in O(1); never repeats one."""

    def __init__(self, used: Iterable[str] = (), mentioned: Iterable[str] = ()) -> None:
        """Create ids that are higher than all ids in ``used``.

        ``mentioned``: ids that lines refer to though no annotation has them; they are not created.
        """
        self._mentioned = set(mentioned)
        self._highest = _highest_numbers(used)

    def __call__(self, prefix: str) -> str:
        """Return the next id with that prefix: T, R, E, A, N, # or *."""
        return self.take(prefix, 1)[0]

    def take(self, prefix: str, count: int) -> IdRange:
        """Return the next ``count`` ids with that prefix; they are consecutive."""
        first = self._highest.get(prefix, 0) + 1
        number = first if self._mentioned else first + count
        while number < first + count:
            if f"{prefix}{number}" in self._mentioned:
                first = number + 1
            number += 1
        if count:
            self._highest[prefix] = first + count - 1
        return IdRange(prefix, first, count)


def find_ids(raw: str) -> list[str]:
    """Return all strings in a raw line or file that look like an id."""
    return _MENTIONED.findall(raw)
