"""What is told of a text that is not read as it stands: long sentences, long words."""

import logging
from collections.abc import Iterable

from spanloom.data.instance_readers import InstanceReader
from spanloom.data.instances import MAX_WORD_CHARACTERS, MAX_WORD_PIECES, TokenizedDocument
from spanloom.document import Document
from spanloom.long_sentences import LONGEST

_LOG = logging.getLogger("spanloom.model")  # goes to stderr unless a program says otherwise


def log_notes(
    document: Document, cut: TokenizedDocument, readings: Iterable[InstanceReader], window: int
) -> None:
    """Log one line on a document that is read in parts, or not to its end anywhere."""
    told = []
    long = (
        sum(end - first > LONGEST for first, end in cut.full_sentences)
        if cut.sentence_splits
        else 0
    )
    if long:
        told.append(f"sentences of over {LONGEST} words, read in parts: {long}")
    if cut.num_clipped_words:
        what = f"words of over {MAX_WORD_CHARACTERS:,} characters or {MAX_WORD_PIECES} pieces"
        told.append(f"{what}, of which the first are read: {cut.num_clipped_words}")
    shapes = {each.reader for each in readings}
    cropped = sum(shape.count_shortened(cut, window) for shape in shapes)
    if cropped:
        told.append(f"questions or first texts too long for a window, cut to half of it: {cropped}")
    if told:
        _LOG.warning("%s: %s", f"{document.name or 'text'!r:.80}", "; ".join(told))
