"""Texts and documents as users hand them to a model."""

from collections.abc import Iterable, Iterator

from spanloom.document import Document


def to_document(text: str | Document) -> Document:
    """Return a text as a document without a name, and a document as it is.

    Raises ``TypeError`` for anything else.
    """
    if isinstance(text, str):
        return Document(text)
    if isinstance(text, Document):
        return text
    several = "" if isinstance(text, bytes) else "; model.annotate(texts) takes several"
    raise TypeError(f"expected a text or a Document, got {type(text).__name__}{several}")


def to_documents(texts: Iterable[str | Document]) -> Iterator[Document]:
    """Return texts and documents as documents, lazily.

    Raises ``TypeError`` for one text in place of several, before anything is read.
    """
    if isinstance(texts, str | bytes | Document):
        kind = type(texts).__name__
        raise TypeError(
            f"expected an iterable of texts or Documents, got one {kind}; model(text) takes one"
        )
    return map(to_document, texts)
