"""Operations on the documents of a split: a held-out part, and a fingerprint of the data."""

import hashlib
from collections.abc import Iterable, Sequence

from spanloom.document import Document
from spanloom.errors import DataError


def hold_out(
    documents: Sequence[Document], *, seed: int, fraction: float = 0.1
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Split documents into (kept, held out), both sorted by name.

    The documents with the smallest hash of seed and name are held out, at least one on each side.
    Raises ``DataError`` for fewer than two documents or a fraction that is not between 0 and 1.
    """
    if not 0 < fraction < 1:
        raise DataError(f"hold out: expected a fraction between 0 and 1, got {fraction}")
    if len(documents) < 2:
        raise DataError(f"hold out: expected at least 2 documents, got {len(documents)}")
    size = min(max(1, round(fraction * len(documents))), len(documents) - 1)
    ranked = sorted(documents, key=lambda document: (_rank(document.name, seed), document.name))
    held_out, kept = ranked[:size], ranked[size:]
    return _by_name(kept), _by_name(held_out)


def fingerprint(documents: Iterable[Document]) -> str:
    """Return the SHA-256 (hex) of names, texts, meta, queries and annotations.

    It depends neither on the order of the documents nor on their source.
    """
    digests = sorted(
        hashlib.sha256(repr(_content(document)).encode()).digest() for document in documents
    )
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _content(document: Document) -> tuple[object, ...]:
    """Return all content of a document; queries only if there are any, so old hashes stay valid."""
    fields = document.name, document.text, document.meta, document.layers
    return (*fields, document.queries) if document.queries else fields


def _rank(name: str, seed: int) -> bytes:
    """Return a sort key that depends on the name and the seed alone."""
    return hashlib.sha256(repr((seed, name)).encode()).digest()


def _by_name(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents sorted by name."""
    return tuple(sorted(documents, key=lambda document: document.name))
