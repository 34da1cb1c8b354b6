"""Aspect terms whose polarities stand in another file: the one is laid on the other, term by term.

    test data       The soup and the "wine", again.     term soup, term "wine"
    polarities      The soup and the " wine " , again . soup negative

Both have the same sentences in the same order, but the second has words parted, brackets and quotes
spelt as in the Penn Treebank, no sentence without terms, and no term whose polarity is ``conflict``
(SemEval-2014 task 4).
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from spanloom.document import Document, Span
from spanloom.errors import DataError

ASPECTS = "aspects"
TERM, CONFLICT = "term", "conflict"  # no polarity is given; it is both positive and negative

_SPELT = re.compile(r"-[LR][RCS]B-|[^\w]|_")


def with_polarities(tests: Iterable[Document], said: Iterable[Document]) -> list[Document]:
    """Return the test documents, each term labelled with the polarity that ``said`` gives it.

    Terms are taken in order; one that ``said`` leaves out of its sentence is ``conflict``. Raises
    ``DataError`` where ``said`` has a term that the test documents do not have there.
    """
    rest = [(each, span) for each in said for span in each[ASPECTS].spans]
    rest.reverse()
    found = [_labelled(each, rest) for each in tests]
    if rest:
        document, span = rest[-1]
        problem = f"the term {document.cover(span)!r:.60} of {document.text!r:.60}"
        raise DataError(f"expected {problem} among the test documents, in this order")
    return found


def _labelled(document: Document, rest: list[tuple[Document, Span]]) -> Document:
    """Return a document with the labels of the terms that come next; they leave ``rest``."""
    layer = document[ASPECTS]
    spans = tuple(replace(span, label=_taken(document, span, rest)) for span in layer.spans)
    return document.with_layer(replace(layer, spans=spans)) if spans else document


def _taken(document: Document, span: Span, rest: list[tuple[Document, Span]]) -> str:
    """Return the polarity of a term: that of the next one, if it is the same in its sentence."""
    if rest:
        other, said = rest[-1]
        same = other.cover(said) == document.cover(span)
        if same and _letters(other.text) == _letters(document.text):
            rest.pop()
            return said.label
    return CONFLICT


def _letters(text: str) -> str:
    """Return a text without blanks, brackets and other marks."""
    return _SPELT.sub("", text)
