"""Words that stand together as one: ``don't`` of ``do`` and ``n't``, as CoNLL-U's ``2-3`` says.

English treebanks of Universal Dependencies have a token over words without a blank between where
letters meet letters (``cannot``, ``gonna``) or a clitic with an apostrophe (``Ada's``, ``I've``).
"""

import re
from itertools import pairwise

from spanloom.document import Document, Layer, Span
from spanloom.formats._laid import Laid
from spanloom.formats._universal import TOKEN, TOKENS
from spanloom.formats.brat.ids import fresh_ids

_CLITIC = re.compile(r"(?:n['’`]?t|['’`](?:s|m|d|re|ve|ll|em))", re.I)


def contracted(document: Document) -> Document:
    """Return the document with a layer of tokens over words that contract, if it has none."""
    if document.has(TOKENS):
        return document
    laid = Laid(document)
    bounds, text = laid.words.words, document.text
    runs: list[list[int]] = []
    for first, end in laid.words.sentences:
        for row, after in pairwise(range(first, end)):
            if not _together(text, bounds[row], bounds[after]):
                continue
            if runs and runs[-1][1] == after:
                runs[-1][1] = after + 1
            else:
                runs.append([row, after + 1])
    if not runs:
        return document
    fresh = fresh_ids(document)
    places = ((bounds[first][0], bounds[end - 1][1]) for first, end in runs)
    spans = tuple(Span(fresh("M"), TOKEN, (place,)) for place in places)
    return document.with_layer(Layer(TOKENS, spans))


def _together(text: str, word: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether two words side by side are one token."""
    if word[1] != after[0]:
        return False
    if text[word[1] - 1].isalpha() and text[after[0]].isalpha():
        return True
    return text[word[1] - 1].isalnum() and _CLITIC.fullmatch(text, *after) is not None
