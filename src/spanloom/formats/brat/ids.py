"""Create new ids that collide with no id in a document or in the lines of its files."""

import re
from collections.abc import Iterable

from spanloom.document import Document

_MENTIONED = re.compile(r"[A-Z#*][0-9]+")  # what looks like an id, anywhere in a line
_NUMBERED = re.compile(r"([^0-9]+)([0-9]{1,400})(?![0-9])")


class FreshIds:
    """Creates ids (``fresh("T")`` is the next span's); a call is O(1) and never repeats an id."""

    def __init__(self, used: Iterable[str], mentioned: Iterable[str] = ()) -> None:
        """Create ids that are higher than all ids in ``used``.

        ``mentioned``: ids that lines refer to though no annotation has them; they are not created.
        """
        self._used = set(mentioned)
        self._highest: dict[str, int] = {}
        for annotation_id in used:
            self._used.add(annotation_id)
            match = _NUMBERED.match(annotation_id)
            if match:
                prefix, number = match[1], int(match[2])
                self._highest[prefix] = max(number, self._highest.get(prefix, 0))

    def __call__(self, prefix: str) -> str:
        """Return the next id with that prefix: T, R, E, A, N, # or *."""
        while True:
            number = self._highest.get(prefix, 0) + 1
            self._highest[prefix] = number
            new_id = f"{prefix}{number}"
            if new_id not in self._used:
                return new_id


def fresh_ids(document: Document, mentioned: Iterable[str] = ()) -> FreshIds:
    """Return a generator of ids for new annotations of that document.

    It reuses no id of an annotation, of an unreadable line, or of an annotation that was removed
    since the document was read, and no id that any line mentions: a reference to a missing
    annotation must not become a reference to a new one. ``mentioned`` are more such ids.
    """
    used = list(document.annotations())
    mentioned_ids = set(mentioned)
    if document.source:
        raw_lines = [line.raw for line in document.source.lines if line.file != ".txt"]
        used += [raw.partition("\t")[0].split(" ")[0] for raw in raw_lines]
        mentioned_ids.update(*map(mentions, raw_lines))
    return FreshIds(used, mentioned_ids)


def mentions(raw: str) -> list[str]:
    """Return all strings in a raw line or file that look like an id."""
    return _MENTIONED.findall(raw)
