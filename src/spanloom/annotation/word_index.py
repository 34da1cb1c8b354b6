"""Map character spans to the words and sentences of a text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from spanloom.document import Span
from spanloom.tokenization import Tokenization


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A span in words: ``[first, end)`` are all words it touches, sentence numbers are inclusive.

    A span that touches no word has ``first == end``; ``aligned`` is whether it starts where its
    first word starts and ends where its last word ends.
    """

    first: int
    end: int
    sentence: int
    last_sentence: int
    aligned: bool

    @property
    def width(self) -> int:
        """Number of words touched, those in gaps between fragments included."""
        return self.end - self.first


class WordIndex:
    """The words of one text, searchable by character offset in O(log n)."""

    def __init__(self, words: Tokenization, inner: Iterable[int] = ()) -> None:
        """Keep the bounds as sorted lists.

        ``inner`` are the words at which a part of a long sentence begins, first parts excepted.
        """
        self.starts = [start for start, _ in words.words]
        self.ends = [end for _, end in words.words]
        self.sentences = [first for first, _ in words.sentences]
        self.inner = sorted(inner)

    def locate(self, span: Span) -> WordSpan:
        """Return the words a span touches; a span of zero width touches none."""
        start, end = span.start, span.end
        first = bisect_right(self.ends, start)
        stop = max(first, bisect_left(self.starts, end)) if start < end else first
        aligned = first < stop and self.starts[first] == start and self.ends[stop - 1] == end
        return WordSpan(first, stop, self._sentence(first), self._sentence(stop - 1), aligned)

    def in_different_parts(self, first: int, last: int) -> bool:
        """Return whether two words are in different parts of a long sentence."""
        return bisect_right(self.inner, last) > bisect_right(self.inner, first)

    def _sentence(self, word: int) -> int:
        """Return the number of the sentence a word is in."""
        return max(0, bisect_right(self.sentences, word) - 1)
