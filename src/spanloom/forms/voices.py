"""Who says what, and what kind of text it is: what a corpus tells beside a document's words."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from spanloom.document import SENTENCES, WORDS, Document, Fragment

SPEAKER = "speaker"  # an attribute of sentences or words

_PARTED = re.compile(r"[/_]")


def speakers(document: Document, words: Sequence[Fragment]) -> tuple[str, ...]:
    """Return the speaker of each word, "" where nobody says: the word's own, else its sentence's.

    Words begin in at most one given sentence; ``words`` are in the order of the text.
    """
    found = [""] * len(words)
    starts = [start for start, _ in words]
    for name in (SENTENCES, WORDS):
        if not document.has(name):
            continue
        layer = document[name]
        said = {each.target: each.value or "" for each in layer.attributes if each.label == SPEAKER}
        for span in layer.spans:
            if span.id in said:
                first = bisect_right(starts, span.start - 1)
                for row in range(first, bisect_right(starts, span.end - 1)):
                    found[row] = said[span.id]
    return tuple(found)


def genre(name: str, part: int) -> str:
    """Return a part of a document's name, parted by ``_`` and ``/``; "" where it has fewer."""
    parts = _PARTED.split(name)
    return parts[part] if part < len(parts) else ""
