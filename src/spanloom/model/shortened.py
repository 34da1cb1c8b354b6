"""Tell which texts are read in parts, or not to their end."""

import logging
from collections.abc import Iterable

from spanloom.data.instance_readers import InstanceReader, PromptTokenizer
from spanloom.data.instances import MAX_WORD_CHARACTERS, MAX_WORD_PIECES, TokenizedDocument
from spanloom.document import Document
from spanloom.long_sentences import LONGEST

_LOG = logging.getLogger("spanloom.model")  # writes to stderr unless a program configures it


def log_shortened(
    document: Document,
    tokens: TokenizedDocument,
    readers: Iterable[InstanceReader],
    window: int,
    tokenize_prompt: PromptTokenizer,
) -> None:
    """Log one line about a document that is read in parts, or not to its end."""
    notes = []
    num_long = (
        sum(end - start > LONGEST for start, end in tokens.full_sentences)
        if tokens.sentence_splits
        else 0
    )
    if num_long:
        notes.append(f"sentences of over {LONGEST} words, read in parts: {num_long}")
    if tokens.num_clipped_words:
        what = f"words of over {MAX_WORD_CHARACTERS:,} characters or {MAX_WORD_PIECES} pieces"
        notes.append(f"{what}, of which the first are read: {tokens.num_clipped_words}")
    num_cropped = sum(
        shape.count_shortened(tokens, window, tokenize_prompt)
        for shape in {reader.reader for reader in readers}
    )
    if num_cropped:
        notes.append(
            f"questions or first texts too long for a window, cut to half of it: {num_cropped}"
        )
    if notes:
        _LOG.warning("%s: %s", f"{document.name or 'text'!r:.80}", "; ".join(notes))
