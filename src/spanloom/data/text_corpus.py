"""The text of many documents as flat arrays of pieces, in memory or mapped from disk."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from spanloom.data.instances import TokenizedDocument, words_to_pieces
from spanloom.data.piece_columns import Ids, PieceColumns
from spanloom.data.subwords import SubwordTokenizer
from spanloom.document import Document
from spanloom.tokenization import Bounds, Tokenization, WordTokenizer, bounds_array, words_of

Array = npt.NDArray[np.integer]
WORD, SENTENCE = 1, 2  # flags of a piece that begins a word, and a sentence
_STRETCH = 1 << 22  # pieces that are read at once, about


@dataclass(frozen=True, slots=True, eq=False)
class TextCorpus:
    """Pieces of documents, one after the other.

    ``flags`` say of each piece whether it begins a word (``WORD``) or a sentence (``SENTENCE``).
    ``documents`` are bounds in pieces, as are ``spans``, annotated spans of whole words by start:
    none of them overlap.
    """

    pieces: Array
    flags: Array
    documents: Array
    spans: Array

    @classmethod
    def of(
        cls, documents: Iterable[tuple[Sequence[Ids], Sequence[Bounds], Sequence[Bounds]]]
    ) -> "TextCorpus":
        """Return the corpus of documents: the pieces of words; sentences and spans in words."""
        return concatenate([_document(*document) for document in documents])

    @classmethod
    def of_tokenized(
        cls, documents: Sequence[TokenizedDocument], spans: Sequence[Sequence[Bounds]]
    ) -> "TextCorpus":
        """Return the corpus of tokenized documents; ``spans`` are bounds in words, by document."""
        return cls.of(
            (tokens.pieces, tokens.sentences, own)
            for tokens, own in zip(documents, spans, strict=True)
        )

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.documents)

    @property
    def num_pieces(self) -> int:
        """The number of pieces of its documents."""
        return int((self.documents[:, 1] - self.documents[:, 0]).sum())

    def select(self, rows: Array) -> "TextCorpus":
        """Return the corpus of some of the documents; no piece is copied."""
        return replace(self, documents=self.documents[rows])

    def unigrams(self, vocabulary: int) -> npt.NDArray[np.int64]:
        """Return how often each piece occurs."""
        counts = np.zeros(vocabulary, np.int64)
        for start, end in _stretches(self.documents):
            counts += np.bincount(self.pieces[start:end], minlength=vocabulary)
        return counts

    def words(self, start: int, end: int) -> PieceColumns:
        """Return the pieces of each word in ``[start, end)``."""
        (begins,) = self._word_begins(start, end).nonzero()
        edges = np.concatenate([begins, (end - start,)])
        return PieceColumns(self.pieces[start:end], edges)

    def _word_begins(self, start: int, end: int) -> npt.NDArray[np.bool_]:
        """Return which pieces in ``[start, end)`` begin a word."""
        begins = (self.flags[start:end] & WORD).astype(bool)
        begins[:1] = True  # also the rest of a word that fills more than a block
        return begins

    def spans_within(self, start: int, end: int) -> list[Bounds]:
        """Return the annotated spans in ``[start, end)``, as bounds in its words."""
        if not len(self.spans):
            return []
        first, last = np.searchsorted(self.spans[:, 0], (start, end))
        inner = self.spans[first:last]
        inner = inner[inner[:, 1] <= end]
        if not len(inner):
            return []
        before = np.cumsum(self._word_begins(start, end))  # words begun, up to each piece
        inner = inner - start
        pairs = zip((before[inner[:, 0]] - 1).tolist(), before[inner[:, 1] - 1], strict=True)
        return [(a, int(b)) for a, b in pairs]


def encode(
    document: Document,
    split: WordTokenizer,
    pieces: SubwordTokenizer,
    spans: Sequence[tuple[int, int]] = (),
) -> TextCorpus:
    """Return a document as a corpus; ``spans`` are bounds in characters."""
    tokenization: Tokenization = words_of(document, split)
    ids, _ = words_to_pieces(document.text, tokenization.words, pieces)
    words = bounds_array(tokenization.words)
    return _document(ids, tokenization.sentences, whole_words(spans, words))


def whole_words(spans: Iterable[Bounds], words: Array) -> list[Bounds]:
    """Return the words that each span covers; of spans that overlap the shortest are taken.

    So of nested noun phrases the innermost are. Spans that begin or end within a word are left out.
    """
    taken: list[Bounds] = []
    for start, end in sorted(set(spans), key=lambda span: (span[1] - span[0], span)):
        first, last = np.searchsorted(words[:, 0], start), np.searchsorted(words[:, 1], end)
        inside = first <= last < len(words)
        if inside and words[first, 0] == start and words[last, 1] == end:
            taken.append((int(first), int(last) + 1))
    return without_overlap(taken)


def without_overlap(spans: Iterable[Bounds]) -> list[Bounds]:
    """Return the spans, in order of their starts, that overlap none of those before them."""
    kept: list[Bounds] = []
    used: set[int] = set()
    for start, end in spans:
        if used.isdisjoint(range(start, end)):
            kept.append((start, end))
            used.update(range(start, end))
    return sorted(kept)


def concatenate(parts: Sequence[TextCorpus]) -> TextCorpus:
    """Return several corpora as one, in memory."""
    offsets = list(accumulate((len(part.pieces) for part in parts), initial=0))
    shifted = [
        (part.documents + offset, part.spans + offset)
        for part, offset in zip(parts, offsets, strict=False)
    ]
    none = np.zeros((0, 2), np.int64)
    return TextCorpus(
        np.concatenate([np.zeros(0, np.int32), *(part.pieces for part in parts)]),
        np.concatenate([np.zeros(0, np.uint8), *(part.flags for part in parts)]),
        np.concatenate([none, *(documents for documents, _ in shifted)]),
        np.concatenate([none, *(spans for _, spans in shifted)]),
    )


def _document(
    ids: Sequence[Ids], sentences: Sequence[Bounds], spans: Sequence[Bounds]
) -> TextCorpus:
    """Return one document; sentences and spans are bounds in words."""
    counts = np.fromiter(map(len, ids), np.int64, len(ids))
    edges = np.concatenate([np.zeros(1, np.int64), counts.cumsum()])
    flags = np.zeros(edges[-1], np.uint8)
    flags[edges[:-1]] = WORD
    firsts = np.fromiter((start for start, _ in sentences), np.int64, len(sentences))
    flags[edges[firsts]] |= SENTENCE
    pieces = np.fromiter(chain.from_iterable(ids), np.int32, int(edges[-1]))
    bounds = np.array(spans, np.int64).reshape(-1, 2)
    return TextCorpus(pieces, flags, edges[None, [0, -1]], edges[bounds])


def _stretches(documents: Array) -> Iterator[Bounds]:
    """Yield ranges of pieces that hold all documents and nothing else, each of a bounded size."""
    start = end = 0
    for a, b in documents.tolist():
        if a != end or b - start > _STRETCH:
            if start < end:
                yield start, end
            start = a
        end = b
    if start < end:
        yield start, end
