"""Immutable sequences that hold columns of numbers and make their items when these are read.

A long document has millions of annotations: columns take 16 bytes per span, objects several
hundred.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from operator import eq
from typing import Any, Generic, TypeVar, overload

from spanloom.annotation_ids import IdRange

Item = TypeVar("Item", covariant=True)
_CHUNK = 4096  # items made at a time


class Columns(Sequence[Item], Generic[Item]):
    """A sequence that equals, hashes as, and reads as the tuple of its items."""

    __slots__ = ()

    @abstractmethod
    def items(self, start: int, end: int) -> Iterator[Item]:
        """Yield the items ``[start, end)``."""

    def __iter__(self) -> Iterator[Item]:
        """Yield all items."""
        for start in range(0, len(self), _CHUNK):
            yield from self.items(start, min(start + _CHUNK, len(self)))

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        """Return an item, or a slice as a tuple; raises ``IndexError``."""
        if isinstance(index, slice):
            rows = range(len(self))[index]
            if rows.step == 1:
                return tuple(self.items(rows.start, max(rows.start, rows.stop)))
            return tuple(self[row] for row in rows)
        row = range(len(self))[index]
        return next(self.items(row, row + 1))

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a tuple of the same items, or columns of them."""
        if not isinstance(other, tuple | Columns):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        """Return the hash of the tuple."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return the tuple's."""
        return repr(tuple(self))


class AnnotationColumns(Columns[Item]):
    """Annotations as columns, with all that a document checks, so that it makes no objects."""

    __slots__ = ()
    ids: IdRange
    labels: tuple[str, ...]

    @abstractmethod
    def referred_ids(self) -> IdRange | None:
        """Return the ids among which those of heads and tails are, None for spans."""

    @abstractmethod
    def rows(self, start: int, end: int) -> Iterator[tuple[str, str, Any, Any, float | None]]:
        """Yield id, label, first and last offset or ids of head and tail, and score."""

    @abstractmethod
    def examples(self, spans: "AnnotationColumns[Any] | None" = None) -> Sequence[Item]:
        """Return an annotation of each label; ``spans``: and of all labels that its ends have."""

    @property
    @abstractmethod
    def used_labels(self) -> Sequence[str]:
        """The labels that annotations have, each once."""

    @property
    @abstractmethod
    def max_end(self) -> int:
        """The last character offset of all; 0 without spans."""

    def __len__(self) -> int:
        """Return the number of annotations."""
        return self.ids.count
