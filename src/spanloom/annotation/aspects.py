"""Take the polarities of aspect terms from a second file that holds the same sentences.

    test data       The soup and the "wine", again.     term soup, term "wine"
    polarities      The soup and the " wine " , again . soup negative

Both have the same sentences in the same order, but in the second words are separated by blanks,
brackets and quotes are written as in the Penn Treebank, sentences without terms are missing, and so
are terms whose polarity is ``conflict`` (SemEval-2014 task 4).
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from spanloom.document import Document, Span
from spanloom.errors import DataError

ASPECTS = "aspects"
TERM, CONFLICT = "term", "conflict"  # labels: without a polarity; with opposite ones

_PUNCTUATION = re.compile(r"-[LR][RCS]B-|[^\w]|_")


def with_polarities(tests: Iterable[Document], labeled: Iterable[Document]) -> list[Document]:
    """Return the test documents, each term labelled with its polarity in ``labeled``.

    Terms are matched in order; a term that ``labeled`` lacks in its sentence is ``conflict``.
    Raises ``DataError`` where ``labeled`` has a term that the test documents lack at that point.
    """
    pending = [(document, span) for document in labeled for span in document[ASPECTS].spans]
    pending.reverse()
    documents = [_apply_polarities(document, pending) for document in tests]
    if pending:
        document, span = pending[-1]
        problem = f"the term {document.text_of(span)!r:.60} of {document.text!r:.60}"
        raise DataError(f"expected {problem} among the test documents, in this order")
    return documents


def _apply_polarities(document: Document, pending: list[tuple[Document, Span]]) -> Document:
    """Return the document with labelled terms; matched terms are removed from ``pending``."""
    layer = document[ASPECTS]
    spans = tuple(
        replace(span, label=_next_polarity(document, span, pending)) for span in layer.spans
    )
    return document.with_layer(replace(layer, spans=spans)) if spans else document


def _next_polarity(document: Document, span: Span, pending: list[tuple[Document, Span]]) -> str:
    """Return the polarity of a term: that of the last of ``pending`` if both are the same term."""
    if pending:
        labeled, labeled_span = pending[-1]
        same_term = labeled.text_of(labeled_span) == document.text_of(span)
        if same_term and _letters(labeled.text) == _letters(document.text):
            pending.pop()
            return labeled_span.label
    return CONFLICT


def _letters(text: str) -> str:
    """Return the letters and digits of a text; blanks, brackets and punctuation are removed."""
    return _PUNCTUATION.sub("", text)
