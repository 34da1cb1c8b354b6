"""Lines about a long run: how many documents are done, how fast, and about how long it takes."""

import time
from collections.abc import Callable, Iterable, Iterator

from spanloom.cli.console import log
from spanloom.document import Document
from spanloom.quantity import quantity

_SECONDS = 30.0  # between two lines
_MAX_DECIMALS = 6


class ProgressLog:
    """Logs two lines a minute; what is left is estimated by the bytes of input that are done."""

    def __init__(self, total_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        """``total_bytes`` is 0 if unknown."""
        self._total, self._clock = total_bytes, clock
        self._start = self._last = clock()
        self._skipped = self._documents = self._words = self._done = 0

    def skip(self, num_bytes: int) -> None:
        """Count input that an earlier run had done."""
        self._skipped += num_bytes

    def add(self, documents: int, words: int, num_bytes: int) -> None:
        """Count finished documents, and the words and the bytes of input that they had."""
        self._documents += documents
        self._words += words
        self._done += num_bytes
        now = self._clock()
        if now - self._last >= _SECONDS:
            self._last = now
            log(self._line(now - self._start))

    def watch(
        self, documents: Iterable[Document], position: Callable[[], int]
    ) -> Iterator[Document]:
        """Yield finished documents and count them; ``position`` returns the bytes that were read.

        Reading is ahead of what is yielded, by a stretch of documents.
        """
        for document in documents:
            self.add(1, count_words([document]), position() - self._done)
            yield document

    def _line(self, seconds: float) -> str:
        documents, words = self._documents / seconds, self._words / seconds
        speed = f"{_format_rate(documents, 1)} documents and {_format_rate(words, 0)} words"
        amount = f"{quantity(self._documents, 'document')}, {quantity(self._words, 'word')}"
        rate = f"{amount} done; {speed} a second"
        left = self._total - self._skipped - self._done
        if not self._total or not self._done or left < 0:
            return rate
        percent = 100 * (self._total - left) / self._total
        hours = left / self._done * seconds / 3600
        time_left = f"{60 * hours:.0f} min" if hours < 1 else f"{hours:.1f} h"
        return f"{rate}; {percent:.0f} % of the input, about {time_left} left"


def _format_rate(rate: float, decimals: int) -> str:
    """Return a rate with so many decimals, or as many as a small one needs not to look like 0."""
    while rate and decimals < _MAX_DECIMALS and round(rate, decimals) == 0:
        decimals += 1
    return f"{rate:.{decimals}f}"


def count_words(documents: Iterable[Document]) -> int:
    """Return the number of words in texts, as blanks separate them."""
    return sum(len(document.text.split()) for document in documents)
