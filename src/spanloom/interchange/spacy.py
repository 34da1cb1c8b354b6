"""Convert documents to spaCy's ``Doc`` and back, and layers to what displaCy draws.

What a ``Doc`` can hold is stored there, as the format DocBin does: words, sentences, lemmas,
features, tags, a tree, flat entities, groups of spans. The document itself, with everything else,
is ``doc._.spanloom``. See https://spacy.io/api/doc and
https://spacy.io/usage/visualizers#manual-usage.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spanloom.document import GIVEN_WORDS, WORDS, Document, Layer
from spanloom.errors import DocumentError, LayerError, LossWarning
from spanloom.formats import docbin
from spanloom.formats._docbin import NUMBERS, STRINGS
from spanloom.interchange.words_of_tags import with_words_of_tags
from spanloom.quantity import quantity
from spanloom.tokenization import word_tokenizer, words_of

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

EXTENSION = "spanloom"  # doc._.spanloom
_RENAMED_ENTITIES = "entities~"  # a layer "entities" while another one becomes ``doc.ents``
_ROOT, _SPACY_ROOT = "root", "ROOT"  # of a tree, in Universal Dependencies and in spaCy
_DEFAULT_ENTITIES = ("ner", docbin.ENTITIES)  # which layer becomes ``doc.ents`` by default


def to_spacy(
    document: Document,
    *,
    entities: str | None = None,
    vocab: "Vocab | None" = None,
    strict: bool = False,
) -> "Doc":
    """Return the document as a ``Doc``; the document itself is its ``_.spanloom``.

    ``entities`` names the layer that becomes ``doc.ents`` (default: "ner", else "entities", else
    the only layer of spans, as "main" of a brat folder); if its spans overlap it is a group of
    ``doc.spans``, like all other layers of spans. ``vocab`` is that of the pipeline the ``Doc`` is
    for. Tokens are the words that the document gives, else the spans of its tags if they cover the
    text, else spaCy's.

    Spans that begin or end inside a token, or have gaps, cannot be stored in a ``Doc``: a
    ``LossWarning`` counts them; with ``strict`` a ``DocumentError`` is raised. Raises
    ``LayerError`` where no layer is named ``entities``.
    """
    from spacy.tokens import Doc, DocBin

    if entities is not None and not document.has_layer(entities):
        names = (layer.name for layer in document.layers)
        raise LayerError(document.name or "document", entities, names)
    tokenized = with_words_of_tags(document, word_tokenizer("spacy", "punctuation"))
    _report_lost(tokenized, strict=strict)
    entity_layer = entities or _default_entities(document)
    renamed = replace(
        tokenized, layers=tuple(_rename(layer, entity_layer) for layer in tokenized.layers)
    )
    docbin_data = DocBin(store_user_data=True).from_bytes(docbin.dumps([renamed]))
    doc: Doc = next(iter(docbin_data.get_docs(_vocab() if vocab is None else vocab)))
    if _RENAMED_ENTITIES in doc.spans:
        doc.spans[docbin.ENTITIES] = doc.spans.pop(_RENAMED_ENTITIES)
    for token in doc:
        if token.dep_ == _ROOT and token.head == token:
            token.dep_ = _SPACY_ROOT
    return attach(doc, document)


def _default_entities(document: Document) -> str | None:
    """Return the layer that becomes ``doc.ents`` unless one is named."""
    for name in _DEFAULT_ENTITIES:
        if document.has_layer(name):
            return name
    others = [layer for layer in document.layers if layer.name not in GIVEN_WORDS and layer.spans]
    return others[0].name if len(others) == 1 else None


def from_spacy(doc: "Doc", *, name: str = "") -> Document:
    """Return the document of a ``Doc``; tokens of blanks alone are not words.

    The root of a tree, ``ROOT`` in spaCy, is ``root`` as in Universal Dependencies.
    """
    from spacy.tokens import DocBin

    docbin_data = DocBin(attrs=[*STRINGS, *NUMBERS], store_user_data=False, docs=[doc])
    (document,) = docbin.loads(docbin_data.to_bytes(), path="a spaCy Doc")
    return replace(document, name=name, layers=tuple(map(_with_root, document.layers)))


def _with_root(layer: Layer) -> Layer:
    """Return a layer in which spaCy's roots are called as those of Universal Dependencies."""
    if not any(relation.label == _SPACY_ROOT for relation in layer.relations):
        return layer
    relations = tuple(
        replace(relation, label=_ROOT)
        if relation.label == _SPACY_ROOT and relation.head == relation.tail
        else relation
        for relation in layer.relations
    )
    return replace(layer, relations=relations)


