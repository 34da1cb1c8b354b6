"""New ids that collide with nothing in a document, nor with a line of its file."""

import re
from collections.abc import Iterable

from spanloom.document import Document

_MENTIONED = re.compile(r"[A-Z#*][0-9]+")  # what a new id could be taken for, wherever it stands
_NUMBERED = re.compile(r"([^0-9]+)([0-9]{1,400})(?![0-9])")


class FreshIds:
    """Makes ids (``fresh("T")`` is the next span's); each call is O(1) and never repeats."""

    def __init__(self, used: Iterable[str], mentioned: Iterable[str] = ()) -> None:
        """``used``: the ids that are taken, read once; new ones are higher.

        ``mentioned``: ids that something may mean though nothing has them; none is made.
        """
        self._used = set(mentioned)
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


def fresh_ids(document: Document, mentioned: Iterable[str] = ()) -> FreshIds:
    """Return a maker of ids for new annotations of that document.

    It reuses no id of an annotation, none of a line that could not be read, none of an annotation
    that was removed since the document was read, and none that any line mentions: what is said of
    an annotation that is missing must not become said of a new one. ``mentioned`` are more such.
    """
    used = list(document.annotations())
    named = set(mentioned)
    if document.source:
        raws = [line.raw for line in document.source.lines if line.file != ".txt"]
        used += [raw.partition("\t")[0].split(" ")[0] for raw in raws]
        named.update(*map(mentions, raws))
    return FreshIds(used, named)


def mentions(raw: str) -> list[str]:
    """Return all that looks like an id in a piece of a file."""
    return _MENTIONED.findall(raw)
