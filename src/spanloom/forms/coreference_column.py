"""Clusters of mentions in the column of CoNLL-2012 (Pradhan et al., 2012), and back.

    word    column      word      column     clusters (bounds in words, ends outside)
    Ada     (0          who       (1)        0: (0, 4) (3, 4) (5, 6)
    and     -           flew      -          1: (2, 3) (4, 5)
    Bob     (1)         herself   (0)
    Ada     (0)|0)

``(0`` opens a mention of cluster 0, ``0)`` closes the one of that cluster opened last, ``(0)`` is
one of a single word. So two mentions of one cluster that cross are read as one in the other, and
cannot be spelt, except where they share one word, which closes the first before it opens the
second: ``0)|(0``. Mentions of different clusters may cross.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spanloom.errors import DocumentError

NONE = "-"  # no mention begins or ends here
_NONE = frozenset((NONE, "_"))

_MARK = re.compile(r"(\()?([^\s()|]+)(\))?")
_NAME = re.compile(r"[^\s()|]+")


class ColumnError(DocumentError):
    """A column holds no clusters, or these cannot be a column; ``word`` is the row, from 0."""

    def __init__(self, word: int, problem: str) -> None:
        super().__init__(f"word {word}: {problem}")
        self.word, self.problem = word, problem


class Mention(NamedTuple):
    """The words ``[start, end)``."""

    start: int
    end: int


def clusters(cells: Sequence[str]) -> dict[str, tuple[Mention, ...]]:
    """Return the mentions of each cluster; ``cells`` has one a word, of a sentence or a document.

    Clusters stand by their first mentions, and mentions by their starts, long ones first; one that
    is spelt twice stands there twice. Raises ``ColumnError``.
    """
    found: dict[str, list[Mention]] = {}
    for name, mention in sorted(closed(cells), key=lambda each: _outward(each[1])):
        found.setdefault(name, []).append(mention)
    return {name: tuple(each) for name, each in found.items()}


def closed(cells: Sequence[str]) -> list[tuple[str, Mention]]:
    """Return all mentions, each with its cluster, as they are closed; raises ``ColumnError``."""
    found: list[tuple[str, Mention]] = []
    opened: dict[str, list[int]] = {}
    for word, cell in enumerate(cells):
        if cell in _NONE:
            continue
        for name, opens, closes in _marks(word, cell):
            starts = opened.setdefault(name, [])
            if opens:
                starts.append(word)
            if closes:
                if not starts:
                    raise ColumnError(word, f"expected an open mention {name!r:.60} to close")
                found.append((name, Mention(starts.pop(), word + 1)))
    for name, starts in opened.items():
        if starts:
            raise ColumnError(starts[-1], f"expected a ) for the mention {name!r:.60}")
    return found


def column(named: Mapping[str, Iterable[tuple[int, int]]], words: int) -> tuple[str, ...]:
    """Return one cell a word: what opens, long ones first, single words, then what closes.

    Raises ``ColumnError`` for a name or bounds that cannot be spelt, and where mentions of one
    cluster cross in more than a word.
    """
    every = [
        (Mention(*each), name)
        for name, mentions in named.items()
        for each in _checked(name, mentions, words)
    ]
    every.sort(key=lambda each: _outward(each[0]))
    first: list[list[str]] = [[] for _ in range(words)]  # what must close before it opens again
    opening: list[list[str]] = [[] for _ in range(words)]
    single: list[list[str]] = [[] for _ in range(words)]
    closing: list[list[str]] = [[] for _ in range(words)]
    for (start, end), name in every:
        mark = f"({name}"
        if end - start == 1:
            single[start].append(f"{mark})")
        else:
            opening[start].append(mark)
    for (start, end), name in reversed(every):
        if end - start > 1:
            again = f"({name}" in opening[end - 1]
            (first if again else closing)[end - 1].append(f"{name})")
    rows = zip(first, opening, single, closing, strict=True)
    return tuple("|".join(sum(row, [])) or NONE for row in rows)


def _marks(word: int, cell: str) -> list[tuple[str, bool, bool]]:
    """The marks of a cell: the cluster, whether it opens, whether it closes."""
    marks = []
    for part in cell.split("|"):
        match = _MARK.fullmatch(part)
        if not match or not (match[1] or match[3]):
            raise ColumnError(word, f"expected -, (ID, ID) or (ID), joined by |, got {cell!r:.60}")
        marks.append((match[2], bool(match[1]), bool(match[3])))
    return marks


def _checked(name: str, mentions: Iterable[tuple[int, int]], words: int) -> list[tuple[int, int]]:
    """The mentions of a cluster by their starts; refuse what no column spells."""
    if not _NAME.fullmatch(name):
        raise ColumnError(
            0, f"expected a cluster's name without blanks, ( ) or |, got {name!r:.60}"
        )
    ordered = sorted(mentions, key=_outward)
    ends: list[int] = []
    for start, end in ordered:
        if not 0 <= start < end <= words:
            raise ColumnError(start, f"expected words within [0, {words}), got ({start}, {end})")
        while ends and ends[-1] <= start + 1:
            ends.pop()
        if ends and ends[-1] < end:
            problem = f"({start}, {end}) crosses another mention of the cluster {name!r:.60}"
            raise ColumnError(start, problem)
        ends.append(end)
    return ordered


def _outward(mention: tuple[int, int]) -> tuple[int, int]:
    return mention[0], -mention[1]
