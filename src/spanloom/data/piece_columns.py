"""The pieces of words as columns of numbers, in memory or mapped from disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import overload

import numpy as np
from jaxtyping import Int

from spanloom.columns import Columns

Ids = tuple[int, ...]  # the pieces of a word


@dataclass(frozen=True, slots=True, eq=False)
class PieceColumns(Columns[Ids]):
    """The pieces of words one after the other; a slice is one, too, and shares the memory.

    ``edges`` (word + 1) are the bounds of words in ``ids``.
    """

    ids: Int[np.ndarray, " piece"]
    edges: Int[np.ndarray, " edge"]

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.edges) - 1

    @overload
    def __getitem__(self, index: int) -> Ids: ...
    @overload
    def __getitem__(self, index: slice) -> "PieceColumns": ...
    def __getitem__(self, index: int | slice) -> "Ids | PieceColumns":
        """Return the pieces of a word, or of some words that follow each other."""
        if isinstance(index, slice):
            rows = range(len(self))[index]
            assert rows.step == 1, "slice: expected words that follow each other"
            return PieceColumns(self.ids, self.edges[rows.start : max(rows.start, rows.stop) + 1])
        row = range(len(self))[index]
        return tuple(self.ids[self.edges[row] : self.edges[row + 1]].tolist())

    def items(self, start: int, end: int) -> Iterator[Ids]:
        """Yield the pieces of the words ``[start, end)``."""
        part = self[start:end]
        ids, edges = part.flat().tolist(), (part.edges - part.edges[0]).tolist()
        return (tuple(ids[a:b]) for a, b in pairwise(edges))

    def flat(self) -> Int[np.ndarray, " piece"]:
        """Return the pieces of all words."""
        return self.ids[self.edges[0] : self.edges[-1]]


Pieces = Sequence[Ids]  # of some words: tuples for a few, columns for many


def num_pieces(pieces: Pieces) -> int:
    """Return how many pieces some words have in all."""
    if isinstance(pieces, PieceColumns):
        return int(pieces.edges[-1] - pieces.edges[0])
    return sum(map(len, pieces))


def piece_counts(pieces: Pieces) -> Int[np.ndarray, " word"]:
    """Return how many pieces each word has."""
    if isinstance(pieces, PieceColumns):
        counts: Int[np.ndarray, " word"] = pieces.edges[1:] - pieces.edges[:-1]
        return counts
    return np.fromiter(map(len, pieces), np.int64, len(pieces))


def flat_pieces(pieces: Pieces) -> Int[np.ndarray, " piece"]:
    """Return the pieces of all words, one after the other."""
    if isinstance(pieces, PieceColumns):
        return pieces.flat()
    return np.fromiter(chain.from_iterable(pieces), np.int64)
