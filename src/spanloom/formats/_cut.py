"""Words and sentences for documents that give none, as formats of words need them."""

from collections.abc import Callable
from dataclasses import replace

from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Layer, Span
from spanloom.formats.brat.ids import FreshIds
from spanloom.words import Words


def with_words(document: Document, split: Callable[[str], Words]) -> Document:
    """Return the document with layers of words and sentences; one that gives words as it is."""
    if document.has(WORDS):
        return document
    cut = split(document.text)
    fresh = FreshIds(document.annotations())
    words = tuple(Span(fresh("T"), WORD, (each,)) for each in cut.words)
    layers = [Layer(WORDS, words)]
    if not document.has(SENTENCES):
        ends = [(cut.words[a][0], cut.words[b - 1][1]) for a, b in cut.sentences]
        sentences = tuple(Span(fresh("T"), SENTENCE, (each,)) for each in ends)
        layers.append(Layer(SENTENCES, sentences))
    return replace(document, layers=(*document.layers, *layers), source=None)