def displacy_entities(document: Document, layer: str) -> dict[str, Any]:
    """Return what displaCy draws with ``style="ent", manual=True``: a layer's spans, in text order.

    A span of several fragments is drawn from its first character to its last. Raises ``LayerError``
    where the layer is absent.
    """
    spans = sorted(document[layer].spans, key=lambda span: (span.start, span.end))
    entities = [{"start": span.start, "end": span.end, "label": span.label} for span in spans]
    return {"text": document.text, "ents": entities, "title": document.name or None}


def displacy_arcs(document: Document, layer: str, *, tags: str | None = None) -> dict[str, Any]:
    """Return what displaCy draws with ``style="dep", manual=True``: a layer's relations as arcs.

    Words are the document's own, else those that its tags cover, else of the tokenizer
    ``char-class``. An arc connects the first words of the two ends. ``tags`` names a layer whose
    labels are shown below the words. A relation of a word to itself, such as the root of a tree, is
    not drawn. Raises ``LayerError`` where the layer is absent.
    """
    tokenizer = word_tokenizer("char-class", "punctuation")
    document = with_words_of_tags(document, tokenizer)
    words = words_of(document, tokenizer).words
    index_of = {start: index for index, (start, _) in enumerate(words)}
    tag_at = {} if tags is None else {span.start: span.label for span in document[tags].spans}
    starts = {span.id: span.start for source in document.layers for span in source.spans}
    word_of = {id_: index_of[start] for id_, start in starts.items() if start in index_of}
    arcs = (
        _arc(word_of.get(relation.head), word_of.get(relation.tail), relation.label)
        for relation in document[layer].relations
    )
    word_data = [{"text": document.text[a:b], "tag": tag_at.get(a, "")} for a, b in words]
    return {"words": word_data, "arcs": [arc for arc in arcs if arc]}


def attach(doc: "Doc", document: Document) -> "Doc":
    """Set ``doc._.spanloom`` to the document, and return the ``Doc``."""
    from spacy.tokens import Doc

    if not Doc.has_extension(EXTENSION):
        Doc.set_extension(EXTENSION, default=None)
    doc._.set(EXTENSION, document)
    return doc


def _report_lost(document: Document, *, strict: bool) -> None:
    """Warn of spans that are not whole tokens, or raise ``DocumentError``."""
    words = document[WORDS].spans
    starts, ends = {word.start for word in words}, {word.end for word in words}
    lost_spans = [
        (layer.name, span)
        for layer in document.layers
        if layer.name not in GIVEN_WORDS
        for span in layer.spans
        if len(span.fragments) > 1 or span.start not in starts or span.end not in ends
    ]
    if not lost_spans:
        return
    layer_name, span = lost_spans[0]
    lost = quantity(len(lost_spans), "span")
    message = (
        f"{document.name or 'document'}: {lost} of no whole tokens, which a spaCy Doc has no place "
        f"for, as {span.id} {span.label!r:.40} of layer {layer_name!r}: "
        f"{document.text_of(span)!r:.60}; doc._.spanloom has all"
    )
    if strict:
        raise DocumentError(message)
    warnings.warn(message, LossWarning, stacklevel=3)


def _rename(layer: Layer, entity_layer: str | None) -> Layer:
    """Return the chosen layer as ``docbin.ENTITIES``; another layer of that name is renamed."""
    if layer.name == entity_layer:
        return replace(layer, name=docbin.ENTITIES)
    if layer.name == docbin.ENTITIES:
        return replace(layer, name=_RENAMED_ENTITIES)
    return layer


def _vocab() -> "Vocab":
    """Return an empty vocabulary of no language."""
    import spacy

    return spacy.blank("xx").vocab


def _arc(head: int | None, tail: int | None, label: str) -> Mapping[str, Any] | None:
    """Return the arc between two words; None for a missing word or a loop."""
    if head is None or tail is None or head == tail:
        return None
    direction = "left" if tail < head else "right"
    return {"start": min(head, tail), "end": max(head, tail), "label": label, "dir": direction}
