"""Lines about a long run: how many documents are done, how fast, and about how long it takes."""

import time
from collections.abc import Callable

from spanloom.cli.console import log
from spanloom.quantity import quantity

_SECONDS = 60.0  # between two lines


class ProgressLog:
    """Logs a line a minute; what is left is estimated by the bytes of input that are done."""

    def __init__(self, total_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        """``total_bytes`` is 0 if unknown."""
        self._total, self._clock = total_bytes, clock
        self._start = self._last = clock()
        self._skipped = self._documents = self._done = 0

    def skip(self, num_bytes: int) -> None:
        """Count input that an earlier run had done."""
        self._skipped += num_bytes

    def add(self, documents: int, num_bytes: int) -> None:
        """Count finished documents, and the bytes of input that they had."""
        self._documents += documents
        self._done += num_bytes
        now = self._clock()
        if now - self._last >= _SECONDS:
            self._last = now
            log(self._line(now - self._start))

    def _line(self, seconds: float) -> str:
        rate = f"{quantity(self._documents, 'document')}, {self._documents / seconds:.1f} a second"
        left = self._total - self._skipped - self._done
        if not self._total or not self._done or left < 0:
            return rate
        percent = 100 * (self._total - left) / self._total
        hours = left / self._done * seconds / 3600
        time_left = f"{60 * hours:.0f} min" if hours < 1 else f"{hours:.1f} h"
        return f"{rate}; {percent:.0f} % of the input, about {time_left} left"
