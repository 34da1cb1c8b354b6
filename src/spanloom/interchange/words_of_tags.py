"""Words for a document that gives none: those that its tags cover, else those of a tokenizer."""

from functools import partial
from itertools import pairwise

from spanloom.document import Document
from spanloom.formats._document_builder import with_words
from spanloom.tokenization import Bounds, Tokenization, WordTokenizer

_TAGS = ("upos", "xpos")  # layers with one span per word


def with_words_of_tags(document: Document, tokenizer: WordTokenizer) -> Document:
    """Return the document with words and sentences, unchanged if it gives words.

    They are the spans of its tags if these cover all of the text, else those of ``tokenizer``.
    """
    return with_words(document, partial(_words, document, tokenizer))


def _words(document: Document, tokenizer: WordTokenizer, text: str) -> Tokenization:
    """Return the tagged words if they are all of the text, else the tokenizer's."""
    for name in _TAGS:
        spans = document.layer_or_empty(name).spans
        bounds = sorted((span.start, span.end) for span in spans)
        is_disjoint = all(left[1] <= right[0] for left, right in pairwise(bounds))
        covered = "".join(text[start:end] for start, end in bounds)
        if is_disjoint and covered == "".join(text.split()):
            return WordTokenizer(partial(_fixed_words, bounds), tokenizer.sentences)(text)
    return tokenizer(text)


def _fixed_words(bounds: list[Bounds], text: str) -> list[Bounds]:
    """Return the given bounds, whatever the text."""
    return bounds
