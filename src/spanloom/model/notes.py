"""What is told of a text that is not read as it stands: long sentences, long words."""

import logging
from collections.abc import Iterable

from spanloom.data.readings import Reading
from spanloom.data.units import LONGEST_WORD, MOST_PIECES, Cut
from spanloom.document import Document
from spanloom.long_sentences import LONGEST

_LOG = logging.getLogger("spanloom.model")  # goes to stderr unless a program says otherwise


def tell(document: Document, cut: Cut, readings: Iterable[Reading], window: int) -> None:
    """Log one line on a document that is read in parts, or not to its end anywhere."""
    told = []
    long = sum(end - first > LONGEST for first, end in cut.whole) if cut.inner else 0
    if long:
        told.append(f"sentences of over {LONGEST} words, read in parts: {long}")
    if cut.clipped:
        what = f"words of over {LONGEST_WORD:,} characters or {MOST_PIECES} pieces"
        told.append(f"{what}, of which the first are read: {cut.clipped}")
    shapes = {each.shape for each in readings}
    cropped = sum(shape.shortened(cut, window) for shape in shapes)
    if cropped:
        told.append(f"questions or first texts too long for a window, cut to half of it: {cropped}")
    if told:
        _LOG.warning("%s: %s", f"{document.name or 'text'!r:.80}", "; ".join(told))
