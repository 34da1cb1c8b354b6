"""New ids that collide with nothing in a document, nor with a line of its file."""

import re
from collections.abc import Iterable

from spanloom.document import Document

_NUMBERED = re.compile(r"([^0-9]+)([0-9]{1,400})(?![0-9])")


class FreshIds:
    """Makes ids (``fresh("T")`` is the next span's); each call is O(1) and never repeats."""

    def __init__(self, used: Iterable[str]) -> None:
        """``used``: the ids that are taken, read once."""
        self._used: set[str] = set()
        self._highest: dict[str, int] = {}
        for each in used:
            self._used.add(each)
            found = _NUMBERED.match(each)
            if found:
                prefix, number = found[1], int(found[2])
                self._highest[prefix] = max(number, self._highest.get(prefix, 0))

    def __call__(self, prefix: str) -> str:
        """Return the next id of that prefix: T, R, E, A, N, # or *."""
        while True:
            number = self._highest.get(prefix, 0) + 1
            self._highest[prefix] = number
            made = f"{prefix}{number}"
            if made not in self._used:
                return made


def fresh_ids(document: Document) -> FreshIds:
    """Return a maker of ids for new annotations of that document.

    It reuses no id of an annotation, none of a line that could not be read, and none of an
    annotation that was removed since the document was read.
    """
    used = list(document.annotations())
    if document.source:
        used += [line.raw.partition("\t")[0].split(" ")[0] for line in document.source.lines]
    return FreshIds(used)
