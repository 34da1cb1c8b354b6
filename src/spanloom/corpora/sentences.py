"""Copy sentence boundaries from another document of the same words."""

from spanloom.document import SENTENCES, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.tokenization import given_words


def with_sentences(document: Document, source: Document) -> Document:
    """Return the document with the sentences of ``source``, aligned word by word.

    Raises ``DataError`` if the documents lack words or differ in their number.
    """
    words, source_words = given_words(document), given_words(source)
    if words is None or source_words is None or len(words.words) != len(source_words.words):
        counts = [
            0 if tokenization is None else len(tokenization.words)
            for tokenization in (words, source_words)
        ]
        problem = f"expected the same words, got {counts[0]:,} and {counts[1]:,}"
        raise DataError(f"{document.name}: sentences of {source.name}: {problem}")
    spans = tuple(
        Span(f"S{n}", "sentence", ((words.words[first][0], words.words[stop - 1][1]),))
        for n, (first, stop) in enumerate(source_words.sentences, 1)
    )
    return document.with_layer(Layer(SENTENCES, spans))
