"""Documents as spaCy's ``Doc``, and back.

What a ``Doc`` has a place for is put there, as the format DocBin does: words, sentences, lemmas,
features, tags, a tree, flat entities, groups of spans. The document itself stands in
``doc._.spanloom``, with all that has none. See https://spacy.io/api/doc.
"""

import warnings
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from spanloom.document import GIVEN, WORDS, Document, Layer
from spanloom.errors import DocumentError, LayerError, LossWarning
from spanloom.formats import docbin
from spanloom.formats._cut import with_words
from spanloom.formats._docbin import NUMBERS, STRINGS
from spanloom.words import Bounds, Splitter, Words, splitter

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

EXTENSION = "spanloom"  # doc._.spanloom
_ASIDE = "entities~"  # a layer called "entities" where another becomes ``doc.ents``
_TAGS = ("upos", "xpos")  # layers with a span a word
_ENTITIES = ("ner", docbin.ENTITIES)  # which layer becomes ``doc.ents`` where nobody says


def to_spacy(
    document: Document,
    *,
    entities: str | None = None,
    vocab: "Vocab | None" = None,
    strict: bool = False,
) -> "Doc":
    """Return the document as a ``Doc``; the document itself is its ``_.spanloom``.

    ``entities`` names the layer that becomes ``doc.ents`` (default: "ner", else "entities"); one
    whose spans overlap stays a group of ``doc.spans``, as all other layers of spans are. ``vocab``
    is that of the pipeline the ``Doc`` is for. Tokens are the words that the document gives, else
    those of its tags if they cover the text, else spaCy's.

    Spans that begin or end inside a token, or have gaps, have no place in a ``Doc``: a
    ``LossWarning`` counts them, with ``strict`` they are a ``DocumentError``. Raises ``LayerError``
    where no layer is named ``entities``.
    """
    from spacy.tokens import Doc, DocBin

    if entities is not None and not document.has(entities):
        names = (each.name for each in document.layers)
        raise LayerError(document.name or "document", entities, names)
    cut = with_words(document, partial(_words, document))
    _tell_lost(cut, strict=strict)
    chosen = entities or next((each for each in _ENTITIES if document.has(each)), None)
    held = replace(cut, layers=tuple(_renamed(each, chosen) for each in cut.layers))
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


def _words(document: Document, text: str) -> Words:
    """Return the words that are tagged, where they are all of the text, else those of spaCy."""
    split = splitter("spacy", "rule")
    for name in _TAGS:
        tagged = document[name].spans if document.has(name) else ()
        bounds = sorted((span.start, span.end) for span in tagged)
        apart = all(one[1] <= two[0] for one, two in pairwise(bounds))
        if apart and "".join(text[a:b] for a, b in bounds) == "".join(text.split()):
            return Splitter(partial(_these, bounds), split.sentences)(text)
    return split(text)


def _these(bounds: list[Bounds], text: str) -> list[Bounds]:
    """Cut a text at known bounds."""
    return bounds


def _tell_lost(document: Document, *, strict: bool) -> None:
    """Warn of spans that are no whole tokens, or raise ``DocumentError``."""
    words = document[WORDS].spans
    starts, ends = {each.start for each in words}, {each.end for each in words}
    lost = [
        (layer.name, span)
        for layer in document.layers
        if layer.name not in GIVEN
        for span in layer.spans
        if len(span.fragments) > 1 or span.start not in starts or span.end not in ends
    ]
    if not lost:
        return
    name, first = lost[0]
    told = (
        f"{document.name or 'document'}: {len(lost)} spans are no whole tokens and have no place "
        f"in a spaCy Doc, as {first.id} {first.label!r:.40} of layer {name!r}: "
        f"{document.cover(first)!r:.60}; they stand in doc._.spanloom"
    )
    if strict:
        raise DocumentError(told)
    warnings.warn(told, LossWarning, stacklevel=4)


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
