"""Read the lines of compressed files, which may unpack to more than memory holds."""

from collections.abc import Callable, Iterator
from typing import AnyStr

from spanloom.errors import FormatError

MAX_LINE = 256_000_000  # bytes, or characters of text; documents of 100 MB are read


def bounded_lines(readline: Callable[[int], AnyStr], path: str) -> Iterator[AnyStr]:
    """Yield the lines of a file; raises ``FormatError`` for one longer than ``MAX_LINE``.

    ``readline`` is the method of the open file. A gzip file of 300 kB may hold a line of 300 MB.
    """
    number = 0
    while line := readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise FormatError(path, number, f"expected a line of at most {MAX_LINE:,} characters")
        yield line
