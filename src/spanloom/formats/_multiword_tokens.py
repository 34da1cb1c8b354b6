"""Infer multiword tokens: ``don't`` of ``do`` and ``n't``, as CoNLL-U's ``2-3``.

English treebanks of Universal Dependencies have a token over adjacent words where letters meet
letters (``cannot``, ``gonna``) or a clitic with an apostrophe (``Ada's``, ``I've``).
"""

import re
from itertools import pairwise

from spanloom.document import Document, Layer, Span
from spanloom.formats._conllu import TOKEN, TOKENS
from spanloom.formats._word_view import WordView

_CLITIC = re.compile(r"(?:n['’`]?t|['’`](?:s|m|d|re|ve|ll|em))", re.I)


def contracted(document: Document) -> Document:
    """Return the document with a layer of multiword tokens, unchanged if it has one."""
    if document.has_layer(TOKENS):
        return document
    view = WordView(document)
    bounds, text = view.words.words, document.text
    runs: list[list[int]] = []
    for first, end in view.words.sentences:
        for row, next_row in pairwise(range(first, end)):
            if not _is_contracted(text, bounds[row], bounds[next_row]):
                continue
            if runs and runs[-1][1] == next_row:
                runs[-1][1] = next_row + 1
            else:
                runs.append([row, next_row + 1])
    if not runs:
        return document
    new_id = document.id_generator()
    bounds_of_runs = ((bounds[first][0], bounds[end - 1][1]) for first, end in runs)
    spans = tuple(Span(new_id("M"), TOKEN, (run_bounds,)) for run_bounds in bounds_of_runs)
    return document.with_layer(Layer(TOKENS, spans))


def _is_contracted(text: str, word: tuple[int, int], next_word: tuple[int, int]) -> bool:
    """Whether two neighboring words are one token."""
    if word[1] != next_word[0]:
        return False
    if text[word[1] - 1].isalpha() and text[next_word[0]].isalpha():
        return True
    return text[word[1] - 1].isalnum() and _CLITIC.fullmatch(text, *next_word) is not None
