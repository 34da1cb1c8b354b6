"""Note in a document's metadata which part of a joined corpus it comes from."""

from dataclasses import replace

from spanloom.document import Document

_KEY = "part of joined corpus"


def set_source_corpus(document: Document, corpus: str) -> Document:
    """Return the document with the name of the corpus that it comes from in its metadata."""
    meta = tuple(pair for pair in document.meta if pair[0] != _KEY)
    return replace(document, meta=(*meta, (_KEY, corpus)))


def source_corpus(document: Document) -> str:
    """Return the corpus that the document says it comes from; "" if it says none."""
    return dict(document.meta).get(_KEY, "")
