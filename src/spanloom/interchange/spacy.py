"""Documents as spaCy's ``Doc``, and back.

What a ``Doc`` has a place for is put there, as the format DocBin does: words, sentences, lemmas,
features, tags, a tree, flat entities, groups of spans. The document itself stands in
``doc._.spanloom``, with all that has none. See https://spacy.io/api/doc.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from spanloom.document import Document, Layer
from spanloom.errors import LayerError
from spanloom.formats import docbin
from spanloom.formats._docbin import NUMBERS, STRINGS

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

EXTENSION = "spanloom"  # doc._.spanloom
_ASIDE = "entities~"  # a layer called "entities" where another becomes ``doc.ents``
_ENTITIES = ("ner", docbin.ENTITIES)  # which layer becomes ``doc.ents`` where nobody says


def to_spacy(
    document: Document, *, entities: str | None = None, vocab: "Vocab | None" = None
) -> "Doc":
    """Return the document as a ``Doc``; the document itself is its ``_.spanloom``.

    ``entities`` names the layer that becomes ``doc.ents`` (default: "ner", else "entities"); one
    whose spans overlap stays a group of ``doc.spans``, as all other layers of spans are. ``vocab``
    is that of the pipeline the ``Doc`` is for. Raises ``LayerError`` where no layer is so named.
    """
    from spacy.tokens import Doc, DocBin

    if entities is not None and not document.has(entities):
        names = (each.name for each in document.layers)
        raise LayerError(document.name or "document", entities, names)
    chosen = entities or next((each for each in _ENTITIES if document.has(each)), None)
    held = replace(document, layers=tuple(_renamed(each, chosen) for each in document.layers))
    made = DocBin(store_user_data=True).from_bytes(docbin.dumps([held]))
    doc: Doc = next(iter(made.get_docs(_vocab() if vocab is None else vocab)))
    if _ASIDE in doc.spans:
        doc.spans[docbin.ENTITIES] = doc.spans.pop(_ASIDE)
    return attach(doc, document)


def from_spacy(doc: "Doc", *, name: str = "") -> Document:
    """Return what a ``Doc`` says as a document; tokens of blanks alone are no words."""
    from spacy.tokens import DocBin

    made = DocBin(attrs=[*STRINGS, *NUMBERS], store_user_data=False, docs=[doc])
    (document,) = docbin.loads(made.to_bytes(), path="a spaCy Doc")
    return replace(document, name=name)


def attach(doc: "Doc", document: Document) -> "Doc":
    """Give a ``Doc`` the document as its ``_.spanloom``."""
    from spacy.tokens import Doc

    if not Doc.has_extension(EXTENSION):
        Doc.set_extension(EXTENSION, default=None)
    doc._.set(EXTENSION, document)
    return doc


def _renamed(layer: Layer, chosen: str | None) -> Layer:
    """The chosen layer under the name that means ``doc.ents``; another of that name gives way."""
    if layer.name == chosen:
        return replace(layer, name=docbin.ENTITIES)
    if layer.name == docbin.ENTITIES:
        return replace(layer, name=_ASIDE)
    return layer


def _vocab() -> "Vocab":
    import spacy

    return spacy.blank("xx").vocab
