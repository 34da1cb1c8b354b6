"""Read and write clusters of mentions in CoNLL-2012's coreference column (Pradhan et al., 2012).

    word    column      word      column     clusters (bounds in words, ends outside)
    Ada     (0          who       (1)        0: (0, 4) (3, 4) (5, 6)
    and     -           flew      -          1: (2, 3) (4, 5)
    Bob     (1)         herself   (0)
    Ada     (0)|0)

``(0`` opens a mention of cluster 0, ``0)`` closes the last opened mention of that cluster, ``(0)``
is a mention of one word. So two crossing mentions of one cluster are read as nested, and cannot be
written, except where they share one word, which closes the first before it opens the second:
``0)|(0``. Mentions of different clusters may cross.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spanloom.errors import WordError

NONE = "-"  # no mention begins or ends at the word
_EMPTY_CELLS = frozenset((NONE, "_"))

_BRACKET = re.compile(r"(\()?([^\s()|]+)(\))?")
_CLUSTER_NAME = re.compile(r"[^\s()|]+")


class ColumnError(WordError):
    """A column cannot be read, or clusters cannot be written."""


class Mention(NamedTuple):
    """The bounds ``[start, end)`` of a mention, in words."""

    start: int
    end: int


def clusters(cells: Sequence[str]) -> dict[str, tuple[Mention, ...]]:
    """Return the mentions of each cluster; ``cells`` has one per word, of a sentence or a document.

    Clusters are ordered by their first mention, mentions by start, then longest first. A mention
    that is written twice is returned twice. Raises ``ColumnError``.
    """
    mentions_of: dict[str, list[Mention]] = {}
    for name, mention in sorted(mentions_by_end(cells), key=lambda pair: _text_order(pair[1])):
        mentions_of.setdefault(name, []).append(mention)
    return {name: tuple(mentions) for name, mentions in mentions_of.items()}


def mentions_by_end(cells: Sequence[str]) -> list[tuple[str, Mention]]:
    """Return (cluster, mention) pairs in the order of their closing; raises ``ColumnError``."""
    mentions: list[tuple[str, Mention]] = []
    open_starts: dict[str, list[int]] = {}
    for word, cell in enumerate(cells):
        if cell in _EMPTY_CELLS:
            continue
        for name, opens, closes in _parse_cell(word, cell):
            starts = open_starts.setdefault(name, [])
            if opens:
                starts.append(word)
            if closes:
                if not starts:
                    raise ColumnError(word, f"expected an open mention {name!r:.60} to close")
                mentions.append((name, Mention(starts.pop(), word + 1)))
    for name, starts in open_starts.items():
        if starts:
            raise ColumnError(starts[-1], f"expected a ) for the mention {name!r:.60}")
    return mentions


def column(mentions_of: Mapping[str, Iterable[tuple[int, int]]], words: int) -> tuple[str, ...]:
    """Return one cell per word: opening brackets (longest first), single words, closing brackets.

    Raises ``ColumnError`` for a name or bounds that cannot be written, and where mentions of one
    cluster share more than one word without nesting.
    """
    ordered = [
        (Mention(*bounds), name)
        for name, mentions in mentions_of.items()
        for bounds in _checked_mentions(name, mentions, words)
    ]
    ordered.sort(key=lambda pair: _text_order(pair[0]))
    # brackets that close before the same cluster opens again
    early_closing: list[list[str]] = [[] for _ in range(words)]
    opening: list[list[str]] = [[] for _ in range(words)]
    single: list[list[str]] = [[] for _ in range(words)]
    closing: list[list[str]] = [[] for _ in range(words)]
    for (start, end), name in ordered:
        bracket = f"({name}"
        if end - start == 1:
            single[start].append(f"{bracket})")
        else:
            opening[start].append(bracket)
    for (start, end), name in reversed(ordered):
        if end - start > 1:
            reopened = f"({name}" in opening[end - 1]
            (early_closing if reopened else closing)[end - 1].append(f"{name})")
    cells = zip(early_closing, opening, single, closing, strict=True)
    return tuple("|".join(sum(parts, [])) or NONE for parts in cells)


def _parse_cell(word: int, cell: str) -> list[tuple[str, bool, bool]]:
    """Return for each bracket in a cell its cluster, whether it opens, and whether it closes."""
    brackets = []
    for part in cell.split("|"):
        match = _BRACKET.fullmatch(part)
        if not match or not (match[1] or match[3]):
            raise ColumnError(word, f"expected -, (ID, ID) or (ID), joined by |, got {cell!r:.60}")
        brackets.append((match[2], bool(match[1]), bool(match[3])))
    return brackets


def _checked_mentions(
    name: str, mentions: Iterable[tuple[int, int]], words: int
) -> list[tuple[int, int]]:
    """Return a cluster's mentions by start; raise ``ColumnError`` if they cannot be written."""
    if not _CLUSTER_NAME.fullmatch(name):
        raise ColumnError(
            0, f"expected a cluster's name without blanks, ( ) or |, got {name!r:.60}"
        )
    ordered = sorted(mentions, key=_text_order)
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


def _text_order(mention: tuple[int, int]) -> tuple[int, int]:
    """Return the sort key: by start, the longer mention first."""
    return mention[0], -mention[1]
