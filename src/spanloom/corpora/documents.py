"""The documents of one split, and what can be said of them as data: a hash, a part held out."""

import hashlib
from collections.abc import Iterable, Sequence

from spanloom.document import Document
from spanloom.errors import DataError


def hold_out(
    documents: Sequence[Document], *, seed: int, fraction: float = 0.1
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Split documents in (kept, held out), both sorted by name.

    Which are held out follows from their names and the seed alone: those with the smallest hash.
    At least one on each side. Raises ``DataError`` for fewer than two documents or a fraction that
    is not between 0 and 1.
    """
    if not 0 < fraction < 1:
        raise DataError(f"hold out: expected a fraction between 0 and 1, got {fraction}")
    if len(documents) < 2:
        raise DataError(f"hold out: expected at least 2 documents, got {len(documents)}")
    size = min(max(1, round(fraction * len(documents))), len(documents) - 1)
    ranked = sorted(documents, key=lambda each: (_rank(each.name, seed), each.name))
    held, kept = ranked[:size], ranked[size:]
    return _by_name(kept), _by_name(held)


def fingerprint(documents: Iterable[Document]) -> str:
    """Return the SHA-256 (hex) of names, texts, meta, queries and annotations.

    The order of the documents plays no part, nor does their source.
    """
    digests = sorted(hashlib.sha256(repr(_whole(each)).encode()).digest() for each in documents)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _whole(document: Document) -> tuple[object, ...]:
    """All that a document says; queries only where there are any, so that hashes of old stay."""
    said = document.name, document.text, document.meta, document.layers
    return (*said, document.queries) if document.queries else said


def _rank(name: str, seed: int) -> bytes:
    """A number that depends on nothing but the name and the seed."""
    return hashlib.sha256(repr((seed, name)).encode()).digest()


def _by_name(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Documents in the order of their names."""
    return tuple(sorted(documents, key=lambda each: each.name))
