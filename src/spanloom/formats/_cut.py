"""Add words and sentences to documents that give none, for formats that need them."""

from collections.abc import Callable
from dataclasses import replace

from spanloom.annotation_ids import IdGenerator
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Layer, Span
from spanloom.tokenization import Tokenization


def with_words(document: Document, split: Callable[[str], Tokenization]) -> Document:
    """Return the document with words and sentences by ``split``, unchanged if it gives words."""
    if document.has_layer(WORDS):
        return document
    tokenization = split(document.text)
    new_id = IdGenerator(document.annotations())
    words = tuple(Span(new_id("T"), WORD, (bounds,)) for bounds in tokenization.words)
    layers = [Layer(WORDS, words)]
    if not document.has_layer(SENTENCES):
        sentence_bounds = [
            (tokenization.words[first][0], tokenization.words[end - 1][1])
            for first, end in tokenization.sentences
        ]
        sentences = tuple(Span(new_id("T"), SENTENCE, (bounds,)) for bounds in sentence_bounds)
        layers.append(Layer(SENTENCES, sentences))
    return replace(document, layers=(*document.layers, *layers), source=None)
