"""Cut documents into stretches that go through a network together; no model is needed for that.

Scores depend a little on what else is in a batch, and batches are made within a stretch. Where a
stretch ends depends only on the documents before it, so whoever annotates it, in whatever process,
and whether the work was stopped in between, has the very same batches.
"""

from collections.abc import Iterable, Iterator

from spanloom.document import Document

FIRST_WORDS = 1024
_MAX_WORDS = 32 * FIRST_WORDS  # read ahead, so that batches hold instances of like length
_MAX_DOUBLINGS = 20  # any first stretch has then grown past the bound
_DOCUMENT_COST = 16  # words that a document counts in addition, so that empty ones are bounded
_BYTES_PER_WORD = 6  # of UTF-8, in English with a blank; counted, as tokenizing takes longer


def cut_stretches(
    documents: Iterable[Document], *, words: int = FIRST_WORDS, done: int = 0
) -> Iterator[list[Document]]:
    """Yield documents in stretches: the first has about ``words`` words, so that it comes soon.

    Each other one has twice as many as the one before, up to a bound. So work that was stopped
    after ``done`` stretches continues with the same ones, given the remaining documents.
    """
    stream = iter(documents)
    doublings = min(done, _MAX_DOUBLINGS)
    while stretch := _take(stream, min(_MAX_WORDS, words << doublings)):
        yield stretch
        doublings = min(doublings + 1, _MAX_DOUBLINGS)


def _take(stream: Iterator[Document], min_words: int) -> list[Document]:
    """Take documents until they have about ``min_words`` words."""
    stretch: list[Document] = []
    num_words = 0
    while num_words < min_words and (document := next(stream, None)) is not None:
        num_words += _count_words(document)
        stretch.append(document)
    return stretch


def _count_words(document: Document) -> int:
    """Return about how many words are read: those of the text, once for each query."""
    size = len(document.text.encode(errors="surrogatepass"))
    return size // _BYTES_PER_WORD * max(1, len(document.queries)) + _DOCUMENT_COST
