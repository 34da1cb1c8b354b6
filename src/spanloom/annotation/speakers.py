"""Read the speaker of each word, and the genre of a document from its name."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from spanloom.document import SENTENCES, WORDS, Document, Fragment

SPEAKER = "speaker"  # an attribute of sentences or words

_SEPARATOR = re.compile(r"[/_]")


def speakers(document: Document, words: Sequence[Fragment]) -> tuple[str, ...]:
    """Return the speaker of each word: the word's own, else its sentence's, "" if unknown.

    A word starts in at most one given sentence; ``words`` are in the order of the text.
    """
    speakers = [""] * len(words)
    starts = [start for start, _ in words]
    for name in (SENTENCES, WORDS):
        if not document.has_layer(name):
            continue
        layer = document[name]
        speaker_of = {
            attribute.target: attribute.value or ""
            for attribute in layer.attributes
            if attribute.label == SPEAKER
        }
        for span in layer.spans:
            if span.id in speaker_of:
                first = bisect_right(starts, span.start - 1)
                for word in range(first, bisect_right(starts, span.end - 1)):
                    speakers[word] = speaker_of[span.id]
    return tuple(speakers)


def genre(name: str, part: int) -> str:
    """Return the ``part``-th part of a document's name, split at ``_`` and ``/``; "" if missing."""
    parts = _SEPARATOR.split(name)
    return parts[part] if part < len(parts) else ""
