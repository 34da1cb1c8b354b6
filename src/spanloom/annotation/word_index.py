"""Align spans and words with a text: the words a span touches, and words found in a text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spanloom.document import Fragment, Span
from spanloom.tokenization import Bounds, Tokenization

_MAX_COMPARISONS = 250_000  # word pairs; above it, the quadratic search is skipped


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
        first, stop, aligned = self._touched(span.start, span.end)
        return WordSpan(first, stop, self._sentence(first), self._sentence(stop - 1), aligned)

    def covered_words(self, fragments: Iterable[Fragment]) -> tuple[int, ...]:
        """Return the words that fragments cover, in their order; none if one covers a part."""
        covered: list[int] = []
        for start, end in fragments:
            first, stop, aligned = self._touched(start, end)
            if not aligned:
                return ()
            covered += range(first, stop)
        return tuple(covered)

    def _touched(self, start: int, end: int) -> tuple[int, int, bool]:
        """Return the words ``[first, stop)`` that a text touches, and whether it covers them."""
        first = bisect_right(self.ends, start)
        stop = max(first, bisect_left(self.starts, end)) if start < end else first
        aligned = first < stop and self.starts[first] == start and self.ends[stop - 1] == end
        return first, stop, aligned

    def in_different_parts(self, first: int, last: int) -> bool:
        """Return whether two words are in different parts of a long sentence."""
        return bisect_right(self.inner, last) > bisect_right(self.inner, first)

    def _sentence(self, word: int) -> int:
        """Return the number of the sentence a word is in."""
        return max(0, bisect_right(self.sentences, word) - 1)


def find_words(text: str, words: Sequence[str]) -> list[Fragment] | None:
    """Return the bounds of words in a text, one after the other; None if one is missing.

    Before, between and after them only characters other than letters and digits are allowed, so
    that no word of the text is skipped.
    """
    bounds: list[Fragment] = []
    end = 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or any(map(str.isalnum, text[end:start])):
            return None
        end = start + len(word)
        bounds.append((start, end))
    return None if any(map(str.isalnum, text[end:])) else bounds


def match_runs(words: Sequence[str], kept_words: Sequence[str]) -> list[Bounds] | None:
    """Return runs ``[start, end)`` of words that together are the kept words, in order.

    The number of runs is minimal, and of several such answers the earliest is returned; above
    250,000 word pairs, simply the first words that match. None if the kept words are no
    subsequence. O(words · kept).
    """
    indices = first_match(words, kept_words)
    if len(indices) < len(kept_words):
        return None
    is_too_long = len(words) * len(kept_words) > _MAX_COMPARISONS
    if not is_too_long:
        indices = _fewest_runs(words, kept_words)
    return word_runs(indices)


def word_runs(words: Iterable[int]) -> list[Bounds]:
    """Return runs ``[start, end)`` of words that follow each other, in their order."""
    runs: list[Bounds] = []
    for word in words:
        if runs and runs[-1][1] == word:
            runs[-1] = runs[-1][0], word + 1
        else:
            runs.append((word, word + 1))
    return runs


def first_match(words: Sequence[str], kept_words: Sequence[str]) -> list[int]:
    """Return the first index of each kept word after the previous one's.

    The list is shorter than ``kept_words`` if a kept word is missing.
    """
    indices: list[int] = []
    for index, word in enumerate(words):
        if len(indices) < len(kept_words) and word == kept_words[len(indices)]:
            indices.append(index)
    return indices


def _fewest_runs(words: Sequence[str], kept_words: Sequence[str]) -> list[int]:
    """Return indices of the kept words in as few runs as possible, early rather than late.

    ``after_gap[i][j]`` is the number of runs that the words from i on need for the kept words from
    j on if word i - 1 is not kept, ``in_run[i][j]`` the same if it is.
    """
    infinite = len(words) + 1
    after_gap = [[infinite] * len(kept_words) + [0]]
    in_run = [[infinite] * len(kept_words) + [0]]
    for word in reversed(words):
        next_gap, next_run = after_gap[-1], in_run[-1]
        gap_row, run_row = next_gap[:], next_gap[:]
        for j, kept_word in enumerate(kept_words):
            if word == kept_word:
                gap_row[j] = min(next_gap[j], 1 + next_run[j + 1])
                run_row[j] = min(next_gap[j], next_run[j + 1])
        after_gap.append(gap_row)
        in_run.append(run_row)
    after_gap.reverse()
    in_run.reverse()
    indices: list[int] = []
    for i, word in enumerate(words):
        j = len(indices)
        if j == len(kept_words):
            break
        continues = bool(indices) and indices[-1] == i - 1
        num_runs = (in_run if continues else after_gap)[i][j]
        if word == kept_words[j] and num_runs == (0 if continues else 1) + in_run[i + 1][j + 1]:
            indices.append(i)
    return indices
