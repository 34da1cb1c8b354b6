"""Sentences of a document from another one of the same words, where its own file has none."""

from spanloom.document import SENTENCES, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.words import given


def with_sentences(document: Document, other: Document) -> Document:
    """Return the document with the given sentences of another, word by word.

    Raises ``DataError`` where one has words or sentences that the other has not.
    """
    own, said = given(document), given(other)
    if own is None or said is None or len(own.words) != len(said.words):
        counts = [0 if each is None else len(each.words) for each in (own, said)]
        problem = f"expected the same words, got {counts[0]:,} and {counts[1]:,}"
        raise DataError(f"{document.name}: sentences of {other.name}: {problem}")
    spans = tuple(
        Span(f"S{n}", "sentence", ((own.words[first][0], own.words[stop - 1][1]),))
        for n, (first, stop) in enumerate(said.sentences, 1)
    )
    return document.with_layer(Layer(SENTENCES, spans))
