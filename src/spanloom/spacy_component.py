"""The component ``spanloom`` of a spaCy pipeline: a model annotates spaCy's own words.

    nlp = spacy.blank("en")
    nlp.add_pipe("spanloom", config={"model": "runs/mine"})

spaCy finds it by its entry point, so nothing need be imported.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD, POS, TAG
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from spanloom.document import SENTENCE, SENTENCES, Document, Layer
from spanloom.document import Span as Piece
from spanloom.interchange.spacy import attach, from_spacy, to_spacy
from spanloom.model.model import Model
from spanloom.model.serialization import load

_COLUMNS = (POS, TAG, DEP, HEAD)
_BATCH = 256  # documents


@dataclass(frozen=True)
class Component:
    """Annotates ``Doc`` after ``Doc``: tags, tree, entities, groups of spans, ``_.spanloom``.

    Words are those of the ``Doc``, and so are sentences where it has any.
    """

    model: Model
    tasks: tuple[str, ...] | None = None
    entities: str | None = None

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = _BATCH) -> Iterator[Doc]:
        """Annotate many, some at a time."""
        for batch in minibatch(stream, batch_size):
            docs = list(batch)
            found = self.model.annotate([self._bare(doc) for doc in docs], self.tasks)
            for doc, document in zip(docs, found, strict=True):
                yield self._filled(doc, document)

    def _bare(self, doc: Doc) -> Document:
        """What the model may read: text, words, and sentences, found where none are said."""
        document = from_spacy(doc).unannotated()
        if document.has_layer(SENTENCES):
            return document
        bounds, fresh = self.model.word_tokenizer.sentences(doc.text), document.id_generator()
        spans = (Piece(fresh("S"), SENTENCE, (each,)) for each in bounds)
        return document.with_layer(Layer(SENTENCES, tuple(spans)))

    def _filled(self, doc: Doc, document: Document) -> Doc:
        """Put what was found into the ``Doc``."""
        made = to_spacy(document, entities=self.entities, vocab=doc.vocab)
        _copy_words(made, doc)
        if made.has_annotation("ENT_IOB"):
            doc.set_ents(_spans(made.ents, doc))
        for name, group in made.spans.items():
            doc.spans[name] = _spans(group, doc)
        return attach(doc, document)


@Language.factory(
    "spanloom", default_config={"model": None, "tasks": None, "entities": None, "precision": "auto"}
)
def make(
    nlp: Language,
    name: str,
    model: str | None,
    tasks: list[str] | None,
    entities: str | None,
    precision: str,
) -> Component:
    """Load a model (a folder, a hub id, or the default one) as a component.

    ``tasks`` are those to run (default: all); ``entities`` names the layer that becomes
    ``doc.ents`` (default: "ner", else "entities"). Raises ``ModelError`` as ``load`` does, and
    ``NameNotFound`` for a task that the model has not.
    """
    loaded = load(model, precision=precision)
    chosen = None if tasks is None else tuple(tasks)
    loaded.encoder_passes(chosen)  # that it has these tasks
    return Component(loaded, chosen, entities)


def _copy_words(made: Doc, doc: Doc) -> None:
    """Copy tags and tree to the words that begin at the same characters; blanks may differ."""
    place = {token.idx: token.i for token in doc if not token.is_space}
    tree = made.has_annotation("DEP")
    columns = _COLUMNS if tree else _COLUMNS[:2]
    values: Any = np.asarray(doc.to_array(list(columns)), dtype=np.uint64)
    for token in made:
        if token.is_space:
            continue
        row = place[token.idx]
        head = place[token.head.idx] - row if tree and not token.head.is_space else 0
        said = (token.pos, token.tag, token.dep, head % 2**64)
        for column in range(len(columns)):
            values[row, column] = said[column] or values[row, column]
    doc.from_array(list(columns), values)


def _spans(found: Iterable[Span], doc: Doc) -> list[Span]:
    """The same characters of another ``Doc``."""
    spans = (doc.char_span(each.start_char, each.end_char, label=each.label) for each in found)
    return [each for each in spans if each is not None]
