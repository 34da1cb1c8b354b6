"""Characters to words: where a span lies among the words and sentences of a text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from spanloom.document import Span
from spanloom.words import Words


@dataclass(frozen=True, slots=True)
class Place:
    """A span in words: ``[first, end)`` are all words it touches, sentence numbers inclusive.

    A span that touches no word has ``first == end``; ``fits`` says that it starts where its first
    word starts and ends where its last one ends.
    """

    first: int
    end: int
    sentence: int
    last_sentence: int
    fits: bool

    @property
    def width(self) -> int:
        """Number of words touched, those in gaps between fragments included."""
        return self.end - self.first


class Grid:
    """The words of one text, searchable by character in O(log n)."""

    def __init__(self, words: Words, inner: Iterable[int] = ()) -> None:
        """Keep the bounds as sorted lists.

        ``inner`` are the words within long sentences at which a part of one begins.
        """
        self.starts = [start for start, _ in words.words]
        self.ends = [end for _, end in words.words]
        self.sentences = [first for first, _ in words.sentences]
        self.inner = sorted(inner)

    def place(self, span: Span) -> Place:
        """Return the words a span touches; a span of zero width touches none."""
        start, end = span.start, span.end
        first = bisect_right(self.ends, start)
        last = max(first, bisect_left(self.starts, end)) if start < end else first
        fits = first < last and self.starts[first] == start and self.ends[last - 1] == end
        return Place(first, last, self._sentence(first), self._sentence(last - 1), fits)

    def parted(self, first: int, last: int) -> bool:
        """Whether a part of a long sentence begins behind a word, up to another."""
        return bisect_right(self.inner, last) > bisect_right(self.inner, first)

    def _sentence(self, word: int) -> int:
        """The number of the sentence a word stands in."""
        return max(0, bisect_right(self.sentences, word) - 1)
